// Tests: tests/lib/mcp/tools/get_build_verdicts_test.ts tests/routes/failures_test.ts
import {
  BUILD_COLUMNS,
  countRanTests,
  failedTests,
  unclearTests,
} from "../../lib/analysis/build_outcome.ts";
import { splitFingerprints } from "../../lib/analysis/failure_groups.ts";
import { mayMoveToShard } from "../../lib/analysis/repetition/set_up.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { idsIn, type Queryable } from "../connection/sql.ts";
import { loadIdentities } from "./names_of_tests.ts";
import { loadRuns } from "./runs.ts";
import { loadSetUps } from "./test_facts.ts";

/** The failure of a test in a submission of a build. */
interface FailureIn {
  /** 24 hex digits. */
  submissionId: string;
  /** Text of the latest attempt that failed. */
  textId: string;
}

/** A test that failed in a build. */
export interface BuildFailure extends TestIdentity, FailureIn {
  /** 24 hex digits. */
  testId: string;
  testNo: number;
  /** Where it failed at last, as {@linkcode failedTests} says, newest first; otherwise empty. */
  failedIn: FailureIn[];
  /** Whether a failure of it in the build is a disruption. */
  isDisruption: boolean;
  /** Fingerprints of all its failures in the build; some may repeat. */
  causes: string[];
}

/**
 * The tests that failed in any of the submissions of a build and those whose outcome is unknown at last, in the order of
 * their names, and how many ran.
 */
export async function loadBuildFailures(
  tx: Queryable,
  { repositoryId, idPrefix, submissionIds }: {
    repositoryId: number;
    idPrefix: number;
    /** 24 hex digits each. */
    submissionIds: readonly string[];
  },
): Promise<{ failures: BuildFailure[]; unclear: TestIdentity[]; ranTestCount: number }> {
  const [negatives, runs] = await Promise.all([
    // The latest failure of each test in each submission.
    tx<
      {
        testNo: number;
        submissionId: string;
        textId: string;
        isDisruption: boolean;
        causes: string;
      }[]
    >`
      select distinct on (test_no, submission_id) test_no as "testNo", encode(text_id, 'hex') as "textId",
        encode(submission_id, 'hex') as "submissionId",
        bool_or(is_disruption) over (partition by test_no) as "isDisruption",
        encode(string_agg(fingerprint || coalesce(other_fingerprints, ''), '')
          over (partition by test_no), 'hex') as causes
      from negative_result
      where repository_id = ${repositoryId} and submission_id = any(${idsIn(tx, submissionIds)})
      order by test_no, submission_id desc, result_no desc`,
    loadRuns(tx, { repositoryId, submissionIds, columns: [...BUILD_COLUMNS, "results"] }),
  ]);
  const byTest = Map.groupBy(negatives, ({ testNo }) => testNo);
  const unclearNos = new Set(unclearTests(runs));
  const identities = await loadIdentities(tx, {
    repositoryId,
    idPrefix,
    testNos: [...byTest.keys(), ...unclearNos],
    isSorted: true,
  });
  const failed = failedTests(runs, byTest.keys(), {
    hasFile: (testNo) => mayMoveToShard(identities.get(testNo)!),
    setUpOf: await loadSetUps(tx, { repositoryId, tests: identities }),
  });
  const failures = [...identities].flatMap(([testNo, { id, ...identity }]) => {
    const ofTest = byTest.get(testNo);
    if (!ofTest) return [];
    const last = failed.get(testNo) ?? [];
    const failedIn = ofTest.filter(({ submissionId }) => last.includes(submissionId))
      .map(({ submissionId, textId }) => ({ submissionId, textId }));
    const [{ isDisruption, causes }] = ofTest as [typeof ofTest[number]];
    const { submissionId, textId } = failedIn[0] ?? ofTest[0]!;
    return {
      ...identity,
      testId: id,
      testNo,
      submissionId,
      textId,
      failedIn,
      isDisruption,
      causes: splitFingerprints(causes),
    };
  });
  return {
    failures,
    unclear: [...identities].filter(([testNo]) => unclearNos.has(testNo)).map(([, test]) => test),
    ranTestCount: countRanTests(runs),
  };
}
