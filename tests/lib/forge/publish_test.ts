import { afterEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import {
  COMMENT_MARK,
  commentBody,
  parseComment,
  type Section,
} from "../../../lib/comment/sections.ts";
import { pause } from "../../../lib/base/delay.ts";
import type { PullComments } from "../../../lib/forge/forge.ts";
import { gitHubAccess, gitHubComments } from "../../../lib/forge/github.ts";
import { gitLabAccess, gitLabNotes } from "../../../lib/forge/gitlab.ts";
import { publishSection } from "../../../lib/forge/publish.ts";
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

/** Ten times as fast as the real rule. */
const CLOCK = {
  now: () => performance.now(),
  pause: (milliseconds: number) => pause(milliseconds),
  random: Math.random,
  scale: 0.1,
};

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
      const forge = start(kind, { delayMs: () => Math.random() * 20 });
      for (const run of [1, 2]) {
        const ends = await Promise.all(
          jobs(20).map((job) =>
            publishSection(commentsOf(kind, forge), sectionOf(job, run), CLOCK)
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
        jobs(8).map((job) => publishSection(commentsOf(kind, forge), sectionOf(job, 1), CLOCK)),
      );
      assert.deepEqual(written(forge), jobs(8).map((job) => `${job} 1`).sort());
    });

    it("is found behind those of others, also when they imitate it", async () => {
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
      await publishSection(commentsOf(kind, forge), sectionOf("job 1", 1), ALONE);
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
