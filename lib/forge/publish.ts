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
  isNoteworthy,
  mergeSections,
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
 * A job gives up when it has seen no change by another job for so long, requests included: with the start of
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
  const { now, random, scale } = clock;
  const { waitToRetry, succeeded, leftMs, sawOtherJob } = patience ?? createPatience(clock);
  const pause = (milliseconds: number) =>
    clock.pause(Math.max(0, Math.min(milliseconds, leftMs())));
  let known: Section[] = [section];
  let others: Section[] | null = null;
  let settledAt: number | null = null;
  let hasWaited = false;
  let mayCreate = true;
  let isUnconfirmed = false;
  let missingId: number | null = null;
  let pauseMs = FIRST_PAUSE_MS * scale;
  let failure = new ForgeError("failed", "the comment could not be written in time");

  async function backOff(): Promise<void> {
    await pause(random() * pauseMs);
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS * scale);
  }

  while (leftMs() > 0) {
    try {
      const startedAt = now();
      const marked = await comments.list(waitToRetry);
      succeeded();
      const found = marked.filter(({ isOwn }) => isOwn);
      // A creation whose response was lost, or that was refused and applied all the same.
      const lost = isUnconfirmed && marked.find((comment) => hasSection(comment, section));
      if (lost) {
        isUnconfirmed = mayCreate = false;
        await comments.sign(lost, waitToRetry);
        continue;
      }
      const [keeper, ...others] = found;
      const sections = mergeSections(found.flatMap(({ body }) => parseComment(body)));
      if (!isNeeded(section, sections)) return false;
      known = mergeSections([...known, ...sections]);
      noticeOthers(sections);
      if (keeper === undefined) {
        settledAt = null;
        if (!hasWaited) await pause(random() * CREATE_SPREAD_MS * scale);
        else if (mayCreate) await create();
        else {
          failure = new ForgeError(
            "failed",
            "the forge does not show the comment that was created",
          );
          await backOff();
        }
        hasWaited = true;
        continue;
      }
      if (keeper.id === missingId) {
        throw new ForgeError("denied", "the comment is listed, but cannot be changed");
      }
      if (!hasAll(keeper, known)) {
        settledAt = null;
        const isWritten = await write(keeper.id);
        if (isWritten === null) missingId = keeper.id;
        await backOff();
        continue;
      }
      settledAt ??= now();
      if (startedAt - settledAt >= SETTLE_MS * scale) return true;
      for (const { id } of others) await comments.remove(id);
      await pause((0.4 + random() * 0.2) * SETTLE_MS * scale);
    } catch (error) {
      if (!(error instanceof ForgeError) || error.kind !== "transient") throw error;
      failure = error;
      await waitToRetry(error);
    }
  }
  throw failure;

  /** Another job is at work: this one has longer, because its section may be overwritten meanwhile. */
  function noticeOthers(sections: readonly Section[]): void {
    const found = sections.filter((one) =>
      !areSameRuns([one], [section]) && !replaces(section, one)
    );
    if (others !== null && !areSameRuns(others, found)) sawOtherJob();
    others = found;
  }

  /** Creates the comment, at most once unless the forge refuses it for now. */
  async function create(): Promise<void> {
    mayCreate = false;
    isUnconfirmed = true;
    const body = commentBody(known);
    const id = await comments.create(body).catch((error) => {
      mayCreate = error instanceof ForgeError && error.kind === "transient" &&
        REFUSED.includes(error.details.status ?? 0);
      throw error;
    });
    isUnconfirmed = false;
    await comments.sign({ id, body }, waitToRetry);
  }

  /** Merges into the comment as it is now; `null` when it does not exist. */
  async function write(id: number): Promise<boolean | null> {
    const readAt = now();
    const current = await comments.read(id);
    if (current === null) return null;
    known = mergeSections([...known, ...parseComment(current.body)]);
    if (now() - readAt > WRITE_WINDOW_MS * scale) return false;
    return await comments.update(id, commentBody(known)) || null;
  }
}

/** Whether a section has to be written: it reports something, or replaces what reported something. */
function isNeeded(section: Section, sections: readonly Section[]): boolean {
  if (sections.some((other) => replaces(other, section))) return false;
  return isNoteworthy(section) ||
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
