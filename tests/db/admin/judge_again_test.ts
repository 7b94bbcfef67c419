import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { listChanges } from "../../../db/admin/changes.ts";
import type { Organization } from "../../../db/admin/organizations.ts";
import type { Repository } from "../../../db/admin/repositories.ts";
import { loadDisruptiveTests, storeDisruptiveTests } from "../../../db/write/disruptive_tests.ts";
import { judgeAgain } from "../../../db/admin/judge_again.ts";
import type { TestResult } from "../../../lib/report/result.ts";
import { formatTimestamp } from "../../../lib/base/time.ts";
import { commitSubmission } from "../../commit_submission.ts";
import { describeWithDatabases } from "../../database.ts";
import { newOrganization, newRepository } from "../../organizations.ts";
import { DAY, idOf, NOW, uploadOf } from "../../routes/fixture.ts";

const TEST = { suite: "unit", class: "cart", name: "adds" };
const HOOK = { suite: "unit", class: "cart", name: '"before each" hook for "adds"' };

describeWithDatabases("what earlier rules have judged", (database) => {
  let organization: Organization;
  let repository: Repository;

  before(async () => {
    organization = await newOrganization(database().sql);
  });

  /** Stores the results of jobs of one commit, as the rules of today judge them. */
  async function store(name: string, uploads: [job: string, results: Partial<TestResult>[]][]) {
    repository = await newRepository(database().sql, organization, name);
    for (const [index, [job, results]] of uploads.entries()) {
      await commitSubmission(
        database().sql,
        uploadOf(repository, results, {
          job,
          commitOid: "c".repeat(40),
          recordedAt: NOW - DAY + index,
          reportDigest: `${name} ${index}`,
        }),
      );
    }
  }

  /** Whether the failures are disruptions, and the first one by test, as other rules would have found. */
  async function judgeAs(isDisruption: boolean, firstDisruptionAt: number): Promise<void> {
    const { sql } = database();
    const { repositoryId } = repository;
    await sql`
      update negative_result set is_disruption = ${isDisruption}
      where repository_id = ${repositoryId}`;
    await sql`delete from disruptive_test where repository_id = ${repositoryId}`;
    await sql`update repository_state set rules = 0 where repository_id = ${repositoryId}`;
    if (!isDisruption) return;
    const [row] = await sql<{ testNo: number; submissionId: string; resultNo: number }[]>`
      select test_no as "testNo", encode(submission_id, 'hex') as "submissionId",
        result_no as "resultNo"
      from negative_result where repository_id = ${repositoryId}`;
    const { testNo, submissionId, resultNo } = row!;
    await storeDisruptiveTests(sql, {
      repositoryId,
      tests: [{
        testNo,
        firstDisruptionAt,
        latestSubmissionId: submissionId,
        latestResultNo: resultNo,
        latestCommitOid: "c".repeat(40),
        latestBuildUrl: "",
        latestMessage: "",
        positiveSubmissionId: submissionId,
        positiveBuildUrl: "",
      }],
    });
  }

  async function firstDisruptions(): Promise<number[]> {
    const { repositoryId } = repository;
    const tests = await loadDisruptiveTests(database().sql, { repositoryId });
    return tests.values().map(({ firstDisruptionAt }) => firstDisruptionAt).toArray();
  }

  async function linesOf(test: Partial<TestResult>) {
    const changes = await listChanges(database().sql, organization.organizationId);
    return changes.filter(({ subject }) => subject === idOf(repository, test))
      .map(({ command, detail }) => [
        command,
        detail.first_disruption_before,
        detail.first_disruption,
      ]);
  }

  const failed = { ...TEST, conclusion: "failure" as const };
  const FIRST = NOW - DAY;

  it("is no longer flaky if another job passed, with a line in the log", async () => {
    await store("jobs", [["admin", [failed]], ["shop", [TEST]]]);
    assert.deepEqual(await firstDisruptions(), []);
    await judgeAs(true, FIRST);
    assert.equal(await judgeAgain(database().sql), 1);
    assert.deepEqual(await firstDisruptions(), []);
    assert.deepEqual(await linesOf(TEST), [["migrate", formatTimestamp(FIRST), null]]);
    const [row] = await database().sql<{ count: number }[]>`
      select count(*)::int as count from negative_result
      where repository_id = ${repository.repositoryId} and is_disruption`;
    assert.equal(row!.count, 0);
    assert.equal(await judgeAgain(database().sql), 0, "once");
  });

  it("is flaky if the set-up passed in a repetition, with a line in the log", async () => {
    const hook = { ...HOOK, conclusion: "failure" as const };
    await store("hooks", [["unit", [hook]], ["unit", [TEST]]]);
    assert.deepEqual(await firstDisruptions(), [FIRST]);
    await judgeAs(false, 0);
    assert.equal(await judgeAgain(database().sql), 1);
    assert.deepEqual(await firstDisruptions(), [FIRST]);
    assert.deepEqual(await linesOf(HOOK), [["migrate", null, formatTimestamp(FIRST)]]);
  });

  it("says how far it is, as it takes long in a large repository", async () => {
    await store("progress", [["admin", [failed]], ["shop", [TEST]]]);
    await judgeAs(true, FIRST);
    const lines: unknown[] = [];
    await judgeAgain(database().sql, { onProgress: (one) => lines.push(one), progressMs: 0 });
    assert.deepEqual(lines, [{ repository: "acme/progress", judged: 1, of: 1 }]);
  });

  it("stays as it is if the same job passed, and has no line", async () => {
    await store("repeated", [["unit", [failed]], ["unit", [TEST]]]);
    await judgeAs(true, FIRST);
    assert.equal(await judgeAgain(database().sql), 0);
    assert.deepEqual(await firstDisruptions(), [FIRST]);
    assert.deepEqual(await linesOf(TEST), []);
  });

  it("keeps a first disruption that is no longer stored", async () => {
    await store("pruned", [["unit", [failed]], ["unit", [TEST]]]);
    await judgeAs(true, FIRST - 100 * DAY);
    assert.equal(await judgeAgain(database().sql), 0);
    assert.deepEqual(await firstDisruptions(), [FIRST - 100 * DAY]);
  });
});
