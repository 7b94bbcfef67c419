import { afterEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import {
  COMMENT_MARK,
  commentBody,
  parseComment,
  type Section,
} from "../../../lib/comment/sections.ts";
import { pause } from "../../../lib/base/delay.ts";
import { ForgeError, type PullComments } from "../../../lib/forge/forge.ts";
import { gitHubAccess, gitHubComments } from "../../../lib/forge/github.ts";
import { gitLabAccess, gitLabNotes } from "../../../lib/forge/gitlab.ts";
import { requestOk } from "../../../lib/forge/http.ts";
import { createPatience, publishSection } from "../../../lib/forge/publish.ts";
import { type FakeForge, FORGE_TOKEN, type Kind, startFakeForge } from "./fake_forge.ts";

const KINDS: Kind[] = ["github", "forgejo", "gitlab"];

const forges: FakeForge[] = [];

afterEach(async () => {
  for (const forge of forges.splice(0)) await forge.close();
});

function start(...args: Parameters<typeof startFakeForge>): FakeForge {
  forges.push(startFakeForge(...args));
  return forges.at(-1)!;
}

/** The API token, which jobs share. */
const SECRETS = ["tk_notARealToken"];

function commentsOf(kind: Kind, { url }: FakeForge, timeoutMs = 400): PullComments {
  const options = { apiUrl: url, token: FORGE_TOKEN, timeoutMs };
  return kind === "gitlab"
    ? gitLabNotes(gitLabAccess(options), { project: "7", pull: 12, secrets: SECRETS })
    : gitHubComments(gitHubAccess(options), {
      repository: "acme/shop",
      pull: 12,
      secrets: SECRETS,
    });
}

function sectionOf(job: string, run: number, failed = 1): Section {
  return {
    job,
    run: [run, 1],
    runner: "",
    writtenAt: 1_769_947_200 + run,
    failed,
    yours: failed,
    unknown: 0,
    flaky: 0,
    broken: 0,
    unclear: 0,
    text: `#### \`${job}\`: run ${run}`,
  };
}

/** A timeout for requests that only wait for a busy machine. */
const PATIENT_MS = 120_000;

/** Ten times as fast as the real rule. */
const CLOCK = {
  now: () => performance.now(),
  pause: (milliseconds: number) => pause(milliseconds),
  random: Math.random,
  scale: 0.1,
};

/** For jobs that have to succeed however slow the machine is: requests may time out ten times as often. */
const patientClock = () => {
  const patient = { ...CLOCK, scale: 1, pause: (milliseconds: number) => pause(milliseconds / 10) };
  return { ...CLOCK, patience: createPatience(patient, 60_000) };
};

/**
 * A clock for jobs that write at once: time passes only while each of them waits, in a pause of its own or
 * for the forge, so that a busy machine changes nothing.
 */
class SharedClock {
  #nowMs = 0;
  #running = 0;
  readonly #waiting: { at: number; wake: () => void }[] = [];
  readonly random = Math.random;
  readonly scale = 1;
  readonly now = () => this.#nowMs;

  readonly pause = (milliseconds: number) =>
    new Promise<void>((resolve) => {
      this.#waiting.push({ at: this.#nowMs + milliseconds, wake: resolve });
      this.#wakeNext();
    });

  /** Runs a job for each of the given; none begins before all are there. */
  async runAll<T>(jobs: (() => Promise<T>)[]): Promise<T[]> {
    this.#running = jobs.length;
    return await Promise.all(jobs.map(async (job) => {
      await this.pause(0);
      try {
        return await job();
      } finally {
        this.#running--;
        this.#wakeNext();
      }
    }));
  }

  #wakeNext(): void {
    if (this.#waiting.length === 0 || this.#waiting.length < this.#running) return;
    this.#waiting.sort((a, b) => a.at - b.at);
    const { at, wake } = this.#waiting.shift()!;
    this.#nowMs = Math.max(this.#nowMs, at);
    wake();
  }
}

let virtualMs = 0;
/** For jobs that write one after the other: time passes in pauses alone, however busy the machine is. */
const ALONE = {
  ...CLOCK,
  now: () => virtualMs,
  pause(milliseconds: number) {
    virtualMs += milliseconds;
    return Promise.resolve();
  },
  scale: 1,
};

const jobs = (count: number) => Array.from({ length: count }, (_, index) => `job ${index + 1}`);

function written({ comments }: FakeForge): string[] {
  const own = comments.filter(({ body }) => body.startsWith(COMMENT_MARK));
  assert.equal(own.length, 1, `${own.length} comments`);
  return parseComment(own[0]!.body).map(({ job, run }) => `${job} ${run[0]}`).sort();
}

for (const kind of KINDS) {
  describe(`the comment on a pull request of ${kind}`, () => {
    it("has the sections of twenty jobs that write at once, twice", async () => {
      const clock = new SharedClock();
      const { pause } = clock;
      const forge = start(kind, { delayMs: () => Math.random() * 200, pause });
      for (const run of [1, 2]) {
        const ends = await clock.runAll(
          jobs(20).map((job) => () =>
            publishSection(commentsOf(kind, forge, PATIENT_MS), sectionOf(job, run), clock)
          ),
        );
        assert.ok(ends.every((isWritten) => isWritten));
        assert.deepEqual(written(forge), jobs(20).map((job) => `${job} ${run}`).sort());
      }
    });

    it("loses nothing when requests fail, hang and are cut off", async () => {
      const forge = start(kind, {
        delayMs: () => Math.random() * 5,
        faultOf() {
          const draw = Math.random();
          if (draw < 0.02) return "hang";
          if (draw < 0.05) return "cut off";
          if (draw < 0.09) return "late";
          if (draw < 0.12) return { status: 502 };
          if (draw < 0.14) return { status: 409 };
          if (draw < 0.17) return { status: 429, headers: { "retry-after": "0" } };
          if (draw < 0.2) return { status: 403, headers: { "retry-after": "0" } };
          return null;
        },
      });
      await Promise.all(
        jobs(8).map((job) =>
          publishSection(commentsOf(kind, forge), sectionOf(job, 1), patientClock())
        ),
      );
      assert.deepEqual(written(forge), jobs(8).map((job) => `${job} 1`).sort());
    });

    it("is found behind those of others, even if they imitate it", async () => {
      const forge = start(kind);
      const imitation = commentBody([sectionOf("job 1", 9)]);
      for (let id = 1; id <= 5; id++) forge.comments.push({ id, userId: 666, body: imitation });
      for (const run of [1, 2]) {
        await publishSection(commentsOf(kind, forge), sectionOf("job 1", run), ALONE);
      }
      assert.equal(forge.comments.length, 6);
      assert.deepEqual(
        forge.comments.slice(0, 5).map(({ body }) => body),
        Array(5).fill(imitation),
      );
      assert.deepEqual(parseComment(forge.comments[5]!.body), [sectionOf("job 1", 2)]);
    });

    it("waits as long as the forge asks for", async () => {
      const forge = start(kind, {
        faultOf: (_, index) =>
          index === 0 ? { status: 429, headers: { "retry-after": "1" } } : null,
      });
      const pauses: number[] = [];
      await publishSection(commentsOf(kind, forge), sectionOf("job 1", 1), {
        ...ALONE,
        pause(milliseconds) {
          pauses.push(milliseconds);
          return ALONE.pause(milliseconds);
        },
      });
      assert.ok(pauses[0]! >= 1000, String(pauses));
      assert.deepEqual(written(forge), ["job 1 1"]);
    });

    it("is found after requests were limited on a later page, each page read once", async () => {
      if (kind === "forgejo") return;
      const pages: string[] = [];
      let refusals = 0;
      const forge = start(kind, {
        faultOf({ url }) {
          const page = new URL(url).searchParams.get("page") ?? "1";
          if (refusals < 6) pages.push(page);
          if (page === "1" || refusals >= 6 || refusals++ % 3 === 2) return null;
          return { status: 429, headers: { "retry-after": "1" } };
        },
      });
      for (let id = 1; id <= 5; id++) forge.comments.push({ id, userId: 666, body: "looks good" });
      const startedAt = virtualMs;
      // The pauses are random, and may be longer together than a job waits by itself.
      const clock = { ...ALONE, patience: createPatience(ALONE, 60_000) };
      await publishSection(commentsOf(kind, forge, PATIENT_MS), sectionOf("job 1", 1), clock);
      assert.deepEqual(pages, ["1", "2", "2", "2", "3", "3", "3"]);
      assert.ok(virtualMs - startedAt >= 4_000, `${virtualMs - startedAt}`);
      assert.deepEqual(written(forge), ["job 1 1"]);
    });

    it("is made once and found again, whatever the rights of the token", async () => {
      for (const mayReadUser of [true, false]) {
        const forge = start(kind, { mayReadUser });
        for (const run of [1, 2, 3]) {
          await publishSection(commentsOf(kind, forge), sectionOf("job 1", run), ALONE);
          assert.deepEqual(written(forge), [`job 1 ${run}`]);
        }
      }
      const forge = start(kind, { mayReadUser: false, mayEdit: false });
      await assert.rejects(
        publishSection(commentsOf(kind, forge), sectionOf("job 1", 1), ALONE),
        { kind: "denied" },
      );
      assert.equal(forge.comments.length, 1);
    });

    it("is made once by a run, whatever the forge answers to it", async () => {
      for (const mayReadUser of [true, false]) {
        for (const status of [200, 401, 403, 404, 409, 422, 429, 500, 503]) {
          const message = status === 403 ? "You have exceeded a secondary rate limit." : undefined;
          const forge = start(kind, {
            mayReadUser,
            faultOf: ({ method }) =>
              method === "POST" ? { status, isApplied: true, ...message && { message } } : null,
          });
          await publishSection(commentsOf(kind, forge), sectionOf("job 1", 1), ALONE)
            .catch((error) => assert.equal(error.name, "ForgeError"));
          assert.equal(forge.comments.length, 1, `${status}`);
        }
        const late = start(kind, {
          mayReadUser,
          faultOf: ({ method }) => method === "POST" ? "late" : null,
        });
        await publishSection(commentsOf(kind, late), sectionOf("job 1", 1), ALONE).catch(() => {});
        assert.equal(late.comments.length, 1);
      }
    });

    it("is not that of a member or another bot, even with a copy of ours in it", async () => {
      for (const mayReadUser of [true, false]) {
        const forge = start(kind, { mayReadUser });
        await publishSection(commentsOf(kind, forge), sectionOf("job 1", 1), ALONE);
        const { body } = forge.comments[0]!;
        forge.comments.unshift({ id: 50, userId: 666, body });
        forge.comments.push({ id: 900, userId: 667, body });
        await publishSection(commentsOf(kind, forge), sectionOf("job 1", 2), ALONE);
        assert.deepEqual(
          forge.comments.map(({ id, body: now }) => [id, now === body]),
          [[50, true], [101, false], [900, true]],
        );
      }
    });

    it("is written after a secondary limit, which says so in its message alone", async () => {
      let refusals = 0;
      const limit = {
        status: 403,
        headers: { "x-ratelimit-remaining": "4900" },
        message: "You have exceeded a secondary rate limit. Please wait a few minutes.",
      };
      const forge = start(kind, {
        faultOf: ({ method }) => method === "POST" && refusals++ < 3 ? limit : null,
      });
      await publishSection(commentsOf(kind, forge), sectionOf("job 1", 1), ALONE);
      assert.deepEqual(written(forge), ["job 1 1"]);
      const busy = start(kind, { faultOf: () => limit });
      const startedAt = virtualMs;
      await assert.rejects(
        publishSection(commentsOf(kind, busy), sectionOf("job 1", 1), ALONE),
        { kind: "transient", message: /status 403: You have exceeded a secondary rate limit/ },
      );
      assert.ok(virtualMs - startedAt <= 40_000, `${virtualMs - startedAt} ms`);
    });

    it("is found behind a proxy, where the next page has the forge's inner address", async () => {
      const forge = start(kind, { innerAddress: "http://forge.internal:3000" });
      for (let id = 1; id <= 5; id++) forge.comments.push({ id, userId: 666, body: "looks good" });
      for (const run of [1, 2]) {
        await publishSection(commentsOf(kind, forge), sectionOf("job 1", run), ALONE);
      }
      assert.deepEqual(written(forge), ["job 1 2"]);
    });

    it("is an error when it may not be written, without the token in it", async () => {
      const forge = start(kind, { isReadOnly: true });
      await assert.rejects(
        publishSection(commentsOf(kind, forge), sectionOf("job 1", 1), ALONE),
        { kind: "denied", message: /status 403: Resource not accessible/ },
      );
      const echo = start(kind, { faultOf: () => ({ status: 404 }) });
      await assert.rejects(
        publishSection(commentsOf(kind, echo), sectionOf("job 1", 1), ALONE),
        { kind: "denied", message: /status 404: try later, \[token\]$/ },
      );
    });
  });
}

describe("the section of a job", () => {
  it("is written only if something failed, and becomes resolved afterwards", async () => {
    const forge = start("github");
    const publish = (section: Section) =>
      publishSection(commentsOf("github", forge), section, ALONE);
    assert.equal(await publish(sectionOf("unit", 1, 0)), false);
    assert.equal(forge.comments.length, 0);
    await publish(sectionOf("unit", 2));
    assert.match(forge.comments[0]!.body, /\*\*1 test failed: it is probably yours\.\*\*/);
    assert.equal(await publish(sectionOf("lint", 2, 0)), false);
    assert.equal(await publish(sectionOf("unit", 3, 0)), true);
    assert.deepEqual(written(forge), ["unit 3"]);
    assert.match(forge.comments[0]!.body, /\*\*Resolved: /);
  });

  it("does not replace that of a later run", async () => {
    const forge = start("github");
    const publish = (section: Section) =>
      publishSection(commentsOf("github", forge), section, ALONE);
    await publish(sectionOf("unit", 2));
    assert.equal(await publish(sectionOf("unit", 1)), false);
    assert.deepEqual(written(forge), ["unit 2"]);
  });

  it("is kept with that of another job with the same name in the same run", async () => {
    const forge = start("github");
    for (const runner of ["a", "b"]) {
      await publishSection(
        commentsOf("github", forge),
        { ...sectionOf("unit", 1), runner },
        ALONE,
      );
    }
    assert.deepEqual(written(forge), ["unit 1", "unit 1"]);
  });

  it("is merged into the older of two comments, and the other is deleted", async () => {
    const forge = start("forgejo");
    const publish = (section: Section) =>
      publishSection(commentsOf("forgejo", forge), section, ALONE);
    await publish(sectionOf("a", 1));
    const body = commentBody([sectionOf("b", 1)]);
    forge.comments.push({ ...forge.comments[0]!, id: 900, body });
    await publish(sectionOf("c", 1));
    assert.deepEqual(written(forge), ["a 1", "b 1", "c 1"]);
    assert.equal(forge.comments[0]!.id, 101);
  });

  it("fails after a while when the forge does not answer", async () => {
    const forge = start("github", { faultOf: () => "hang" });
    await assert.rejects(
      publishSection(commentsOf("github", forge, 20), sectionOf("a", 1), {
        ...CLOCK,
        scale: 0.005,
      }),
      { kind: "transient", message: /did not answer within 0\.02 seconds/ },
    );
  });
});

type Operation = "list" | "read" | "create" | "sign" | "update" | "remove";

/** What an operation does: how long it takes, and whether it fails with a status, or is applied. */
type Course = { ms: number; status?: number };

/** The comments of a forge that is ill, on a clock on which nothing else takes time. */
function illForge(courseOf: (operation: Operation, callNo: number) => Course) {
  let nowMs = 0;
  let callNo = 0;
  const stored: { id: number; body: string }[] = [];
  const clock = {
    now: () => nowMs,
    pause(milliseconds: number) {
      nowMs += milliseconds;
      return Promise.resolve();
    },
    random: Math.random,
    scale: 1,
  };
  const patience = createPatience(clock);
  /** As `requestOk`: bounded by the timeout of a request, and by the time that is left. */
  const answered = <Value>(operation: Operation, apply: () => Value): Promise<Value> => {
    const { ms, status } = courseOf(operation, callNo++);
    const limitMs = Math.min(5_000, Math.max(0, patience.leftMs()));
    const tookMs = Math.min(ms, limitMs);
    nowMs += tookMs;
    if (ms >= limitMs || status !== undefined) {
      return Promise.reject(
        new ForgeError("transient", "ill", { status: status ?? 0, tookMs }),
      );
    }
    return Promise.resolve(apply());
  };
  const comments: PullComments = {
    list: () => answered("list", () => stored.map((one) => ({ ...one, isOwn: true }))),
    read: (id) => answered("read", () => stored.find((one) => one.id === id) ?? null),
    create: (body) => answered("create", () => stored.push({ id: 1, body })),
    sign: () => answered("sign", () => {}),
    update: (id, body) =>
      answered("update", () => {
        const found = stored.find((one) => one.id === id);
        if (found) found.body = body;
        return found !== undefined;
      }),
    remove: () => answered("remove", () => {}),
  };
  return { comments, stored, clock: { ...clock, patience }, now: () => nowMs };
}

describe("a forge that is ill costs a job at most 20 s", () => {
  const isWrite = (operation: Operation) => operation !== "list" && operation !== "read";
  const ILLNESSES: Record<string, (operation: Operation, callNo: number) => Course> = {
    "when it answers everything with 500": () => ({ ms: 50, status: 500 }),
    "when it answers with 500 after a while": () => ({ ms: 4_900, status: 500 }),
    "when it never answers": () => ({ ms: Infinity }),
    "when it lists slowly and refuses to write": (operation) =>
      isWrite(operation) ? { ms: 50, status: 500 } : { ms: 4_800 },
    "when it answers everything, each time after 4.8 s": () => ({ ms: 4_800 }),
    "when it answers every second request": (_, callNo) =>
      callNo % 2 === 0 ? { ms: 50 } : { ms: Infinity },
    "when it falls silent after the comment was written": (_, callNo) =>
      callNo < 6 ? { ms: 50 } : { ms: Infinity },
    "when it fails after the comment was written": (_, callNo) =>
      callNo < 6 ? { ms: 50 } : { ms: 50, status: 502 },
  };
  for (const [when, courseOf] of Object.entries(ILLNESSES)) {
    it(when, async () => {
      for (let attempt = 0; attempt < 20; attempt++) {
        for (const isChanged of [false, true]) {
          const { comments, stored, clock, now } = illForge(courseOf);
          if (isChanged) stored.push({ id: 1, body: commentBody([sectionOf("unit", 0)]) });
          await publishSection(comments, sectionOf("unit", 1), clock).catch((error) =>
            assert.equal(error.name, "ForgeError")
          );
          assert.ok(now() <= 20_000, `${now()} ms`);
        }
      }
    });
  }

  it("when it accepts what is written and never shows it", async () => {
    const { comments, clock, now } = illForge(() => ({ ms: 50 }));
    const forgetful: PullComments = {
      ...comments,
      list: async (wait) => {
        await comments.list(wait);
        return [{ id: 1, body: commentBody([sectionOf("unit", 0)]), isOwn: true }];
      },
    };
    await assert.rejects(publishSection(forgetful, sectionOf("unit", 1), clock));
    assert.ok(now() <= 20_000, `${now()} ms`);
  });

  it("because its requests share the time", async () => {
    const forge = start("github", { faultOf: () => "hang" });
    const access = { ...gitHubAccess({ apiUrl: forge.url, token: FORGE_TOKEN }) };
    const request = (leftMs: number) =>
      requestOk({ path: "/user" }, { ...access, leftMs: () => leftMs });
    await assert.rejects(request(40), { message: /did not answer within 0\.04 seconds$/ });
    assert.equal(forge.received.length, 1);
    await assert.rejects(request(0), { message: /did not answer in time$/ });
    assert.equal(forge.received.length, 1);
  });
});
