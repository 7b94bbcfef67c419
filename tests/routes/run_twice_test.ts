/** Whether anything was run twice: nowhere a share of flaky builds where it cannot be known. */
import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Upload } from "../../db/write/store_submission.ts";
import { describeWithDatabase } from "../database.ts";
import { commandLine } from "../lib/cli/run_in_process.ts";
import { createFixture, DAY, type Fixture, flaky, NOW } from "./fixture.ts";
import type { TestResult } from "../../lib/report/result.ts";

/** Uploads of a repository, each of a commit of its own unless said otherwise. */
type Uploads = [results: Partial<TestResult>[], more?: Partial<Upload>][];

const A = [{ name: "a" }];
const B = [{ name: "b" }];
const failed = [{ name: "a", conclusion: "failure" as const }];
const of = (more: Partial<Upload>) => ({ commitOid: "5a5a5a5", ...more });
const unit = of({ job: "unit", environment: "linux", buildUrl: "https://ci.example/1" });
const run2 = { ...unit, buildUrl: "https://ci.example/2" };

/** By the name of a repository: its uploads, and whether a share of flaky builds is known of them. */
const CASES: Record<string, [Uploads, isKnown: boolean]> = {
  commits: [[[A], [failed]], false],
  "two-jobs": [[[A, unit], [A, { ...run2, job: "e2e" }]], false],
  "two-environments": [[[A, unit], [A, { ...run2, environment: "windows" }]], false],
  "one-job-twice": [[[A, unit], [A, run2]], true],
  "shards-of-a-run": [
    [[A, { ...unit, attempt: "1", shard: "1/2" }], [B, { ...unit, attempt: "1", shard: "2/2" }]],
    false,
  ],
  "second-attempt": [[[A, { ...unit, attempt: "1" }], [A, { ...unit, attempt: "2" }]], true],
  // As jobs of one commit that are uploaded without their names.
  "other-tests": [[[A, of({})], [B, of({})]], false],
  "same-test-among-others": [[[[...A, ...B], of({})], [B, of({})]], true],
  "skipped-again": [[[A, unit], [[{ name: "a", conclusion: "skipped" }], run2]], false],
  "unnamed-legs": [
    [[A, { ...unit, attempt: "1" }], [A, { ...unit, attempt: "1" }]],
    false,
  ],
  unknown: [
    [[[...A, { name: "b", conclusion: "unknown" }]], [[...A, {
      name: "b",
      conclusion: "unknown",
    }]]],
    false,
  ],
  "failed-twice": [[[[...failed, ...failed]]], true],
  disruptive: [[[flaky("a")]], true],
  "long-ago": [[[flaky("a"), { recordedAt: NOW - 100 * DAY }], [A]], false],
};

describeWithDatabase("the share of flaky builds", (database) => {
  const cli = commandLine(database, { now: () => NOW });
  let acme: Fixture;

  before(async () => {
    acme = await createFixture(database(), { name: "acme" });
    const add = async (name: string, uploads: Uploads) => {
      const repository = await acme.addRepository("acme", name);
      for (const [index, [results, more]] of uploads.entries()) {
        await acme.upload(repository, results, {
          commitOid: `c${index}`.padEnd(7, "0"),
          recordedAt: NOW - 100 + index,
          ...more,
        });
      }
    };
    for (const [name, [uploads]] of Object.entries(CASES)) await add(name, uploads);
    // Run twice in one of the two periods only.
    const twice = (days: number): Uploads => [
      [A, { ...unit, recordedAt: NOW - days * DAY }],
      [A, { ...run2, recordedAt: NOW - days * DAY + 60 }],
    ];
    await add("twice-now", [[A, { recordedAt: NOW - 20 * DAY }], ...twice(2)]);
    await add("twice-before", [[A, { recordedAt: NOW - 2 * DAY }], ...twice(20)]);
  });

  const overview = async (name: string) => {
    const lines = (await (await acme.get(`/repos.ndjson?q=acme/${name}`)).text()).trim().split(
      "\n",
    );
    return lines.map((line) => JSON.parse(line)).find(({ repository }) =>
      repository === `acme/${name}`
    );
  };
  const digested = async (name: string) =>
    JSON.parse((await cli(`digest --repo acme/${name} --since 14d --format json`)).stdout)
      .repositories[0];

  for (const [name, [, isKnown]] of Object.entries(CASES)) {
    it(`is ${isKnown ? "known" : "not known"} in the case of ${name}, on pages and in the digest`, async () => {
      const { flakiness, flakiness_before: earlier } = await overview(name);
      assert.deepEqual([flakiness !== null, earlier], [isKnown, null]);
      const page = await (await acme.get(`/repos/acme/${name}`)).text();
      assert.equal(/<dt>Flakiness<\/dt><dd>– <small>nothing was run twice/.test(page), !isKnown);
      const { flakiness: inDigest } = await digested(name);
      assert.equal(inDigest !== null, isKnown);
      const [test = ""] = (await (await acme.get(`/tests.ndjson?repository=acme/${name}`)).text())
        .split("\n");
      const ofTest = await (await acme.get(`/tests/${JSON.parse(test).id}`)).text();
      assert.equal(
        /<dt>Flaky failures in 14 days<\/dt><dd>– <small>nothing was run twice/.test(ofTest),
        !isKnown,
      );
    });
  }

  it("gives way to broken tests in the order of repositories, and names what fails without being run twice", async () => {
    const repository = await acme.addRepository("acme", "z-broken");
    for (const index of [0, 1, 2, 3]) {
      await acme.upload(repository, failed, {
        branch: "main",
        commitOid: `d${index}`.padEnd(7, "0"),
        recordedAt: NOW - 100 + index,
      });
    }
    const orderOf = async (query: string) =>
      (await (await acme.get(`/repos.ndjson${query}`)).text()).trim().split("\n")
        .map((line) => JSON.parse(line).repository);
    assert.deepEqual((await orderOf("")).slice(0, 2), ["acme/z-broken", "acme/disruptive"]);
    assert.equal((await orderOf("?sort=flakiness"))[0], "acme/disruptive");
    const list = await (await acme.get("/repos")).text();
    const named = /href="repos\/acme\/([^"]*)#intermittent" title="nothing was run twice/g;
    const found = Array.from(list.matchAll(named), ([, name]) => name);
    assert.ok(found.includes("z-broken") && !found.includes("disruptive"), found.join());
  });

  it("has neither a figure nor a difference for a time in which nothing was run twice", async () => {
    const [now, earlier] = [await overview("twice-now"), await overview("twice-before")];
    assert.deepEqual([now.flakiness, now.flakiness_before], [0, null]);
    assert.deepEqual([earlier.flakiness, earlier.flakiness_before], [null, 0]);
    const { flakiness, flakiness_before: before } = await digested("twice-now");
    assert.deepEqual([flakiness, before], ["0%", null]);
    for (const name of ["twice-now", "twice-before"]) {
      const list = await (await acme.get(`/repos?q=acme/${name}`)).text();
      assert.doesNotMatch(list, /±0|points (more|less) than|as in the 14 days before/);
      const page = await (await acme.get(`/repos/acme/${name}`)).text();
      assert.doesNotMatch(page, /points (more|less) than|as in the 14 days before/);
    }
    const list = await (await acme.get("/repos?q=acme/twice-before")).text();
    // Two and three weeks ago it was known, this week it is not.
    assert.match(list, /by week, oldest first: (none, ){5}0 %, none, none"/);
  });
});
