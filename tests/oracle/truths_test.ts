/**
 * What is true of failures depends on the stored runs alone, not on the order in which they came: after each upload
 * and deletion of a random history it is what the definition says of the runs that are there. Commits run on several
 * branches, again after others, and in shards. `deno task prove evidence 200` tries more histories.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { it } from "@std/testing/bdd";
import { deleteSubmission } from "../../db/write/delete_submission.ts";
import type { TestResult } from "../../lib/report/result.ts";
import { Random } from "../../tools/measure/bench/random.ts";
import { describeWithDatabase, describeWithDatabases } from "../database.ts";
import { checkTruthCounts } from "../db/truth_counts.ts";
import { createFixture, NOW } from "../routes/fixture.ts";

const { EVIDENCE_HISTORIES } = process.env;
const HISTORIES = Number(EVIDENCE_HISTORIES ?? 5);
/** In the gate they run on a server if there is one: what is true is decided without the database. */
const describeHistories = EVIDENCE_HISTORIES ? describeWithDatabases : describeWithDatabase;
const RUNS = 30;
/** Each is one upload per shard. */
const RUNS_IN_MANY_SHARDS = 10;
/** Of them so many are deleted again. */
const DELETED = 8;

const TESTS = ["a", "b"];
/** An unknown cause may be any. */
const CAUSES = ["timeout", "timeout", "refused", ""];

interface PlainRun {
  at: number;
  branch: string;
  commit: string;
  shard: string;
  /** The causes of failed attempts, and `null` for a pass. */
  tests: Map<string, (string | null)[]>;
}

/** Commits of main and of two branches that share some of them. */
function randomRuns(random: Random): PlainRun[] {
  const pick = <T>(values: readonly T[]): T => values[random.below(values.length)]!;
  const failureRate = pick([3, 6, 9]);
  // Many shards are more runs than are looked at first.
  const shards = Array.from({ length: pick([1, 1, 3, 45]) }, (_, index) => String(index));
  const runs: PlainRun[] = [];
  let commits = 0;
  const add = (branch: string, commit: string, shard: string) => {
    const tests = new Map<string, (string | null)[]>();
    for (const [index, name] of TESTS.entries()) {
      if (index % shards.length !== Number(shard) || random.below(7) === 0) continue;
      const failure = random.below(10) < failureRate ? pick(CAUSES) : null;
      tests.set(name, failure !== null && random.below(10) === 0 ? [failure, null] : [failure]);
    }
    if (tests.size === 0) tests.set(`other ${shard}`, [null]);
    runs.push({ at: NOW - 300_000 + runs.length, branch, commit, shard, tests });
  };
  const wanted = shards.length > 10 ? RUNS_IN_MANY_SHARDS : RUNS;
  for (let count = 0; count < wanted; count++) {
    const isAgain = commits > 0 && random.below(3) === 0;
    const number = isAgain ? random.below(commits) : commits++;
    const branch = pick(["main", "main", "fix", "other", ""]);
    const commit = `c0ffee${String(number).padStart(4, "0")}`;
    // A commit that runs again may do so in one shard.
    const own = isAgain && random.below(2) === 0 ? [pick(shards)] : shards;
    for (const shard of own) add(branch, commit, shard);
  }
  return runs;
}

const failedIn = ({ tests }: PlainRun, name: string) =>
  (tests.get(name) ?? []).some((one) => one !== null);
const passedIn = ({ tests }: PlainRun, name: string) => (tests.get(name) ?? []).includes(null);
const causesIn = ({ tests }: PlainRun, name: string) =>
  (tests.get(name) ?? []).filter((one) => one !== null && one !== "");

/** The definition, over plain runs in the order of time. */
function truthOf(runs: readonly PlainRun[], { commit }: PlainRun, name: string): string | null {
  const ran = runs.filter(({ tests }) => tests.has(name));
  const at = (code: string) => ran.filter((one) => one.commit === code);
  const passed = (code: string) => at(code).some((one) => passedIn(one, name));
  if (passed(commit)) return "not_the_change";
  if (at(commit).length >= 3) return "the_change";
  const branches = new Set(
    at(commit).map(({ branch }) => branch).filter((branch) => branch !== ""),
  );
  for (const branch of branches) {
    const versions = [
      ...new Set(ran.filter((one) => one.branch === branch).map((one) => one.commit)),
    ];
    const goesOn = (before: string | undefined, after: string | undefined) => {
      if (!before || !after || passed(before) || passed(after)) return false;
      const [causes, others] = [before, after]
        .map((code) => at(code).flatMap((one) => causesIn(one, name)));
      return causes!.length === 0 || others!.length === 0 ||
        causes!.some((cause) => others!.includes(cause));
    };
    const place = versions.indexOf(commit);
    let [start, end] = [place, place + 1];
    while (goesOn(versions[start - 1], versions[start])) start--;
    while (goesOn(versions[end - 1], versions[end])) end++;
    if (end - start >= 3) return "the_change";
  }
  return null;
}

function definition(runs: readonly PlainRun[]): string[] {
  return runs.flatMap((run, index) =>
    [...run.tests.keys()].filter((name) => failedIn(run, name)).map((name) => {
      const isRepeat = runs.slice(0, index)
        .some((one) => one.commit === run.commit && failedIn(one, name));
      return `${run.at - NOW} ${name} ${truthOf(runs, run, name)}${isRepeat ? " repeat" : ""}`;
    })
  ).sort();
}

function resultsOf({ tests }: PlainRun): Partial<TestResult>[] {
  return [...tests].flatMap(([name, attempts]) =>
    attempts.map((message) => ({
      name,
      ...message !== null && { conclusion: "failure" as const, message },
    }))
  );
}

/** The runs of the tests that can fail. */
function describeRuns(runs: readonly PlainRun[]): string {
  return runs.flatMap(({ at, branch, commit, shard, tests }) =>
    TESTS.filter((name) => tests.has(name)).map((name) =>
      `${at - NOW} ${branch} ${commit} ${shard} ${name} ${JSON.stringify(tests.get(name))}`
    )
  ).join("\n");
}

describeHistories("what is true of failures", (database) => {
  for (let seed = 1; seed <= HISTORIES; seed++) {
    it(`does not depend on the order of arrival (seed ${seed})`, async () => {
      const { sql } = database();
      const fixture = await createFixture(database(), { name: `truths-${seed}` });
      const repository = await fixture.addRepository("acme", "shop");
      const { repositoryId } = repository;
      const random = new Random(seed);
      const coming = randomRuns(random);
      const stored = new Map<PlainRun, string>();
      const stay = coming.length - DELETED;
      while (coming.length > 0 || stored.size > stay) {
        const deletes = stored.size > 0 && random.below(4) === 0 &&
          stored.size + coming.length > stay;
        let what: string;
        if (deletes || coming.length === 0) {
          const run = [...stored.keys()][random.below(stored.size)]!;
          const { organizationId } = fixture.organization;
          assert.ok(await deleteSubmission(sql, { organizationId, key: stored.get(run)! }));
          stored.delete(run);
          what = `${run.at - NOW} is deleted`;
        } else {
          // Most come in order.
          const place = random.below(3) > 0 ? 0 : random.below(coming.length);
          const [run] = coming.splice(place, 1);
          const { at: recordedAt, branch, commit: commitOid, shard } = run!;
          const { submissionId } = await fixture.upload(repository, resultsOf(run!), {
            recordedAt,
            branch: branch || null,
            commitOid,
            shard,
            job: "unit",
            environment: "linux",
            buildUrl: `https://ci.example/${recordedAt}`,
            attempt: "1",
          });
          const [row] = await sql<{ key: string }[]>`
            select key from submission
            where repository_id = ${repositoryId} and submission_id = decode(${submissionId}, 'hex')`;
          stored.set(run!, row!.key);
          what = `${recordedAt - NOW} came: ${branch} ${commitOid} ${shard}`;
        }
        const rows = await sql<{ at: number; name: string; truth: string; isRepeat: boolean }[]>`
          select extract(epoch from s.recorded_at)::float8 as at, t.name, f.truth, f.is_repeat as "isRepeat"
          from failure_evidence f
          join submission s on s.repository_id = f.repository_id and s.submission_id = f.submission_id
          join test t on t.repository_id = f.repository_id and t.test_no = f.test_no
          where f.repository_id = ${repositoryId}`;
        const found = rows.map(({ at, name, truth, isRepeat }) =>
          `${at - NOW} ${name} ${truth}${isRepeat ? " repeat" : ""}`
        ).sort();
        const runs = [...stored.keys()].sort((a, b) => a.at - b.at);
        assert.deepEqual(found, definition(runs), `${what}; ${describeRuns(runs)}`);
      }
      await checkTruthCounts(database());
    });
  }
});
