/**
 * Writes the section of a job into the one comment on a pull request, while other jobs do the same.
 *
 * No forge has a compare-and-swap for comments, so a job can overwrite what another wrote after it had
 * read. Five rules make up for it:
 *
 * 1. A write merges everything that was read (`mergeSections`: of each job the sections of its last run),
 *    and is based on a read that began at most {@linkcode WRITE_WINDOW_MS} before it; it is applied
 *    within the timeout of a request.
 * 2. A job is done only when its section has stayed in the comment for {@linkcode SETTLE_MS}. A
 *    job that read the comment before the section was in it has written by then, so that the loss is
 *    seen and the section written again. A job that reads later has the section in what it writes.
 * 3. When several jobs create the comment at once, the oldest one stays: all choose the same, by its id.
 *    The others are deleted only after they were read together with the oldest, which had their sections.
 * 4. Pauses are random and grow: each round at least the last write stays, and the jobs whose sections
 *    it has do not write again.
 *
 * 5. A run creates at most one comment. A creation that may have been applied is never repeated, and one that
 *    was refused for now only if no comment has the section.
 *
 * What is left is a chain of three and more jobs that keep reading each other's half-merged state for
 * longer than a job waits; the tests do not find one in hundreds of histories.
 */
import {
  areSameRuns,
  commentBody,
  hasMoreFailed,
  isNoteworthy,
  mergeSections,
  missedTests,
  parseComment,
  replaces,
  type Section,
} from "../comment/sections.ts";
import { type Comment, ForgeError, type PullComments } from "./forge.ts";

/** Time between the start of a read and a write that is based on it. */
const WRITE_WINDOW_MS = 2_000;

/** More than {@linkcode WRITE_WINDOW_MS} and the timeout of a request together. */
const SETTLE_MS = 8_000;

/** Jobs of one run often end together: one of them should create the comment before the others look. */
const CREATE_SPREAD_MS = 2_000;

/** Too many requests: the forge has not applied it. Any other error of a forge may come after it did. */
const REFUSED = [403, 429];

const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 4_000;

/** A job does not wait longer for its comment, which twenty other jobs may be changing. */
const TOTAL_MS = 120_000;

/**
 * How long a job waits for a change by another job, requests included, before it gives up: with the start of
 * the program less than 30 s of a forge that fails, hangs or is slow. A job alone takes about 10 s.
 */
const QUIET_MS = 20_000;

/** What requests that fail may cost a job while others change the comment. */
const MAX_LOST_MS = 20_000;

/** Time, for tests: `scale` shortens all pauses. */
export interface PublishClock {
  /** Milliseconds. */
  now(): number;
  pause(milliseconds: number): Promise<void>;
  /** From 0 to 1. */
  random(): number;
  scale: number;
}

/** The pauses before failed requests are repeated, and the time that is left for all of it. */
export function createPatience(
  { now, pause, random, scale }: PublishClock,
  quietMs = QUIET_MS * scale,
) {
  const latestEnd = now() + TOTAL_MS * scale;
  let end = now() + quietMs;
  let lostMs = 0;
  let pauseMs = FIRST_PAUSE_MS * scale;
  return {
    leftMs: () => end - now(),
    /** Another job has changed the comment. */
    sawOtherJob() {
      end = Math.min(now() + quietMs, latestEnd);
    },
    /** Pauses at random, and as long as the forge asks for. @throws the error when that is too long */
    async waitToRetry(error: ForgeError): Promise<void> {
      const { tookMs = 0, retryAfterMs = 0 } = error.details;
      const waitMs = retryAfterMs + random() * Math.max(retryAfterMs, pauseMs);
      lostMs += tookMs + waitMs;
      if (lostMs > MAX_LOST_MS * scale || now() + waitMs >= end) throw error;
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS * scale);
      await pause(waitMs);
    },
    /** Makes the next pause a short one. */
    succeeded() {
      pauseMs = FIRST_PAUSE_MS * scale;
    },
  };
}

type Patience = ReturnType<typeof createPatience>;

/**
 * Writes a section, unless the job has nothing to report and never had.
 *
 * @returns whether the comment has the section
 * @throws {ForgeError} when the forge refuses it, or the time of {@linkcode createPatience} is over
 */
export async function publishSection(
  comments: PullComments,
  section: Section,
  { patience, ...clock }: PublishClock & { patience?: Patience },
): Promise<boolean> {
  const kept = patience ?? createPatience(clock);
  const publication = new Publication(comments, section, { ...clock, patience: kept });
  while (kept.leftMs() > 0) {
    const outcome = await publication.tryRound();
    if (outcome !== "again") return outcome === "published";
  }
  throw publication.failure;
}

/** What a job knows of the comment while it writes its section. */
class Publication {
  failure = new ForgeError("failed", "the comment could not be written in time");
  /** Sections of all jobs that were read. */
  #known: Section[];
  /** The parts of other jobs that the last round read. */
  #others: Section[] | null = null;
  #settledAt: number | null = null;
  #hasWaited = false;
  #mayCreate = true;
  #isUnconfirmed = false;
  #missingId: number | null = null;
  #pauseMs: number;

  constructor(
    private readonly comments: PullComments,
    private section: Section,
    private readonly clock: PublishClock & { patience: Patience },
  ) {
    this.#known = [section];
    this.#pauseMs = FIRST_PAUSE_MS * clock.scale;
  }

  /** Reads the comments and does the next step; a request that fails for now is repeated later. */
  async tryRound(): Promise<"published" | "not needed" | "again"> {
    const { patience } = this.clock;
    try {
      const startedAt = this.clock.now();
      const marked = await this.comments.list(patience.waitToRetry);
      patience.succeeded();
      return await this.#step(marked, startedAt);
    } catch (error) {
      if (!(error instanceof ForgeError) || error.kind !== "transient") throw error;
      this.failure = error;
      await patience.waitToRetry(error);
      return "again";
    }
  }

  async #step(
    marked: Awaited<ReturnType<PullComments["list"]>>,
    startedAt: number,
  ): Promise<"published" | "not needed" | "again"> {
    const { now, random, scale, patience } = this.clock;
    const found = marked.filter(({ isOwn }) => isOwn);
    // A creation whose response was lost, or that was refused and applied all the same.
    const lost = this.#isUnconfirmed && marked.find((one) => hasSection(one, this.section));
    if (lost) {
      this.#isUnconfirmed = this.#mayCreate = false;
      await this.comments.sign(lost, patience.waitToRetry);
      return "again";
    }
    const [keeper, ...others] = found;
    const sections = mergeSections(found.flatMap(({ body }) => parseComment(body)));
    if (!isNeeded(this.section, sections)) return "not needed";
    const replaced = sections.filter((one) => replaces(this.section, one));
    const missed = missedTests(this.section, replaced);
    if (missed !== "") this.section = { ...this.section, missed };
    if (hasMoreFailed(replaced)) this.section = { ...this.section, hasMore: true };
    this.#known = mergeSections([...this.#known, this.section, ...sections]);
    this.#noticeOthers(sections);
    if (keeper === undefined) {
      await this.#createOrWait();
      return "again";
    }
    if (keeper.id === this.#missingId) {
      throw new ForgeError("denied", "the comment is listed, but cannot be changed");
    }
    if (!hasAll(keeper, this.#known)) {
      this.#settledAt = null;
      if (await this.#write(keeper.id) === null) this.#missingId = keeper.id;
      await this.#backOff();
      return "again";
    }
    this.#settledAt ??= now();
    if (startedAt - this.#settledAt >= SETTLE_MS * scale) return "published";
    for (const { id } of others) await this.comments.remove(id);
    await this.#pause((0.4 + random() * 0.2) * SETTLE_MS * scale);
    return "again";
  }

  /** Another job is at work: this one has longer, because its section may be overwritten meanwhile. */
  #noticeOthers(sections: readonly Section[]): void {
    const found = sections.filter((one) =>
      !areSameRuns([one], [this.section]) && !replaces(this.section, one)
    );
    if (this.#others !== null && !areSameRuns(this.#others, found)) {
      this.clock.patience.sawOtherJob();
    }
    this.#others = found;
  }

  /** There is no comment: leaves time for another job to create it, then does. */
  async #createOrWait(): Promise<void> {
    const { random, scale } = this.clock;
    this.#settledAt = null;
    if (!this.#hasWaited) await this.#pause(random() * CREATE_SPREAD_MS * scale);
    else if (this.#mayCreate) await this.#create();
    else {
      this.failure = new ForgeError(
        "failed",
        "the forge does not show the comment that was created",
      );
      await this.#backOff();
    }
    this.#hasWaited = true;
  }

  /** Creates the comment, at most once unless the forge refuses it for now. */
  async #create(): Promise<void> {
    this.#mayCreate = false;
    this.#isUnconfirmed = true;
    const body = commentBody(this.#known);
    const id = await this.comments.create(body).catch((error) => {
      this.#mayCreate = error instanceof ForgeError && error.kind === "transient" &&
        REFUSED.includes(error.details.status ?? 0);
      throw error;
    });
    this.#isUnconfirmed = false;
    await this.comments.sign({ id, body }, this.clock.patience.waitToRetry);
  }

  /** Merges into the comment as it is now; `null` when it does not exist. */
  async #write(id: number): Promise<boolean | null> {
    const { now, scale } = this.clock;
    const readAt = now();
    const current = await this.comments.read(id);
    if (current === null) return null;
    this.#known = mergeSections([...this.#known, ...parseComment(current.body)]);
    if (now() - readAt > WRITE_WINDOW_MS * scale) return false;
    return await this.comments.update(id, commentBody(this.#known)) || null;
  }

  async #backOff(): Promise<void> {
    await this.#pause(this.clock.random() * this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, MAX_PAUSE_MS * this.clock.scale);
  }

  /** Never longer than the time that is left. */
  async #pause(milliseconds: number): Promise<void> {
    const { pause, patience } = this.clock;
    await pause(Math.max(0, Math.min(milliseconds, patience.leftMs())));
  }
}

/** Whether a section has to be written: it reports something, or replaces what reported something. */
function isNeeded(section: Section, sections: readonly Section[]): boolean {
  if (sections.some((other) => replaces(other, section))) return false;
  return isNoteworthy(section) && !section.onlyReplaces ||
    sections.some((other) => replaces(section, other) || areSameRuns([section], [other]));
}

/** Whether a comment has the section of this very run. */
function hasSection({ body }: Comment, section: Section): boolean {
  return parseComment(body).some((other) => areSameRuns([other], [section]));
}

/** Whether a comment has what these sections would make it. */
function hasAll({ body }: Comment, sections: readonly Section[]): boolean {
  const wanted = parseComment(commentBody(sections));
  return areSameRuns(mergeSections(parseComment(body)), mergeSections(wanted));
}
