/** `evidence.ts`: what is stored with the failures of an upload, and what later runs show of them. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "@std/testing/bdd";
import type { Repository } from "../../../db/admin/repositories.ts";
import type { Upload } from "../../../db/write/store_submission.ts";
import { deleteSubmission } from "../../../db/write/delete_submission.ts";
import { TESTS_AT_ONCE } from "../../../lib/analysis/new_negatives.ts";
import { describeWithDatabase } from "../../database.ts";
import { checkTruthCounts } from "../truth_counts.ts";
import { createFixture, DAY, type Fixture, NOW } from "../../routes/fixture.ts";

const MINUTE = 60;

describeWithDatabase("the evidence of an upload", (database) => {
  let fixture: Fixture;
  let repository: Repository;
  let count = 0;
  let minute = 0;

  beforeEach(async () => {
    fixture = await createFixture(database(), { name: `evidence-${++count}` });
    repository = await fixture.addRepository("acme", "shop");
    minute = 0;
  });

  afterEach(() => checkTruthCounts(database()));

  /** Uploads a run: each test with a message failed with it. Each is a minute later, at new code. */
  function upload(tests: Record<string, string | null>, more: Partial<Upload> = {}) {
    const attempts = Object.entries(tests).map(([name, message]) => [name, [message]]);
    return uploadAttempts(Object.fromEntries(attempts), more);
  }

  /** As `upload`, with all attempts of each test. */
  async function uploadAttempts(
    tests: Record<string, (string | null)[]>,
    more: Partial<Upload> = {},
  ) {
    const number = ++minute;
    const results = Object.entries(tests).flatMap(([name, messages]) =>
      messages.map((message) => ({
        name,
        ...message !== null && { conclusion: "failure" as const, message },
      }))
    );
    return await fixture.upload(repository, results, {
      recordedAt: NOW - DAY + number * MINUTE,
      commitOid: `c${String(number).padStart(7, "0")}`,
      branch: "main",
      job: "unit",
      buildUrl: `https://ci.example.com/${number}`,
      ...more,
    });
  }

  async function evidenceOf({ submissionId }: { submissionId: string }) {
    const rows = await database().sql<{ name: string; evidence: string; truth: string | null }[]>`
      select t.name, f.evidence, f.truth
      from failure_evidence f join test t using (repository_id, test_no)
      where f.repository_id = ${repository.repositoryId}
        and f.submission_id = decode(${submissionId}, 'hex')
      order by t.name`;
    return Object.fromEntries(rows.map(({ name, evidence, truth }) => [name, [evidence, truth]]));
  }

  async function passes(runs: number, names = ["a"]) {
    for (let run = 0; run < runs; run++) {
      await upload(Object.fromEntries(names.map((name) => [name, null])));
    }
  }

  const MINE = { branch: "mine" };

  /** In the merge queue. */
  const queueOf = (pullNumber: number, id = "1d338b37") => ({
    branch: `gh-readonly-queue/main/pr-${pullNumber}-${id}`,
    queueBase: "main",
  });

  it("is `first` after twenty passes on the base branch, and not the change once it passes", async () => {
    await passes(20);
    const failed = await upload({ a: "broken" }, { ...MINE, commitOid: "aaaaaaa1" });
    assert.deepEqual(await evidenceOf(failed), { a: ["first", null] });
    await upload({ a: null }, { ...MINE, commitOid: "aaaaaaa1" });
    assert.deepEqual(await evidenceOf(failed), { a: ["first", "not_the_change"] });
  });

  it("is `first` after twenty passes, even if the test always fails in another environment", async () => {
    for (let run = 0; run < 20; run++) {
      const commitOid = `eeeeee${10 + run}`;
      await upload({ a: null }, { environment: "linux", commitOid });
      await upload({ a: "broken" }, { environment: "windows", commitOid });
    }
    const linux = await upload({ a: "broken" }, { ...MINE, environment: "linux" });
    assert.deepEqual(await evidenceOf(linux), { a: ["first", null] });
    const windows = await upload({ a: "broken" }, { ...MINE, environment: "windows" });
    assert.equal((await evidenceOf(windows)).a![0], "fails_on_base");
  });

  it("is not `fails_on_base` by its own branch, or perhaps its own, where that is only guessed to be the base branch", async () => {
    const own = { branch: "feature-x" };
    await upload({ a: null }, own);
    await upload({ a: "broken" }, own);
    const second = await upload({ a: "broken" }, own);
    assert.deepEqual(await evidenceOf(second), { a: ["few", null] });
    await upload({ a: null }, own);
    const oneAfterAPass = await upload({ a: "broken" }, own);
    assert.deepEqual(await evidenceOf(oneAfterAPass), { a: ["few", null] });
    const unknown = await upload({ a: "broken" }, { branch: "" });
    assert.deepEqual(await evidenceOf(unknown), { a: ["few", null] });
    const other = await upload({ a: "broken" }, { branch: "feature-y" });
    assert.deepEqual(await evidenceOf(other), { a: ["fails_on_base", null] });
    await database().sql`
      update repository set default_branch = 'feature-x'
      where repository_id = ${repository.repositoryId}`;
    const known = await upload({ a: "broken" }, own);
    assert.equal((await evidenceOf(known)).a![0], "fails_on_base");
  });

  it("is `passed_here` after a pass in the same build, where attempts are unknown, and not of a known attempt", async () => {
    await passes(20);
    const build = (number: number) => ({
      ...MINE,
      commitOid: `aaaaaaa${number}`,
      buildUrl: `https://ci.example.com/build-${number}`,
    });
    await upload({ a: null }, build(1));
    const again = await upload({ a: "broken" }, build(1));
    assert.deepEqual(await evidenceOf(again), { a: ["passed_here", "not_the_change"] });
    await upload({ a: null }, { ...build(2), attempt: "1" });
    const sameAttempt = await upload({ a: "broken" }, { ...build(2), attempt: "1" });
    assert.deepEqual(await evidenceOf(sameAttempt), { a: ["first", null] });
  });

  it("and disruptions of more failures than are handled at once are those of each test", async () => {
    const count = TESTS_AT_ONCE + 10;
    const names = Array.from({ length: count }, (_, number) => `test ${number}`);
    const isStable = (number: number) => number % 100 !== 0;
    const run = (message: (number: number) => string | null) =>
      Object.fromEntries(names.map((name, number) => [name, message(number)]));
    const code = { ...MINE, job: "", commitOid: "aaaaaaa1" };
    const first = await upload(run((number) => `broken ${number}`), code);
    const second = await upload(
      run((number) => isStable(number) ? `broken ${number}` : null),
      code,
    );
    const flaky = names.filter((_, number) => !isStable(number));
    assert.deepEqual(second.newlyDisruptive.map(({ name }) => name).sort(), flaky.toSorted());
    assert.equal(second.newDisruptions.length, flaky.length);
    const evidence = Object.entries(await evidenceOf(first));
    const resolved = evidence.filter(([, [, truth]]) => truth !== null);
    assert.equal(evidence.length, count);
    assert.deepEqual(
      resolved.map(([name, [, truth]]) => `${name}: ${truth}`).sort(),
      flaky.map((name) => `${name}: not_the_change`).sort(),
    );
    assert.equal(Object.keys(await evidenceOf(second)).length, count - flaky.length);
  });

  it("rests on the latest 10,000 failures of a test: one that is broken for months is not read whole", async () => {
    const code = (days: number) => ({ recordedAt: NOW - days * DAY });
    await upload({ a: "seen before" }, code(80));
    await passes(10);
    const other = Array(9_999).fill("something else");
    await uploadAttempts({ a: other }, code(40));
    const seen = await upload({ a: "seen before" }, MINE);
    assert.deepEqual(await evidenceOf(seen), { a: ["seen_elsewhere", null] });
    const { organizationId } = fixture.organization;
    await deleteSubmission(database().sql, { organizationId, key: seen.key });
    await upload({ a: "something else" }, code(20));
    const forgotten = await upload({ a: "seen before" }, MINE);
    assert.deepEqual(await evidenceOf(forgotten), { a: ["new_cause", null] });
  });

  it("is the change after two more runs without a pass; a pass that is deleted no longer counts", async () => {
    const code = { ...MINE, commitOid: "aaaaaaa1" };
    const failed = await upload({ a: "broken" }, code);
    await upload({ a: "broken" }, code);
    assert.deepEqual(await evidenceOf(failed), { a: ["new_test", null] });
    await upload({ a: "broken" }, code);
    assert.deepEqual(await evidenceOf(failed), { a: ["new_test", "the_change"] });
    const { key } = await upload({ a: null }, code);
    assert.deepEqual(await evidenceOf(failed), { a: ["new_test", "not_the_change"] });
    const { organizationId } = fixture.organization;
    await deleteSubmission(database().sql, { organizationId, key });
    assert.deepEqual(await evidenceOf(failed), { a: ["new_test", "the_change"] });
  });

  it("is the change from the first of three code versions on, until one of them passes", async () => {
    await passes(1);
    const first = await upload({ a: "broken" }, MINE);
    const second = await upload({ a: "broken" }, { ...MINE, commitOid: "aaaaaaa2" });
    assert.deepEqual(await evidenceOf(first), { a: ["few", null] });
    await upload({ a: "broken" }, MINE);
    assert.deepEqual(await evidenceOf(first), { a: ["few", "the_change"] });
    await upload({ a: null }, { ...MINE, commitOid: "aaaaaaa2" });
    assert.deepEqual(await evidenceOf(second), { a: ["few", "not_the_change"] });
    assert.deepEqual(await evidenceOf(first), { a: ["few", null] });
  });

  it("is not the change at once after a retry that passed, which ends a stretch if it is uploaded late", async () => {
    const retried = { a: ["broken", null] };
    const runs = [];
    for (const branch of ["main", "mine", "main", "main"]) {
      minute += 10;
      runs.push(await upload({ a: "broken" }, { branch }));
    }
    assert.deepEqual(await evidenceOf(runs[0]!), { a: ["new_test", "the_change"] });
    const elsewhere = await uploadAttempts(retried, { branch: "mine" });
    assert.deepEqual(await evidenceOf(elsewhere), { a: ["passed_here", "not_the_change"] });
    assert.deepEqual(await evidenceOf(runs[0]!), { a: ["new_test", "the_change"] });
    const late = NOW - DAY + (minute - 5) * MINUTE;
    const between = await uploadAttempts(retried, { recordedAt: late });
    assert.deepEqual(await evidenceOf(between), { a: ["passed_here", "not_the_change"] });
    assert.deepEqual(await evidenceOf(runs[0]!), { a: ["new_test", null] });
    assert.deepEqual(await evidenceOf(runs[3]!), { a: ["fails_on_base", null] });
  });

  it("is open again once a pass between the code versions is uploaded late, until that is deleted", async () => {
    await passes(1);
    const runs: { submissionId: string }[] = [];
    for (const _ of [1, 2, 3]) {
      minute += 10;
      runs.push(await upload({ a: "broken", b: "broken" }));
    }
    const truths = () => Promise.all(runs.map(async (run) => (await evidenceOf(run)).a![1]));
    assert.deepEqual(await truths(), ["the_change", "the_change", "the_change"]);
    const recordedAt = NOW - DAY + (minute - 5) * MINUTE;
    const { key } = await upload({ a: null }, { recordedAt });
    assert.deepEqual(await truths(), [null, null, null]);
    assert.deepEqual((await evidenceOf(runs[0]!)).b![1], "the_change");
    // Another run of code that ran without the test, as another shard does.
    const other = { recordedAt: recordedAt + MINUTE, commitOid: "aaaaaaa3" };
    await upload({ c: null }, other);
    const shard = await upload({ b: null }, { ...other, recordedAt: recordedAt + 2 * MINUTE });
    assert.deepEqual((await evidenceOf(runs[0]!)).b![1], null);
    const { organizationId } = fixture.organization;
    for (const one of [key, shard.key]) {
      await deleteSubmission(database().sql, { organizationId, key: one });
    }
    assert.deepEqual(await truths(), ["the_change", "the_change", "the_change"]);
    assert.deepEqual((await evidenceOf(runs[0]!)).b![1], "the_change");
  });

  it("is the change if three code versions of one branch failed, whatever others did with the last", async () => {
    await passes(1);
    const [first, , third] = [
      await upload({ a: "broken" }),
      await upload({ a: "broken" }),
      await upload({ a: "broken" }, { commitOid: "aaaaaaa1" }),
    ];
    const onMine = await upload({ a: "broken" }, { ...MINE, commitOid: "aaaaaaa1" });
    await upload({ a: "broken" }, MINE);
    assert.deepEqual((await evidenceOf(third!)).a![1], "the_change");
    assert.deepEqual((await evidenceOf(onMine)).a![1], "the_change");
    const { organizationId } = fixture.organization;
    await deleteSubmission(database().sql, { organizationId, key: first!.key });
    assert.deepEqual((await evidenceOf(onMine)).a![1], null);
  });

  it("is not the change after three code versions that failed for different causes", async () => {
    await passes(1);
    const runs = [];
    for (const message of ["timeout", "refused", "timeout"]) {
      runs.push(await upload({ a: message }, MINE));
    }
    assert.deepEqual((await evidenceOf(runs[0]!)).a?.[1], null);
    await upload({ a: "timeout" }, MINE);
    const third = await upload({ a: "timeout" }, MINE);
    assert.deepEqual((await evidenceOf(third)).a?.[1], "the_change");
    assert.deepEqual((await evidenceOf(runs[2]!)).a?.[1], "the_change");
    assert.deepEqual((await evidenceOf(runs[1]!)).a?.[1], null);
  });

  it("is a new cause if the test fails for other causes on the base branch", async () => {
    await upload({ a: "timeout" });
    await passes(2);
    assert.deepEqual(await evidenceOf(await upload({ a: "TypeError" }, MINE)), {
      a: ["new_cause", null],
    });
    assert.deepEqual(await evidenceOf(await upload({ a: "timeout" }, MINE)), {
      a: ["seen_elsewhere", null],
    });
  });

  it("counts failures among the runs that it is compared with: of the job and the environment", async () => {
    const [linux, windows] = [{ environment: "linux" }, { environment: "windows" }];
    await upload({ a: "timeout" }, linux);
    await upload({ a: null }, linux);
    for (const message of ["timeout", "timeout", null]) await upload({ a: message }, windows);
    const countsOf = async ({ submissionId }: { submissionId: string }) => {
      const rows = await database().sql<{ counts: string }[]>`
        select concat_ws(' ', evidence, base_failed_count, base_run_count) as counts
        from failure_evidence where submission_id = decode(${submissionId}, 'hex')`;
      return rows[0]!.counts;
    };
    const mine = { ...MINE, ...linux };
    assert.equal(await countsOf(await upload({ a: "timeout" }, mine)), "seen_elsewhere 1 2");
    const other = { branch: "other", job: "race" };
    assert.equal(await countsOf(await upload({ a: "timeout" }, other)), "seen_elsewhere 3 5");
    for (let run = 0; run < 2; run++) await upload({ a: null }, { ...other, branch: "main" });
    const third = { ...other, branch: "third" };
    assert.equal(await countsOf(await upload({ a: "timeout" }, third)), "seen_elsewhere 0 2");
  });

  it("is not that its own pull request failed, under whatever branch", async () => {
    await passes(21);
    const own = { pullNumber: 7 };
    await upload({ a: "broken" }, { ...own, branch: "feat" });
    const renamed = await upload({ a: "broken" }, { ...own, branch: "feat-2" });
    assert.deepEqual(await evidenceOf(renamed), { a: ["first", null] });
    const queued = await upload({ a: "broken" }, { ...own, ...queueOf(7) });
    assert.deepEqual(await evidenceOf(queued), { a: ["first", null] });
    const afterwards = await upload({ a: "broken" }, { ...own, branch: "feat-3" });
    assert.deepEqual(await evidenceOf(afterwards), { a: ["first", null] });
    const other = await upload({ a: "broken" }, { pullNumber: 8, branch: "other" });
    assert.deepEqual(await evidenceOf(other), { a: ["seen_elsewhere", null] });
    const again = await upload({ a: "broken" }, { ...own, ...queueOf(7, "again") });
    assert.deepEqual(await evidenceOf(again), { a: ["first", null] }, "it went on failing");
    await upload({ a: null }, { ...own, branch: "feat-3" });
    const flaky = await upload({ a: "broken" }, { ...own, ...queueOf(7, "third") });
    assert.deepEqual(await evidenceOf(flaky), { a: ["seen_elsewhere", null] });
  });

  it("is that the latest run on the base branch failed, or one of its merge queue whose code came there", async () => {
    await upload({ a: "broken" }, { ...queueOf(1), commitOid: "aaaaaaa1" });
    const rejected = await upload({ a: "broken" }, MINE);
    assert.deepEqual(await evidenceOf(rejected), { a: ["seen_elsewhere", null] });
    await upload({ b: null }, { commitOid: "aaaaaaa1" });
    const merged = await upload({ a: "broken" }, { branch: "other" });
    assert.deepEqual(await evidenceOf(merged), { a: ["fails_on_base", null] });
    await upload({ a: null }, queueOf(2));
    const passed = await upload({ a: "broken" }, { branch: "third" });
    assert.deepEqual(await evidenceOf(passed), { a: ["seen_elsewhere", null] });
  });

  it("is no outage because its own pull request has it under another branch", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `t${index}`);
    await passes(1, names);
    const broken = Object.fromEntries(names.map((name) => [name, "refused"]));
    await upload(broken, { branch: "feat", pullNumber: 7 });
    const queued = await evidenceOf(await upload(broken, { pullNumber: 7, ...queueOf(7) }));
    assert.deepEqual(queued.t0, ["together", null]);
  });

  it("does not include a pass in another unnamed leg, or in another shard", async () => {
    await passes(21);
    const code = {
      ...MINE,
      commitOid: "aaaaaaa1",
      buildUrl: "https://ci.example.com/b",
      attempt: "1",
    };
    await upload({ a: null, b: null }, code);
    const leg = await upload({ a: "broken", b: null }, code);
    const again = await upload({ a: "broken", b: null }, { ...code, attempt: "2" });
    assert.deepEqual(await evidenceOf(again), { a: ["first", null] });
    assert.deepEqual(await evidenceOf(leg), { a: ["first", null] }, "not even afterwards");

    const inShard = (conclusion: "passing" | "failure", more: Partial<Upload>) =>
      fixture.upload(repository, [{ name: "z", file: "", conclusion, message: "broken" }], {
        ...{ branch: "mine", job: "unit", commitOid: "aaaaaaa2", recordedAt: NOW - DAY / 2 },
        ...more,
      });
    await inShard("passing", { shard: "1/2", buildUrl: "https://ci.example.com/c", attempt: "1" });
    const other = await inShard("failure", {
      shard: "2/2",
      buildUrl: "https://ci.example.com/d",
      attempt: "1",
      recordedAt: NOW - DAY / 2 + 1,
    });
    assert.deepEqual(await evidenceOf(other), { z: ["new_test", null] });
  });

  it("of a set-up is that it passed where tests of its file ran, once it is known", async () => {
    const hook = "beforeEach hook";
    await passes(21);
    const code = { ...MINE, commitOid: "aaaaaaa1" };
    const failed = await upload({ [hook]: "no storage" }, code);
    assert.deepEqual(await evidenceOf(failed), { [hook]: ["new_test", null] });
    await upload({ a: null }, code);
    assert.deepEqual(await evidenceOf(failed), { [hook]: ["new_test", "not_the_change"] });
    const again = await upload({ [hook]: "no storage" }, code);
    assert.deepEqual(await evidenceOf(again), { [hook]: ["passed_here", "not_the_change"] });
  });

  it("of a set-up that fails now and then is not that three code versions failed", async () => {
    const hook = "beforeEach hook";
    const runs = [];
    for (let version = 0; version < 3; version++) {
      runs.push(await upload({ [hook]: "no storage" }));
      await passes(1);
    }
    assert.deepEqual(await evidenceOf(runs[0]!), { [hook]: ["new_test", null] });
    assert.deepEqual(await evidenceOf(runs[2]!), { [hook]: ["seen_elsewhere", null] });
  });

  it("is not an outage if the other branch has the same code", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `t${index}`);
    await passes(1, names);
    const broken = Object.fromEntries(names.map((name) => [name, "refused"]));
    await upload(broken, { ...MINE, commitOid: "aaaaaaa1" });
    const merged = await evidenceOf(await upload(broken, { commitOid: "aaaaaaa1" }));
    assert.deepEqual(merged.t0, ["together", null]);
  });

  it("is not that it was broken on the base branch, where twenty runs passed since it was repaired", async () => {
    await upload({ a: "slow" });
    await passes(1);
    for (let run = 0; run < 3; run++) await upload({ a: "broken" });
    await upload({ a: "broken" }, { branch: "theirs" });
    await upload({ a: "broken" });
    await passes(19);
    const early = await upload({ a: "broken" }, MINE);
    assert.equal((await evidenceOf(early)).a![0], "seen_elsewhere");
    const { organizationId } = fixture.organization;
    await deleteSubmission(database().sql, { organizationId, key: early.key });
    await passes(1);
    const reverted = await upload({ a: "broken" }, MINE);
    assert.deepEqual(await evidenceOf(reverted), { a: ["new_cause", null] });
    const slow = await upload({ a: "slow" }, { branch: "another" });
    assert.equal((await evidenceOf(slow)).a![0], "seen_elsewhere");
  });

  it("is not that it failed at the same commit, where only one of the two runs has a tree", async () => {
    await passes(21);
    const code = { commitOid: "aaaaaaa1" };
    await upload({ a: "broken" }, code);
    const withTree = await upload({ a: "broken" }, {
      ...code,
      treeOid: "bbbbbbb1",
      branch: "mine",
    });
    assert.deepEqual(await evidenceOf(withTree), { a: ["few", null] });
    const onOtherTree = await upload({ a: "broken" }, {
      ...code,
      treeOid: "bbbbbbb2",
      branch: "mine",
    });
    assert.deepEqual(await evidenceOf(onOtherTree), { a: ["few", null] });
    const withoutTree = await upload({ a: "broken" }, { ...code, branch: "theirs" });
    assert.deepEqual(await evidenceOf(withoutTree), { a: ["few", null] });
    const abbreviated = { commitOid: "AAAAAAA1AAAA", branch: "abbreviated" };
    assert.deepEqual(await evidenceOf(await upload({ a: "broken" }, abbreviated)), {
      a: ["few", null],
    });
    const later = await upload({ a: "broken" }, { commitOid: "aaaaaaa2", branch: "theirs" });
    assert.deepEqual((await evidenceOf(later)).a![0], "fails_on_base");
  });

  it("does not count failures on an unknown branch, which may be this one", async () => {
    await passes(21);
    await upload({ a: "broken" }, { branch: null });
    assert.deepEqual(await evidenceOf(await upload({ a: "broken" }, MINE)), { a: ["first", null] });
  });

  it("is that many tests failed together, and an outage only if another branch has their causes", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `t${index}`);
    await passes(1, names);
    const broken = Object.fromEntries(names.map((name) => [name, "refused"]));
    const own = await evidenceOf(await upload(broken, MINE));
    assert.deepEqual(own.t0, ["together", null]);
    const again = await evidenceOf(await upload(broken, MINE));
    assert.deepEqual(again.t0, ["together", null], "its own branch is no witness");
    const other = await evidenceOf(await upload(broken, { branch: "other" }));
    assert.deepEqual(other.t0, ["outage", null]);
  });

  async function isOutage({ submissionId }: { submissionId: string }) {
    const [row] = await database().sql<{ isOutage: boolean }[]>`
      select is_outage as "isOutage" from submission
      where repository_id = ${repository.repositoryId}
        and submission_id = decode(${submissionId}, 'hex')`;
    return row!.isOutage;
  }

  const MANY = Array.from({ length: 20 }, (_, index) => `t${index}`);
  const ALL_REFUSED = Object.fromEntries(MANY.map((name) => [name, "refused"]));

  it("is an outage on the base branch only if two other changes have it: one may be what was merged", async () => {
    await passes(1, MANY);
    await upload(ALL_REFUSED, { branch: "feat", pullNumber: 7 });
    await upload(ALL_REFUSED, { branch: "feat" });
    await upload(ALL_REFUSED, { branch: "feat-2", pullNumber: 7 });
    const merged = await upload(ALL_REFUSED);
    assert.deepEqual((await evidenceOf(merged)).t0, ["together", null]);
    const next = await upload(ALL_REFUSED);
    assert.equal(await isOutage(next), false, "its own branch is no witness");
    const other = await upload(ALL_REFUSED, { branch: "other", pullNumber: 8 });
    assert.equal(await isOutage(other), true, "the base branch and a pull request have it");
    assert.equal(await isOutage(await upload(ALL_REFUSED)), true, "two pull requests have it");
    assert.deepEqual([await isOutage(merged), await isOutage(next)], [false, false]);
  });

  it("is no outage because a few tests of another branch failed with a common message", async () => {
    await passes(1, MANY);
    const few = Object.fromEntries(MANY.map((name, index) => [name, index < 4 ? "refused" : null]));
    await upload(few, { branch: "other" });
    await upload({ t0: "refused" }, { branch: "other", job: "small" });
    assert.deepEqual((await evidenceOf(await upload(ALL_REFUSED, MINE))).t9, ["together", null]);
    await upload({ ...few, t4: "refused" }, { branch: "other" });
    assert.deepEqual((await evidenceOf(await upload(ALL_REFUSED, MINE))).t9, ["outage", null]);
  });

  it("is no outage if the job of the other branch ran without a mass failure since", async () => {
    await passes(1, MANY);
    await upload(ALL_REFUSED, { branch: "other" });
    assert.equal(await isOutage(await upload(ALL_REFUSED, MINE)), true);
    await upload({ t0: null }, { branch: "other", job: "lint" });
    assert.equal(await isOutage(await upload(ALL_REFUSED, { branch: "third" })), true);
    for (const branch of ["other", "mine", "third"]) {
      await upload(Object.fromEntries(MANY.map((name) => [name, null])), { branch });
    }
    assert.equal(await isOutage(await upload(ALL_REFUSED, { branch: "fourth" })), false);
  });

  it("is no outage for a run on an unknown branch because of a base branch that is only guessed", async () => {
    await upload(ALL_REFUSED, { branch: "feature-x" });
    const unknown = await upload(ALL_REFUSED, { branch: "" });
    assert.deepEqual((await evidenceOf(unknown)).t0, ["together", null]);
  });

  it("is no outage on the base branch because of its merge queue, and one in the queue because of the base", async () => {
    await passes(1, MANY);
    const commitOid = "aaaaaaa1";
    await upload(ALL_REFUSED, { branch: "feat", pullNumber: 7 });
    const queued = await upload(ALL_REFUSED, { ...queueOf(7), pullNumber: 7, commitOid });
    assert.equal(await isOutage(queued), false);
    const rejected = await upload(ALL_REFUSED, { ...queueOf(8), pullNumber: 8 });
    assert.equal(await isOutage(rejected), true, "another pull request");
    await upload(ALL_REFUSED, { commitOid });
    assert.equal(await isOutage(await upload(ALL_REFUSED)), false);
    const later = await upload(ALL_REFUSED, { ...queueOf(7, "again"), pullNumber: 7 });
    assert.equal(await isOutage(later), true, "the base branch");
  });

  it("is no outage on the base branch for a cause that only one other change had", async () => {
    await passes(1, MANY);
    const broken = { ...ALL_REFUSED, t0: "own fault" };
    await upload(broken, { branch: "feat", pullNumber: 7 });
    await upload(ALL_REFUSED, { branch: "other", pullNumber: 8 });
    const evidence = await evidenceOf(await upload(broken));
    assert.deepEqual(evidence.t1, ["outage", null]);
    assert.deepEqual(evidence.t0, ["few", null]);
  });

  it("is not stored where nothing failed", async () => {
    await passes(1);
    const [row] = await database().sql<{ count: number }[]>`
      select count(*)::int as count from failure_evidence
      where repository_id = ${repository.repositoryId}`;
    assert.equal(row!.count, 0);
  });
});
