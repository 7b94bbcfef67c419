/** Loads the tests that a quarantine policy decides about, with their histories. */
import { type AttemptKind, forEachException } from "../../lib/analysis/columns.ts";
import {
  isBrokenEnvironment,
  type PolicyHistory,
  type PolicyMoment,
  type PolicyRun,
  type QuarantinePolicy,
} from "../../lib/analysis/quarantine_policy.ts";
import { activeQuarantine, type Quarantine } from "../../lib/analysis/quarantine.ts";
import { firstSubmissionId, recordedAtOf } from "../../lib/base/identity.ts";
import type { Database } from "../connection/connect.ts";
import { arrayOf, idsIn, integersIn, type Queryable } from "../connection/sql.ts";
import { quarantineColumns, selectRepository, SNAPSHOT } from "../read/fragments.ts";
import { loadTestLists } from "../read/test_lists.ts";
import { selectDisruptionCounts } from "../read/tracked_test_rows.ts";
import { type StoredTest, storedTest, testColumns, type TestRow } from "./quarantine.ts";
import { lastRemovals } from "./quarantine_log.ts";
import type { Repository } from "./repositories.ts";

/** A test with its history. */
export interface PolicyTest extends StoredTest {
  history: PolicyHistory;
}

/** Quarantine entries of a repository by test_no, ended or not. */
export async function loadEntries(
  sql: Queryable,
  repositoryId: number,
): Promise<Map<number, Quarantine>> {
  const rows = await sql<(Quarantine & { testNo: number })[]>`
    select q.test_no as "testNo", ${quarantineColumns(sql)} from quarantine q
    where q.repository_id = ${repositoryId}`;
  return new Map(rows.map(({ testNo, ...entry }) => [testNo, entry]));
}

/**
 * Loads the tests that are automatically quarantined, and those with enough disruptions that are not
 * quarantined, by id. Without any, as for most uploads, it takes two cheap statements.
 */
export async function loadPolicyTests(
  sql: Database["sql"],
  repository: Repository,
  policy: QuarantinePolicy,
  { now, windowStart, listsSetAside = false }: PolicyMoment & {
    /** Also tests whose disruptions do not count, because the environment was broken: may be many. */
    listsSetAside?: boolean;
  },
): Promise<{ tests: PolicyTest[]; automaticCount: number }> {
  const { organizationId, repositoryId } = repository;
  return await sql.begin(SNAPSHOT, async (tx) => {
    // Plans the following statements for their parameters.
    await selectRepository(tx, repositoryId);
    const windowId = firstSubmissionId(windowStart);
    const entries = await loadEntries(tx, repositoryId);
    const entryOf = (testNo: number) => activeQuarantine(entries.get(testNo) ?? null, now);
    const automatic = [...entries.keys()].filter((testNo) =>
      entryOf(testNo)?.quarantineType === "automatic"
    );
    const automaticCount = automatic.length;
    const scope = { repositoryIds: arrayOf([repositoryId]), firstId: windowId };
    const counts = new Map(
      (await selectDisruptionCounts(tx, scope))
        .map(({ testNo, disruptionCount }) => [testNo, disruptionCount]),
    );
    const testNos = () => {
      const disruptive = [...counts].filter(([testNo, count]) =>
        count >= policy.disruptions && entryOf(testNo) === null
      );
      return new Set([...automatic, ...disruptive.map(([testNo]) => testNo)]);
    };
    if (testNos().size === 0) return { tests: [], automaticCount };

    const failures = await lastFailures(tx, repositoryId, automatic);
    const starts = automatic.map((testNo) =>
      failures.get(testNo) ?? firstSubmissionId(entries.get(testNo)!.quarantinedAt)
    );
    const firstId = [windowId, ...starts].sort()[0]!;
    const submissions = await loadSubmissions(tx, { repositoryId, firstId });
    // After a day of a broken environment, most tests have disruptions that do not count.
    const broken = submissions.filter((one) => one.isBrokenEnvironment && one.id >= windowId);
    if (broken.length > 0 && !listsSetAside) {
      const ids = idsIn(tx, broken.map(({ id }) => id));
      const uncounted = await tx<{ testNo: number; count: number }[]>`
        select test_no as "testNo", count(*)::int as count from negative_result
        where repository_id = ${repositoryId} and submission_id = any(${ids}) and is_disruption
        group by test_no`;
      for (const { testNo, count } of uncounted) counts.set(testNo, counts.get(testNo)! - count);
    }
    const rows = await tx<TestRow[]>`
      select ${testColumns(tx)} from test t
      where t.repository_id = ${repositoryId} and t.test_no = any(${integersIn(tx, testNos())})`;
    const tests = rows.map((row) => storedTest(repository, row));
    const runs = await loadRuns(tx, { repositoryId, testNos: testNos(), windowId, submissions });
    const removals = await lastRemovals(tx, {
      organizationId,
      testIds: tests.map(({ id }) => id),
    });
    const found = tests.map((test): PolicyTest => {
      const { id, testNo } = test;
      const quarantine = entryOf(testNo);
      const endedAt = quarantine ? 0 : entries.get(testNo)?.quarantineExpiresAt ?? 0;
      const leftAt = Math.max(removals.get(id) ?? 0, endedAt);
      return { ...test, history: { runs: runs.get(testNo)!, quarantine, leftAt } };
    });
    return { tests: found.sort((a, b) => a.id < b.id ? -1 : 1), automaticCount };
  });
}

/** The submission of the latest failure of each test, 24 hex digits, by test_no. */
async function lastFailures(
  sql: Queryable,
  repositoryId: number,
  testNos: number[],
): Promise<Map<number, string>> {
  const rows = await sql<{ testNo: number; submissionId: string }[]>`
    select test_no as "testNo", max(encode(submission_id, 'hex') collate "C") as "submissionId"
    from negative_result
    where repository_id = ${repositoryId} and test_no = any(${integersIn(sql, testNos)})
    group by test_no`;
  return new Map(rows.map(({ testNo, submissionId }) => [testNo, submissionId]));
}

/** A submission with the outcomes of its tests. */
interface Submission {
  /** 24 hex digits. */
  id: string;
  codeVersion: string;
  isBrokenEnvironment: boolean;
  /** Tests (test_no) in the order of the list. */
  list: Int32Array;
  /** Attempts of the tests that did not pass once, by position in the list. */
  exceptions: Map<number, readonly AttemptKind[]>;
}

/** The processed submissions from an id on, oldest first. */
async function loadSubmissions(
  sql: Queryable,
  { repositoryId, firstId }: { repositoryId: number; firstId: string },
): Promise<Submission[]> {
  const rows = await sql<
    { id: string; codeVersion: string; testListNo: number; exceptions: Uint8Array }[]
  >`
    select encode(submission_id, 'hex') as id, code_version as "codeVersion",
      test_list_no as "testListNo", exceptions
    from submission
    where repository_id = ${repositoryId} and status = 'processed'
      and submission_id >= decode(${firstId}, 'hex')
    order by submission_id`;
  const testListNos = new Set(rows.map(({ testListNo }) => testListNo));
  const lists = await loadTestLists(sql, { repositoryId, testListNos });
  return rows.map(({ testListNo, exceptions: encoded, ...row }) => {
    const list = lists.get(testListNo)!;
    const exceptions = new Map<number, readonly AttemptKind[]>();
    let testCount = list.length;
    let failedTestCount = 0;
    forEachException(encoded, (index, counts, kinds) => {
      exceptions.set(index, kinds);
      if (counts.negative > 0) failedTestCount++;
      else if (counts.positive === 0) testCount--;
    });
    const isBroken = isBrokenEnvironment({ testCount, failedTestCount });
    return { ...row, list, exceptions, isBrokenEnvironment: isBroken };
  });
}

/** The runs of tests in submissions, oldest first, by test_no. */
async function loadRuns(
  sql: Queryable,
  { repositoryId, testNos, windowId, submissions }: {
    repositoryId: number;
    testNos: ReadonlySet<number>;
    /** First submission id of the window: disruptions before it do not count. */
    windowId: string;
    submissions: readonly Submission[];
  },
): Promise<Map<number, PolicyRun[]>> {
  const disruptions = await sql<{ id: string; testNo: number }[]>`
    select distinct encode(submission_id, 'hex') as id, test_no as "testNo" from negative_result
    where repository_id = ${repositoryId} and submission_id >= decode(${windowId}, 'hex')
      and is_disruption and test_no = any(${integersIn(sql, testNos)})`;
  const disrupted = new Set(disruptions.map(({ id, testNo }) => id + testNo));
  /** Positions of the tests in each list. */
  const positions = new Map<Int32Array, number[]>();
  const runs = new Map<number, PolicyRun[]>([...testNos].map((testNo) => [testNo, []]));
  for (const { id, list, exceptions, codeVersion, isBrokenEnvironment } of submissions) {
    let own = positions.get(list);
    if (!own) {
      own = [...list.keys()].filter((index) => testNos.has(list[index]!));
      positions.set(list, own);
    }
    const run = { recordedAt: recordedAtOf(id), codeVersion, isBrokenEnvironment };
    // Shared by all tests that simply passed.
    const passed: PolicyRun = { ...run, results: [true], isDisrupted: false };
    for (const index of own) {
      const testNo = list[index]!;
      const kinds = exceptions.get(index);
      const results = kinds?.filter((kind) => kind === "positive" || kind === "negative")
        .map((kind) => kind === "positive");
      const isDisrupted = disrupted.has(id + testNo);
      if (!results) runs.get(testNo)!.push(passed);
      else if (results.length > 0) runs.get(testNo)!.push({ ...run, results, isDisrupted });
    }
  }
  return runs;
}
