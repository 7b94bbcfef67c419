import { after, before, it } from "@std/testing/bdd";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import type { Repository } from "../../../../db/admin/repositories.ts";
import type { Upload } from "../../../../db/write/store_submission.ts";
import { fingerprint } from "../../../../lib/analysis/failure_groups.ts";
import { formatTimestamp, WINDOW_SECONDS } from "../../../../lib/base/time.ts";
import { NO_GAPS } from "../../../../lib/report/report_gaps.ts";
import { toolEndpoint } from "../../../../lib/cli/tool_endpoint.ts";
import type { TestResult } from "../../../../lib/report/result.ts";
import { createApp } from "../../../../routes/mod.ts";
import { describeWithDatabase } from "../../../database.ts";
import { parseHtml } from "../../../routes/html.ts";
import {
  createShop,
  DAY,
  type Fixture,
  flaky,
  idOf,
  NOW,
  quarantine,
} from "../../../routes/fixture.ts";
import { silentLog } from "../../../silent_log.ts";

const SERVICE = "https://flaky.example.org";
const BUILD = "https://ci.example.org/builds/";

const failing = (name: string, message = `${name} broke`): Partial<TestResult> => ({
  name,
  suite: `com.acme.shop.checkout.${name}Test`,
  class: `com.acme.shop.checkout.${name}Test`,
  file: `src/test/java/com/acme/shop/checkout/${name}Test.java`,
  conclusion: "failure",
  message,
  body: `${message}\n\tat com.acme.shop.checkout`,
});

const passing = (name: string): Partial<TestResult> => ({
  ...failing(name, ""),
  conclusion: "passing",
  body: "",
});

describeWithDatabase("get_build_verdicts", (database) => {
  let fixture: Fixture;
  let shop: Repository;
  let client: Client;
  let requestCount = 0;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    const app = createApp(
      {
        sql: database().sql,
        now: () => NOW,
        windowSeconds: WINDOW_SECONDS,
        log: { ...silentLog, info: () => void requestCount++ },
      },
      (inner) => [toolEndpoint(inner, { publicUrl: SERVICE, log: silentLog })],
    );
    client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${SERVICE}/mcp`), {
        requestInit: {
          headers: { authorization: `Bearer ${fixture.token}`, host: "flaky.example.org" },
        },
        fetch: (url, init) => app(new Request(url, init), "192.0.2.7"),
      }),
    );
  });
  after(() => client.close());

  const ask = (input: Record<string, unknown>) =>
    client.callTool({
      name: "get_build_verdicts",
      arguments: { repository: "acme/shop", ...input },
    });

  async function call(input: Record<string, unknown>) {
    const result = await ask(input);
    assert.ok(!result.isError, JSON.stringify(result.content));
    // deno-lint-ignore no-explicit-any -- read as an agent does
    return result.structuredContent as any;
  }

  it("says of ten failures what they are and whose, in one call of at most 4 kB", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `paysWithManyCards${index}`);
    const more = { branch: "fix-cart", commitOid: "a1b2c3d4", tags: ["owner:@acme/payments"] };
    const build = { ...more, buildUrl: `${BUILD}1` };
    await fixture.upload(shop, names.map((name) => failing(name)), build);
    const found = await call({ build_url: `${BUILD}1` });
    assert.ok(JSON.stringify(found).length <= 4_000, `${JSON.stringify(found).length} bytes`);
    const { submission_id, recorded_at: _, ...facts } = found.build;
    assert.deepEqual(facts, {
      build_url: `${BUILD}1`,
      commit_oid: "a1b2c3d4",
      branch: "fix-cart",
      failed_count: 12,
    });
    assert.equal(found.web_url, `${SERVICE}/repos/acme/shop/builds/${submission_id}`);
    assert.equal(found.failed.length, 10);
    for (const one of found.failed) {
      assert.equal(one.verdict, "new");
      assert.deepEqual(one.owners, ["@acme/payments"]);
      assert.match(one.cause, /^[0-9a-f]{16}$/);
      assert.match(one.message, /^paysWith/);
      assert.equal(one.web_url, `${SERVICE}/tests/${one.id}`);
    }
    assert.match(found.next_step, /get_test_details .*@acme\/payments/);
    assert.deepEqual((await call({ commit: "a1b2c3d" })).failed, found.failed);
  });

  it("keeps names and a message of each cause when ten failures are long", async () => {
    const words = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split(" ");
    const upload = async (buildUrl: string, message: (index: number) => string) => {
      const tests = words.map((word, index) =>
        failing(`refunds an order of ${word}`, message(index))
      );
      await fixture.upload(shop, tests, { branch: "fix-refunds", buildUrl, commitOid: "d4d4d4d4" });
      const found = await call({ build_url: buildUrl });
      assert.ok(JSON.stringify(found).length <= 4_000, `${JSON.stringify(found).length} bytes`);
      assert.deepEqual(
        // deno-lint-ignore no-explicit-any -- read as an agent does
        found.failed.map(({ name }: any) => name).sort(),
        words.map((word) => `refunds an order of ${word}`).sort(),
      );
      // deno-lint-ignore no-explicit-any -- read as an agent does
      return found.failed.map((one: any) => one.message) as string[];
    };
    const shared = "java.lang.AssertionError: expected status 200 but was 503 for order 17";
    const messages = await upload(`${BUILD}20`, () => shared);
    assert.ok(messages.some((message) => message.length >= 40), messages.join("\n"));
    const different = await upload(
      `${BUILD}21`,
      (index) =>
        `Error: the basket of ${words[index]} should be open but is closed by another customer`,
    );
    for (const message of different) assert.ok(message.length >= 25, message);
  });

  it("tells new failures from known and flaky ones, and what passed on a retry", async () => {
    const old = { branch: "main", recordedAt: NOW - 3 * DAY, buildUrl: `${BUILD}2` };
    await fixture.upload(shop, [failing("known"), failing("unstable"), {
      ...failing("unstable"),
      conclusion: "passing",
    }], old);
    const results = [failing("known"), failing("unstable"), failing("fresh")];
    const retried = flaky("retried").reverse();
    await fixture.upload(shop, [...results, ...retried], {
      branch: "topic",
      commitOid: "b2b2b2b",
      buildUrl: `${BUILD}3`,
    });
    const { failed, flaky: passed } = await call({ branch: "topic" });
    assert.deepEqual(
      // deno-lint-ignore no-explicit-any -- read as an agent does
      failed.map(({ name, verdict, last_seen }: any) => [name, verdict, last_seen !== null]),
      [["fresh", "new", false], ["known", "known", true], ["unstable", "flaky", true]],
    );
    assert.deepEqual(passed, [{ id: idOf(shop, { name: "retried" }), name: "retried" }]);
  });

  it("finds the latest red build of the base branch, which is not evidence about itself", async () => {
    const main = { branch: "main", commitOid: "c3c3c3c" };
    await fixture.upload(shop, [failing("broken")], {
      ...main,
      buildUrl: `${BUILD}4`,
      recordedAt: NOW - 50,
    });
    await fixture.upload(shop, [{ name: "fine" }], {
      ...main,
      buildUrl: `${BUILD}5`,
      recordedAt: NOW - 40,
    });
    // Flaky alone: it ended green.
    await fixture.upload(shop, flaky("retried").reverse(), {
      ...main,
      buildUrl: `${BUILD}6`,
      recordedAt: NOW - 30,
    });
    const { build, failed } = await call({});
    assert.equal(build.build_url, `${BUILD}4`);
    assert.deepEqual([failed[0].name, failed[0].verdict, failed[0].last_seen], [
      "broken",
      "new",
      null,
    ]);
  });

  /** The verdict of the only test that failed: of the tool, and as the page of the build counts it. */
  async function verdictsOn(submissionId: string, wanted: Record<string, unknown>) {
    const response = await fixture.get(`/repos/acme/shop/builds/${submissionId}`);
    const { text } = parseHtml(await response.text());
    const onPage = /\b1 (new|known|flaky|quarantined(?:, new cause)?): /.exec(text)?.[1];
    const { build, failed } = await call(wanted);
    assert.equal(build.submission_id, submissionId);
    assert.equal(failed.length, 1);
    return { tool: failed[0].verdict, page: onPage };
  }

  it("says the same verdict as the page: known for its cause in another job", async () => {
    const test = failing("races");
    const main = { branch: "main", commitOid: "c4c4c4c", recordedAt: NOW - 2 * DAY };
    await fixture.upload(shop, [test], { ...main, job: "race", buildUrl: `${BUILD}30` });
    const later = { ...main, recordedAt: NOW - DAY, buildUrl: `${BUILD}31` };
    await fixture.upload(shop, [{ ...test, conclusion: "passing" }], { ...later, job: "unit" });
    const { submissionId } = await fixture.upload(shop, [test], {
      ...{ branch: "fix-race", commitOid: "c5c5c5c", job: "unit", attempt: "1", pullNumber: 5 },
      buildUrl: `${BUILD}32`,
    });
    const said = await verdictsOn(submissionId, { build_url: `${BUILD}32` });
    assert.deepEqual(said, { tool: "known", page: "known" });
  });

  it("says the same verdict as the page: failed last on the base branch, before the window", async () => {
    const test = failing("broken for long");
    const main = { branch: "main", commitOid: "c6c6c6c", buildUrl: `${BUILD}33` };
    await fixture.upload(shop, [test], { ...main, recordedAt: NOW - 20 * DAY });
    const { submissionId } = await fixture.upload(shop, [test], {
      ...{ branch: "fix-long", commitOid: "c7c7c7c", buildUrl: `${BUILD}34` },
    });
    const said = await verdictsOn(submissionId, { build_url: `${BUILD}34` });
    assert.deepEqual(said, { tool: "known", page: "known" });
  });

  it("says the same verdict as the page: that of the upload, also without a build", async () => {
    const run = { branch: "fix-alone", commitOid: "c8c8c8c", recordedAt: NOW - 60 };
    const { submissionId } = await fixture.upload(shop, [failing("alone")], run);
    await fixture.upload(shop, [failing("alone")], {
      ...{ branch: "main", commitOid: "c8c8c80", recordedAt: NOW - 50 },
    });
    const said = await verdictsOn(submissionId, { commit: "c8c8c8c" });
    assert.deepEqual(said, { tool: "new", page: "new" });
  });

  it("says the same verdict as the page: in one of twelve shards", async () => {
    const test = failing("sharded");
    await fixture.upload(shop, [test], {
      ...{ branch: "main", commitOid: "c9c9c9c", buildUrl: `${BUILD}35`, recordedAt: NOW - DAY },
    });
    const run = { branch: "fix-shards", commitOid: "d1d1d1d", job: "unit", buildUrl: `${BUILD}36` };
    for (let shard = 1; shard <= 12; shard++) {
      const results = shard === 1 ? [test] : [{ name: `in shard ${shard}` }];
      await fixture.upload(shop, results, { ...run, shard: `${shard}/12` });
    }
    const { build } = await call({ commit: "d1d1d1d" });
    const said = await verdictsOn(build.submission_id, { commit: "d1d1d1d" });
    assert.deepEqual(said, { tool: "known", page: "known" });
  });

  it("says the same verdict as the page: quarantined, for its cause and for a new one", async () => {
    const test = failing("aside");
    const passed = { ...test, conclusion: "passing" as const };
    await fixture.upload(shop, [test, passed], {
      ...{ branch: "main", commitOid: "d2d2d2d", buildUrl: `${BUILD}37`, recordedAt: NOW - DAY },
    });
    await quarantine(database(), idOf(shop, test));
    const run = { branch: "fix-aside", commitOid: "d3d3d3d" };
    const known = await fixture.upload(shop, [test], { ...run, buildUrl: `${BUILD}38` });
    assert.deepEqual(await verdictsOn(known.submissionId, { build_url: `${BUILD}38` }), {
      ...{ tool: "quarantined", page: "quarantined" },
    });
    const other = [test, failing("aside", "something else")];
    const both = await fixture.upload(shop, other, { ...run, buildUrl: `${BUILD}39` });
    assert.deepEqual(await verdictsOn(both.submissionId, { build_url: `${BUILD}39` }), {
      ...{ tool: "quarantined, new cause", page: "quarantined, new cause" },
    });
  });

  it("counts all failed tests of the build, and of each shows the last attempt", async () => {
    const names = Array.from({ length: 120 }, (_, index) => `one of many ${index}`);
    const results = names.flatMap((name) => [failing(name, "first"), failing(name, "last")]);
    const run = { branch: "fix-many", commitOid: "d4d4d4d0", buildUrl: `${BUILD}40` };
    await fixture.upload(shop, results, run);
    const { build, failed, next_step } = await call({ build_url: `${BUILD}40` });
    assert.equal(build.failed_count, names.length);
    assert.equal(failed[0].message, "last");
    assert.equal(failed[0].cause, fingerprint("last"));
    assert.match(next_step, /Begin with the first test/);
  });

  it("says what to do when there is no such build, and whether all tests ran", async () => {
    const none = await call({ commit: "fffffff" });
    assert.deepEqual([none.build, none.failed], [null, []]);
    assert.match(none.next_step, /No build of fffffff in 14 days: list_recent_submissions/);
    const job = { branch: "main", job: "unit", environment: "Linux-X64" };
    const twenty = Array.from({ length: 20 }, (_, index) => ({ name: `t${index}` }));
    for (const days of [4, 5, 6]) {
      await fixture.upload(shop, twenty, { ...job, recordedAt: NOW - days * DAY });
    }
    const part = { ...job, branch: "part", buildUrl: `${BUILD}6` };
    await fixture.upload(shop, [failing("half"), { name: "t1" }], part);
    const { whole, next_step } = await call({ branch: "part" });
    assert.equal(whole, false);
    assert.match(next_step, /The run is not whole \(2 of about 20 tests ran/);
  });

  interface Ran {
    passed: number;
    skipped?: number;
    /** Attempts of the first test that failed before it passed. */
    retries?: number;
  }

  function resultsOf({ passed, skipped = 0, retries = 0 }: Ran): Partial<TestResult>[] {
    const named = (index: number) => ({ name: `t${index}`, file: "all.ts" });
    return [
      ...Array.from({ length: retries }, () => ({
        ...named(0),
        conclusion: "failure" as const,
      })),
      ...Array.from({ length: passed }, (_, index) => named(index)),
      ...Array.from({ length: skipped }, (_, index) => ({
        ...named(passed + index),
        conclusion: "skipped" as const,
      })),
    ];
  }

  const USUAL: Ran[] = [{ passed: 40 }, { passed: 40 }, { passed: 40 }];
  const RUNS: [title: string, before: Ran[], run: Ran, missing: string | null, whole: unknown][] = [
    ["as many tests as usual", USUAL, { passed: 40 }, null, true],
    ["as few as the gate accepts", USUAL, { passed: 38, skipped: 2 }, null, true],
    ["too few, one of them retried", USUAL, { passed: 30, retries: 10 }, "30 of about 40", false],
    ["too few, as others are skipped", USUAL, { passed: 36, skipped: 4 }, "36 of about 40", false],
    [
      "more skipped than usual",
      USUAL,
      { passed: 40, skipped: 9 },
      "9 tests skipped, usually 0",
      false,
    ],
    [
      "fewer of a number that varies",
      [{ passed: 40 }, { passed: 70 }, { passed: 40 }],
      {
        passed: 3,
      },
      null,
      null,
    ],
    ["fewer than in two earlier runs", USUAL.slice(1), { passed: 3 }, null, null],
  ];
  for (const [index, [title, before, run, missing, whole]] of RUNS.entries()) {
    it(`says the same of a run as its page: ${title}`, async () => {
      const job = { branch: "main", job: `unit-${index}`, environment: "Linux-X64" };
      for (const [days, ran] of before.entries()) {
        const recordedAt = NOW - (days + 1) * DAY;
        await fixture.upload(shop, resultsOf(ran), { ...job, recordedAt });
      }
      for (const failures of [[], [{ ...failing("broken"), file: "all.ts" }]]) {
        const buildUrl = `${BUILD}compared-${index}-${failures.length}`;
        const passed = run.passed - failures.length;
        const results = [...resultsOf({ ...run, passed }), ...failures];
        const { submissionId } = await fixture.upload(shop, results, {
          ...job,
          branch: "fix",
          buildUrl,
        });
        const found = await call({ build_url: buildUrl });
        const response = await fixture.get(`/repos/acme/shop/builds/${submissionId}`);
        const { text } = parseHtml(await response.text());
        assert.equal(found.whole, whole);
        const said = /Not whole: (.*?) \(unit-/.exec(text)?.[1] ?? null;
        assert.equal(said?.slice(0, missing?.length) ?? null, missing);
        if (said !== null) assert.ok(found.next_step.includes(said), found.next_step);
        else assert.doesNotMatch(found.next_step, /not all/i);
      }
    });
  }

  it("finds the build of a pull request by its number", async () => {
    const run = { branch: "fix-tax", pullNumber: 4711, buildUrl: `${BUILD}pull` };
    await fixture.upload(shop, [failing("tax")], run);
    assert.equal((await call({ pull: 4711 })).build?.build_url, `${BUILD}pull`);
  });

  it("refuses empty arguments, which are no question about the base branch", async () => {
    await fixture.upload(shop, [failing("onMain")], { branch: "main", buildUrl: `${BUILD}20` });
    const wrong = [
      ...["build_url", "commit", "branch"].flatMap((name) => [{ [name]: "" }, { [name]: " " }]),
      ...[{ pull: 0 }, { pull: -1 }, { build_url: "", branch: "main" }],
    ];
    for (const input of wrong) {
      const [[name, value]] = Object.entries(input) as [[string, string | number]];
      const { isError, content: [part] } = await ask(input);
      assert.ok(isError, JSON.stringify(input));
      const shown = JSON.stringify(typeof value === "string" ? value.trim() : value);
      const expected = new RegExp(`invalid ${name} ${shown}: give .*leave it out`);
      assert.match(part?.type === "text" ? part.text : "", expected);
    }
  });

  it("says that a job ended red without a failed test", async () => {
    const crash = { branch: "crash", job: "unit", exitCode: 134, buildUrl: `${BUILD}9` };
    await fixture.upload(shop, [{ name: "t1" }], crash);
    const { failed_without_test, failed, next_step } = await call({ build_url: `${BUILD}9` });
    assert.deepEqual([failed_without_test, failed], [true, []]);
    assert.equal(next_step, "A job ended red without a failed test: look at its log.");
  });

  it("names the failure that the evidence rests on, however old, as the last one", async () => {
    for (const [index, days] of [20, 10, 9].entries()) {
      await fixture.upload(shop, [{
        ...failing("seldom", "out of stock"),
        ...index > 0 && { conclusion: "passing" as const },
      }], {
        branch: "main",
        recordedAt: NOW - days * DAY,
        commitOid: `e4e4e4${index}`,
        buildUrl: `${BUILD}60${index}`,
      });
    }
    const build = { branch: "seldom", commitOid: "e5e5e5e", buildUrl: `${BUILD}609` };
    await fixture.upload(shop, [failing("seldom", "out of stock")], build);
    const { failed: [found] } = await call({ branch: "seldom" });
    assert.equal(found.evidence, "seen_elsewhere");
    assert.equal(found.last_seen, formatTimestamp(NOW - 20 * DAY));
  });

  it("says that no upload names its branch, where there is no base branch to search", async () => {
    const nameless = await fixture.addRepository("acme", "nameless");
    await fixture.upload(nameless, [failing("hidden")], { buildUrl: `${BUILD}800` });
    const { build, next_step } = await call({ repository: "acme/nameless" });
    assert.equal(build, null);
    assert.match(next_step, /^No upload names its branch: add branch= to the upload/);
  });

  it("does not say that no test failed in a build whose reports could not be read", async () => {
    await database().sql`
      insert into submission (repository_id, submission_id, recorded_at, uploaded_at, status, key,
        commit_oid, branch, build_url, data_version)
      values (${shop.repositoryId}, decode(${"6ab1".padEnd(24, "7")}, 'hex'), to_timestamp(${NOW}),
        to_timestamp(${NOW}), 'failed', 'k', 'f6f6f6f', 'unread', ${`${BUILD}700`}, 1)`;
    const { next_step, failed } = await call({ branch: "unread" });
    assert.deepEqual(failed, []);
    assert.equal(
      next_step,
      "Its tests are not known (the reports of an upload could not be read): look at the log of the job.",
    );
  });

  it("answers for a branch or pull request with its newest commit: the red build, else the latest", async () => {
    const repo = await fixture.addRepository("acme", "pushed");
    let seconds = 900;
    const upload = (commitOid: string, build: string, results: Partial<TestResult>[]) =>
      fixture.upload(repo, results, {
        ...{ commitOid, branch: "fix", pullNumber: 12, buildUrl: BUILD + build },
        recordedAt: NOW - seconds--,
      });
    const buildsOf = async () => {
      const found = [];
      for (const wanted of [{ branch: "fix" }, { pull: 12 }, { pull: 12, branch: "fix" }]) {
        const { build, next_step } = await call({ repository: "acme/pushed", ...wanted });
        assert.doesNotMatch(next_step, /newer/);
        found.push(build.build_url.slice(BUILD.length));
      }
      return [...new Set(found)];
    };
    await upload("a0a0a01", "801", [failing("k1")]);
    await upload("a0a0a02", "802", [{ name: "k1" }]);
    await upload("a0a0a03", "803", [{ name: "k1" }]);
    assert.deepEqual(await buildsOf(), ["803"]);
    const atCommit = await call({ repository: "acme/pushed", commit: "a0a0a01" });
    assert.equal(atCommit.build.build_url, `${BUILD}801`);
    await upload("a0a0a04", "804", [failing("k1")]);
    await upload("a0a0a04", "805", [{ name: "e2e" }]);
    assert.deepEqual(await buildsOf(), ["804"]);
    // More submissions than a page has, all of the newest build.
    for (let shard = 0; shard < 101; shard++) {
      await upload("a0a0a04", "806", [{ name: `${shard}` }]);
    }
    assert.deepEqual(await buildsOf(), ["804"]);
    // Of unknown commits each build is one of its own.
    await upload("", "807", [failing("k1")]);
    await upload("", "808", [{ name: "k1" }]);
    assert.deepEqual(await buildsOf(), ["808"]);
  });

  /** Uploads of a repository of its own, in the order in which they come, and what is said of `wanted`. */
  let repositoryCount = 0;
  async function uploaded(uploads: (Partial<Upload> & { failed?: string; passed?: string })[]) {
    const name = `builds${repositoryCount++}`;
    const repo = await fixture.addRepository("acme", name);
    for (const [index, { failed, passed, buildUrl, ...more }] of uploads.entries()) {
      const other = passed ? passing(passed) : { name: "k1" };
      await fixture.upload(repo, [failed ? failing(failed) : other, { name: "k2" }], {
        ...{ branch: "fix", attempt: "1", recordedAt: NOW - 900 + index },
        ...{ buildUrl: buildUrl ? BUILD + buildUrl : "", ...more },
      });
    }
    const buildOf = async (wanted: Record<string, unknown>) => {
      const { build, next_step } = await call({ repository: `acme/${name}`, ...wanted });
      return [build?.build_url.slice(BUILD.length), /^This is .*?\. |/.exec(next_step)![0]];
    };
    return { name, repo, buildOf };
  }

  it("answers for a branch and pull request with a job that is red, also where others tested another commit", async () => {
    const e2e = { job: "e2e", commitOid: "c0ffee2", pullNumber: 9, buildUrl: "2" };
    const unit = { job: "unit", commitOid: "c0ffee1", buildUrl: "1" };
    const { buildOf } = await uploaded([{ ...unit, failed: "k1" }, e2e]);
    const said = "This is commit c0ffee1, the latest upload is of c0ffee2. ";
    for (const wanted of [{ branch: "fix" }, { pull: 9 }, { pull: 9, branch: "fix" }]) {
      assert.deepEqual(await buildOf(wanted), ["1", said], JSON.stringify(wanted));
    }
  });

  it("does not take an old commit that was run again for the newest one", async () => {
    const unit = { job: "unit", pullNumber: 10 };
    for (const branch of ["fix", "main"]) {
      const { buildOf } = await uploaded([
        { ...unit, branch, commitOid: "c0ffee1", buildUrl: "1" },
        { ...unit, branch, commitOid: "c0ffee2", buildUrl: "2", failed: "k1" },
        { ...unit, branch, commitOid: "c0ffee1", buildUrl: "1", attempt: "2" },
      ]);
      const said = "This is commit c0ffee2, the latest upload is of c0ffee1. ";
      const questions = branch === "fix" ? [{ branch }, { pull: 10 }] : [{ branch }, {}];
      for (const wanted of questions) {
        assert.deepEqual(await buildOf(wanted), ["2", said], JSON.stringify(wanted));
      }
    }
  });

  it("does not take what a newer commit has repaired for red, because of another job of the build", async () => {
    const more = { pullNumber: 11 };
    const { buildOf } = await uploaded([
      { ...more, job: "unit", commitOid: "c0ffee1", buildUrl: "1", failed: "k1" },
      { ...more, job: "docs", commitOid: "c0ffee1", buildUrl: "1" },
      { ...more, job: "unit", commitOid: "c0ffee2", buildUrl: "2" },
    ]);
    for (const wanted of [{ branch: "fix" }, { pull: 11 }]) {
      assert.deepEqual(await buildOf(wanted), ["2", ""], JSON.stringify(wanted));
    }
  });

  it("finds a build of a commit that was run again much later", async () => {
    const others = Array.from({ length: 120 }, () => ({ branch: "other", commitOid: "dddddd1" }));
    const { buildOf } = await uploaded([
      { commitOid: "c0ffee1", buildUrl: "1", failed: "k1" },
      ...others,
      { commitOid: "c0ffee1", buildUrl: "2" },
    ]);
    assert.deepEqual(await buildOf({ commit: "c0ffee1" }), ["1", ""]);
  });

  const MAIN = { branch: "main", job: "unit" };
  /** The test `seen` fails now and then on the base branch: such failures are not due to a change. */
  const BEFORE = Array.from({ length: 24 }, (_, index) => ({
    ...{ ...MAIN, recordedAt: NOW - 2 * DAY + index, commitOid: `bbbbbb${index.toString(16)}` },
    ...index % 6 === 0 ? { failed: "seen" } : { passed: "seen" },
  }));

  it("answers about the red build that most probably needs work, and names the others", async () => {
    const more = { commitOid: "c0ffee1", pullNumber: 12 };
    const unit = { ...more, job: "unit", buildUrl: "1", failed: "seen" };
    const e2e = { ...more, job: "e2e", buildUrl: "2", failed: "fresh" };
    for (const uploads of [[unit, e2e], [e2e, unit]]) {
      const { name } = await uploaded([...BEFORE, ...uploads]);
      for (const wanted of [{ commit: "c0ffee1" }, { branch: "fix" }, { pull: 12 }]) {
        const found = await call({ repository: `acme/${name}`, ...wanted });
        assert.equal(found.build.build_url, `${BUILD}2`);
        assert.equal(found.failed[0].blame, "yours");
        assert.deepEqual(found.other_red_builds, [`${BUILD}1`]);
        assert.match(found.next_step, /^1 other build is red: https:\S+\/1\. Begin/);
      }
      const one = await call({ repository: `acme/${name}`, build_url: `${BUILD}1` });
      assert.equal(
        one.next_step,
        "None of the 1 is probably due to the change: run the job again.",
      );
    }
  });

  it("does not say to run again what is broken on the base branch", async () => {
    const broken = Array.from({ length: 3 }, (_, index) => ({
      ...{ ...MAIN, commitOid: `aaaaaa${index}`, recordedAt: NOW - DAY + index },
      ...{ failed: "broken", buildUrl: `${index}` },
    }));
    const { name, repo } = await uploaded([...BEFORE.slice(1), ...broken]);
    const stepFor = async (wanted: Record<string, unknown>) =>
      (await call({ repository: `acme/${name}`, ...wanted })).next_step;
    const since = "get_test_evidence says since which commit.";
    assert.equal(
      await stepFor({}),
      "It failed the same way in the run before on main: probably broken there. Fix or revert that; " +
        `running again does not help. ${since}`,
    );
    const unit = { branch: "fix", job: "unit", attempt: "1", commitOid: "c0ffee1" };
    const upload = (results: Partial<TestResult>[], more: Partial<Upload>) =>
      fixture.upload(repo, [...results, { name: "k2" }], {
        ...unit,
        recordedAt: NOW - 60,
        ...more,
      });
    await upload([failing("broken")], { buildUrl: `${BUILD}8` });
    assert.equal(
      await stepFor({ commit: "c0ffee1" }),
      "None of the 1 is probably due to the change. It failed last on main, too: running again does not help " +
        `until that is repaired there. ${since}`,
    );
    await upload([passing("seen")], { commitOid: "c0ffee2" });
    await upload([failing("seen"), failing("broken")], {
      ...{ commitOid: "c0ffee2", attempt: "2", buildUrl: `${BUILD}9` },
    });
    assert.equal(
      await stepFor({ commit: "c0ffee2" }),
      "None of the 2 is probably due to the change. 1 of them failed last on main, too: running again does not " +
        `help until that is repaired there. ${since} For the others, run the job again.`,
    );
    await upload([passing("broken")], {
      ...{ branch: "main", commitOid: "aaaaaa9", recordedAt: NOW - 50 },
    });
    assert.match(
      await stepFor({}),
      /^A newer build of main passed\. .* probably broken there\. See whether that is repaired; /,
    );
  });

  it("says to run again what is flaky, although it failed last on the base branch", async () => {
    const failed = { ...MAIN, commitOid: "aaaaaa1", failed: "seen", recordedAt: NOW - DAY };
    const passed = { ...MAIN, commitOid: "aaaaaa1", attempt: "2", recordedAt: NOW - DAY + 1 };
    const { name, repo } = await uploaded([...BEFORE, failed]);
    await fixture.upload(repo, [passing("seen"), { name: "k2" }], passed);
    const again = { ...failed, commitOid: "aaaaaa2", recordedAt: NOW - 900 };
    await fixture.upload(repo, [failing("seen"), { name: "k2" }], { ...again, attempt: "1" });
    await fixture.upload(repo, [failing("seen"), { name: "k2" }], {
      ...{ branch: "fix", job: "unit", commitOid: "c0ffee1", buildUrl: `${BUILD}1` },
    });
    const found = await call({ repository: `acme/${name}`, commit: "c0ffee1" });
    assert.equal(found.failed[0].evidence, "fails_on_base");
    assert.equal(
      found.next_step,
      "None of the 1 is probably due to the change: run the job again.",
    );
  });

  it("says to run again after an outage when it is over", async () => {
    const repo = await fixture.addRepository("acme", "outage");
    const down = Array.from({ length: 25 }, (_, index) => failing(`down${index}`, "ECONNREFUSED"));
    await fixture.upload(repo, [{ name: "k1" }], { branch: "main", recordedAt: NOW - DAY });
    for (const [index, branch] of ["other", "fix"].entries()) {
      await fixture.upload(repo, down, {
        ...{ branch, job: "unit", commitOid: `c0ffee${index}`, recordedAt: NOW - 60 + index },
        buildUrl: `${BUILD}${index}`,
      });
    }
    const found = await call({ repository: "acme/outage", commit: "c0ffee1" });
    assert.equal(found.failed[0].evidence, "outage");
    assert.equal(
      found.next_step,
      "None of the 25 is probably due to the change: run the job again when the outage is over.",
    );
  });

  it("prefers what is unclear to what is not due to the change, as a job that ended red without a failed test", async () => {
    const more = { commitOid: "c0ffee1" };
    const crashed = { ...more, job: "lint", buildUrl: "1", exitCode: 2 };
    const unit = { ...more, job: "unit", buildUrl: "2", failed: "seen" };
    const { name } = await uploaded([...BEFORE, crashed, unit]);
    const found = await call({ repository: `acme/${name}`, branch: "fix" });
    assert.deepEqual([found.build.build_url, found.failed_without_test], [`${BUILD}1`, true]);
    assert.match(found.next_step, /^1 other build is red: https:\S+\/2\. A job ended red/);
  });

  it("names other red builds of the base branch: of its newest commits, and of the latest red one", async () => {
    const newest = await uploaded([
      { ...MAIN, commitOid: "c0ffee1", buildUrl: "1", failed: "k1" },
      { ...MAIN, commitOid: "c0ffee2", buildUrl: "2", job: "e2e", failed: "k3" },
    ]);
    const found = await call({ repository: `acme/${newest.name}` });
    assert.equal(found.build.build_url, `${BUILD}2`);
    assert.match(found.next_step, /^1 other build is red: https:\S+\/1\. Begin/);

    const repaired = await uploaded([
      { ...MAIN, commitOid: "c0ffee0", buildUrl: "0", failed: "k1" },
      { ...MAIN, commitOid: "c0ffee1", buildUrl: "1", failed: "k1" },
      { ...MAIN, commitOid: "c0ffee1", buildUrl: "2", job: "e2e", failed: "k3" },
      { ...MAIN, commitOid: "c0ffee2", buildUrl: "3" },
      { ...MAIN, commitOid: "c0ffee2", buildUrl: "4", job: "e2e" },
    ]);
    const { build, next_step } = await call({ repository: `acme/${repaired.name}` });
    assert.equal(build.build_url, `${BUILD}2`);
    assert.match(
      next_step,
      /^2 newer builds of main passed\. 1 other build is red: \S+\/1\. Begin/,
    );
  });

  it("names at most three of many red builds, in at most 4 kB", async () => {
    const long = "x".repeat(60);
    const jobs = Array.from({ length: 9 }, (_, index) => ({
      ...{ job: `job-${index}`, commitOid: "c0ffee1", failed: "seen" },
      buildUrl: `${long}${index}`,
    }));
    const { name, repo } = await uploaded([...BEFORE, ...jobs]);
    const names = Array.from(
      { length: 10 },
      (_, index) => `${"pays with a card ".repeat(9)}${index}`,
    );
    await fixture.upload(repo, names.map((name) => failing(name, `${name} broke`)), {
      ...{ branch: "fix", job: "all", commitOid: "c0ffee1", buildUrl: `${BUILD}all` },
      tags: ["owner:@acme/payments"],
    });
    const found = await call({ repository: `acme/${name}`, branch: "fix" });
    assert.equal(found.build.build_url, `${BUILD}all`);
    assert.ok(JSON.stringify(found).length <= 4_000, `${JSON.stringify(found).length} bytes`);
    assert.ok(found.failed.length >= 7, `${found.failed.length} tests`);
    assert.equal(found.build.failed_count, 10);
    assert.equal(found.other_red_builds.length, 3);
    assert.match(
      found.next_step,
      /^9 other builds are red: \S+x8, \S+x7 and 7 more\. Begin with .* one reason\.$/,
    );
  });

  it("names a red build without an address, or with a long one, by its submission", async () => {
    for (const buildUrl of ["", "x".repeat(200)]) {
      const { name } = await uploaded([
        { commitOid: "c0ffee1", buildUrl, failed: "k1" },
        { commitOid: "c0ffee1", buildUrl: "2", failed: "k3" },
      ]);
      const { build, other_red_builds: [other], next_step } = await call({
        ...{ repository: `acme/${name}`, branch: "fix" },
      });
      assert.equal(build.build_url, `${BUILD}2`);
      assert.match(other, /^submission [0-9a-f]{24}$/);
      assert.ok(next_step.startsWith(`1 other build is red: ${other}. `), next_step);
    }
  });

  it("answers about a build that is not whole before one that passed", async () => {
    const gaps = { ...NO_GAPS, cutOffReportCount: 1 };
    const { name } = await uploaded([
      { commitOid: "c0ffee1", job: "unit", buildUrl: "1", gaps },
      { commitOid: "c0ffee1", job: "e2e", buildUrl: "2" },
    ]);
    const { build, next_step } = await call({ repository: `acme/${name}`, branch: "fix" });
    assert.equal(build.build_url, `${BUILD}1`);
    assert.match(next_step, /^No test failed, but the run is not whole/);
  });

  it("says how many builds of a commit it did not read", async () => {
    const jobs = Array.from({ length: 33 }, (_, index) => ({
      ...{ job: `job-${index}`, commitOid: "c0ffee1", buildUrl: `${index}` },
    }));
    const { name } = await uploaded(jobs);
    const { next_step } = await call({ repository: `acme/${name}`, branch: "fix" });
    assert.match(next_step, / 3 older builds of other jobs were not read\.$/);
  });

  it("says that newer builds of the base branch passed, other than those of the red commit", async () => {
    const repo = await fixture.addRepository("acme", "repaired");
    let seconds = 900;
    const upload = (commitOid: string, build: string, more: Partial<Upload> = {}) =>
      fixture.upload(repo, build === "901" ? [failing("k1")] : [{ name: "k1" }], {
        ...{ commitOid, branch: "main", buildUrl: BUILD + build, recordedAt: NOW - seconds-- },
        ...more,
      });
    const begin = async () => {
      const { build, next_step } = await call({ repository: "acme/repaired" });
      assert.equal(build.build_url, `${BUILD}901`);
      return /^(.*?) ?Begin with the first test/.exec(next_step)?.[1];
    };
    await upload("b0b0b01", "901");
    await upload("b0b0b01", "902");
    await upload("b0b0b02", "903", { branch: "other" });
    assert.equal(await begin(), "");
    await upload("b0b0b02", "904");
    assert.equal(await begin(), "A newer build of main passed.");
    const ofBranch = await call({ repository: "acme/repaired", branch: "main" });
    assert.equal(ofBranch.build.build_url, `${BUILD}904`);
    // A build that could not be read did not pass.
    await database().sql`
      insert into submission (repository_id, submission_id, recorded_at, uploaded_at, status, key,
        commit_oid, branch, build_url, data_version)
      values (${repo.repositoryId}, decode(${"6ab1".padEnd(24, "7")}, 'hex'), to_timestamp(${NOW}),
        to_timestamp(${NOW}), 'failed', 'k', 'b0b0b04', 'main', ${`${BUILD}906`}, 1)`;
    await upload("b0b0b03", "905");
    assert.equal(await begin(), "2 newer builds of main passed.");
  });
});
