import { decodeTestList, finalOutcomesAt } from "../../lib/analysis/columns.ts";
import { splitFingerprints } from "../../lib/analysis/failure_groups.ts";
import { testId, type TestIdentity } from "../../lib/base/identity.ts";
import { idsIn, integersIn, type Queryable } from "../connection/sql.ts";

/** A test that failed in a build. */
export interface BuildFailure extends TestIdentity {
  /** 24 hex digits. */
  testId: string;
  /** Whether its latest attempt in the build failed; skips do not count. */
  isFailed: boolean;
  /** Whether a failure of it in the build is a disruption. */
  isDisruption: boolean;
  /** Text of its latest failure, for {@linkcode loadFailureTexts}. */
  textId: string;
  /** Fingerprints of all its failures in the build; some may repeat. */
  causes: string[];
}

/**
 * The tests that failed in any of the submissions of a build, in the order of their names. Of several
 * submissions of one job in one environment the latest in which a test ran decides: a job that was run
 * again and passed is not red, but one that failed on Windows is, whatever passed on Linux.
 */
export async function loadBuildFailures(
  tx: Queryable,
  { repositoryId, idPrefix, submissionIds }: {
    repositoryId: number;
    idPrefix: number;
    /** 24 hex digits each. */
    submissionIds: readonly string[];
  },
): Promise<BuildFailure[]> {
  const [negatives, parts] = await Promise.all([
    // The latest failure of each test, by submission and place in it.
    tx<{ testNo: number; textId: string; isDisruption: boolean; causes: string }[]>`
      select distinct on (test_no) test_no as "testNo", encode(text_id, 'hex') as "textId",
        bool_or(is_disruption) over (partition by test_no) as "isDisruption",
        encode(string_agg(fingerprint || coalesce(other_fingerprints, ''), '')
          over (partition by test_no), 'hex') as causes
      from negative_result
      where repository_id = ${repositoryId} and submission_id = any(${idsIn(tx, submissionIds)})
      order by test_no, submission_id desc, result_no desc`,
    tx<PartRow[]>`
      select s.environment, s.job, s.exceptions, l.test_count as "testCount", l.tests
      from submission s
      join test_list l on l.repository_id = s.repository_id and l.test_list_no = s.test_list_no
      where s.repository_id = ${repositoryId}
        and s.submission_id = any(${idsIn(tx, submissionIds)})
      order by s.submission_id desc`,
  ]);
  const failed = new Set<number>();
  const jobs = Map.groupBy(parts, ({ environment, job }) => JSON.stringify([environment, job]));
  for (const runs of jobs.values()) {
    for (const testNo of failedInJob(runs, negatives)) failed.add(testNo);
  }
  const identities = await tx<(TestIdentity & { testNo: number; testHash: number })[]>`
    select test_no as "testNo", test_hash::float8 as "testHash", suite, class, name, file
    from test
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(tx, negatives.map(({ testNo }) => testNo))})
    order by suite collate "C", class collate "C", name collate "C", file collate "C"`;
  const byTest = new Map(negatives.map((one) => [one.testNo, one]));
  return identities.map(({ testNo, testHash, ...identity }) => {
    const { textId, isDisruption, causes } = byTest.get(testNo)!;
    return {
      ...identity,
      testId: testId(idPrefix, testHash),
      isFailed: failed.has(testNo),
      isDisruption,
      textId,
      causes: splitFingerprints(causes),
    };
  });
}

interface PartRow {
  environment: string;
  job: string;
  exceptions: Uint8Array;
  testCount: number;
  tests: Uint8Array;
}

/** The tests whose latest run in a job failed; its submissions are newest first. */
function failedInJob(
  runs: readonly PartRow[],
  negatives: readonly { testNo: number }[],
): Set<number> {
  const open = new Set(negatives.map(({ testNo }) => testNo));
  const failed = new Set<number>();
  for (const { exceptions, tests, testCount } of runs) {
    if (open.size === 0) break;
    const testNos = decodeTestList(tests, testCount);
    const indexes = testNos.keys().filter((index) => open.has(testNos[index]!));
    for (const [index, outcome] of finalOutcomesAt(exceptions, indexes)) {
      // It was skipped in this submission: an earlier one decides.
      if (outcome === "skipped") continue;
      const testNo = testNos[index]!;
      open.delete(testNo);
      if (outcome === "negative") failed.add(testNo);
    }
  }
  return failed;
}
