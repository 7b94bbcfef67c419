/** Stores the evidence for the failures of an upload. */
import { knownCauses, splitFingerprints } from "../../lib/analysis/failure_groups.ts";
import type { TestCounts } from "../../lib/analysis/test_counts.ts";
import type { TestList } from "../../lib/analysis/run.ts";
import { recordedAtOf } from "../../lib/base/identity.ts";
import { WINDOW_SECONDS } from "../../lib/base/time.ts";
import { basePatterns } from "../../lib/evidence/base_branch.ts";
import type { MassFailure } from "../../lib/evidence/evidence.ts";
import type { CauseCount } from "../../lib/evidence/mass_failure.ts";
import type { Truth } from "../../lib/evidence/truth.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { loadBase } from "../read/base_branch.ts";
import { type FoundConclusion, openRun } from "../read/evidence.ts";
import { changeEvidence } from "./truth_counts.ts";
import { truthOfRun } from "./truths.ts";
import {
  type NewNegative,
  type NewNegatives,
  rangesOfTests,
  type TestRange,
} from "../../lib/analysis/new_negatives.ts";

/** A submission whose results are stored. */
interface EvidenceSubmission {
  repositoryId: number;
  /** 24 hex digits. */
  submissionId: string;
  commitOid: string;
  buildUrl: string;
  branch: string | null;
  queueBase?: string | undefined;
  pullNumber?: number | null | undefined;
  environment: string;
  job: string;
  workflow: string;
  shard: string;
  attempt: string;
  counts: Pick<TestCounts, "ran" | "failed">;
}

/** Stores the evidence for the failed tests of a new submission. */
export async function storeEvidence(
  tx: Queryable,
  { submission, code, baseBranch, isOnlyRun, negatives, lists }: {
    submission: EvidenceSubmission;
    code: string;
    /** As the row of the repository says; `null`: it is looked up. */
    baseBranch: string | null;
    /** Whether no other submission has its code version. */
    isOnlyRun: boolean;
    negatives: NewNegatives;
    /** As the option of `loadRuns`. */
    lists: Map<number, TestList>;
  },
): Promise<MassFailure | null> {
  if (negatives.length === 0) return null;
  const { repositoryId, submissionId } = submission;
  const moment = recordedAtOf(submissionId);
  const { base, isBaseGuessed } = baseBranch === null
    ? await loadBase(tx, { repositoryId, now: moment })
    : { base: baseBranch, isBaseGuessed: false };
  const ranges = rangesOfTests(negatives.testNos);
  const { massFailure, conclusionsOn } = await openRun(tx, {
    repositoryId,
    run: { ...submission, branch: submission.branch ?? "", code, isOnlyRun, moment },
    causeCounts: causeCounts(negatives, ranges),
    base: basePatterns(base),
    isBaseGuessed,
    windowStart: moment - WINDOW_SECONDS,
    lists,
  });
  if (massFailure === "outage") await markOutage(tx, { repositoryId, submissionId });
  const passed = negatives.passedTestNos();
  for (const range of ranges) {
    const byTest = Map.groupBy(negatives.ofTests(range), ({ testNo }) => testNo);
    const failures = Array.from(byTest, ([testNo, ofTest]) => ({
      testNo,
      causes: [...new Set(ofTest.flatMap(causesOf))],
      hasPassed: passed.has(testNo),
    }));
    const conclusions = await conclusionsOn(failures);
    const rows = conclusions.map((one, index) => ({
      ...rowOf(failures[index]!.testNo, one),
      truth: truthOfRun(failures[index]!),
      isRepeat: false,
    }));
    await insertEvidence(tx, { repositoryId, submissionId, rows });
  }
  return massFailure;
}

/** The causes of each test that failed. */
function* causeCounts(
  negatives: NewNegatives,
  ranges: readonly TestRange[],
): Generator<CauseCount, void> {
  for (const range of ranges) {
    for (const ofTest of Map.groupBy(negatives.ofTests(range), ({ testNo }) => testNo).values()) {
      yield { causes: knownCauses(ofTest.flatMap(causesOf)), testCount: 1 };
    }
  }
}

function causesOf(
  { fingerprint, otherFingerprints }: Pick<NewNegative, "fingerprint" | "otherFingerprints">,
): string[] {
  return [fingerprint, ...splitFingerprints(otherFingerprints ?? "")];
}

interface EvidenceRow {
  testNo: number;
  evidence: string;
  isOnBase: boolean;
  restsOn: string | null;
  baseRunCount: number;
  baseFailedCount: number;
  shareNotTheChange: number | null;
  shareOf: number | null;
  shareFrom: string | null;
  isKnownOnBase: boolean;
  isRepeat: boolean;
  truth: Truth | null;
}

function rowOf(
  testNo: number,
  { share, restsOn, ...one }: FoundConclusion,
): Omit<EvidenceRow, "isRepeat" | "truth"> {
  return {
    testNo,
    evidence: one.evidence,
    isOnBase: one.isOnBase,
    restsOn: restsOn?.submissionId || null,
    baseRunCount: one.baseRunCount,
    baseFailedCount: one.baseFailedCount,
    shareNotTheChange: share?.notTheChange ?? null,
    shareOf: share?.of ?? null,
    shareFrom: share?.from ?? null,
    isKnownOnBase: one.isKnownOnBase,
  };
}

const ROWS_PER_STATEMENT = 2_000;

async function insertEvidence(
  tx: Queryable,
  { repositoryId, submissionId, rows }: {
    repositoryId: number;
    submissionId: string;
    rows: readonly EvidenceRow[];
  },
): Promise<void> {
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    const batch = rows.slice(start, start + ROWS_PER_STATEMENT);
    const insertion = tx`(
    insert into failure_evidence (repository_id, submission_id, test_no, evidence, is_on_base, rests_on,
      base_run_count, base_failed_count, share_not_the_change, share_of, share_from,
      is_known_on_base, is_repeat, truth)
    select ${repositoryId}, decode(${submissionId}, 'hex'), "testNo", evidence, "isOnBase",
      decode("restsOn", 'hex'), "baseRunCount", "baseFailedCount", "shareNotTheChange", "shareOf",
      "shareFrom", "isKnownOnBase", "isRepeat", truth
    from json_to_recordset(${JSON.stringify(batch)}::text::json) as t("testNo" int, evidence text,
      "isOnBase" boolean, "restsOn" text, "baseRunCount" int, "baseFailedCount" int,
      "shareNotTheChange" int, "shareOf" int, "shareFrom" text, "isKnownOnBase" boolean,
      "isRepeat" boolean, truth text)
    order by "testNo"
    returning submission_id, evidence, is_on_base, truth, is_repeat, null as old_truth,
      false as old_is_repeat)`;
    await changeEvidence(tx, repositoryId, insertion);
  }
}

/** A row of `failure_evidence` of another database. */
export interface ImportedEvidence extends Omit<EvidenceRow, "testNo"> {
  testHash: number;
}

/** Stores evidence as it was exported; returns whether the submission is an outage. */
export async function importEvidence(
  tx: Queryable,
  { repositoryId, submissionId, isOutage, evidence }: {
    repositoryId: number;
    submissionId: string;
    isOutage: boolean;
    evidence: readonly ImportedEvidence[];
  },
): Promise<boolean> {
  if (isOutage) await markOutage(tx, { repositoryId, submissionId });
  if (evidence.length === 0) return isOutage;
  const tests = await tx<{ testNo: number; testHash: number }[]>`
    select test_no as "testNo", test_hash::float8 as "testHash" from test
    where repository_id = ${repositoryId}
      and test_hash = any(array(select unnest(${
    arrayOf(evidence.map(({ testHash }) => testHash))
  }::text::bigint[])))`;
  const testNos = new Map(tests.map(({ testNo, testHash }) => [testHash, testNo]));
  const rows = evidence.flatMap(({ testHash, ...row }) => {
    const testNo = testNos.get(testHash);
    return testNo === undefined ? [] : [{ testNo, ...row }];
  });
  await insertEvidence(tx, { repositoryId, submissionId, rows });
  return isOutage;
}

async function markOutage(
  tx: Queryable,
  { repositoryId, submissionId }: { repositoryId: number; submissionId: string },
): Promise<void> {
  await tx`
    update submission set is_outage = true
    where repository_id = ${repositoryId} and submission_id = decode(${submissionId}, 'hex')`;
}
