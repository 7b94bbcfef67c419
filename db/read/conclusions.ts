// Tests: tests/routes/submissions_test.ts
/** Conclusions on failures: as they were stored at upload, or found now. */
import { splitFingerprints } from "../../lib/analysis/failure_groups.ts";
import { SelectedTests } from "../../lib/analysis/run.ts";
import { recordedAtOf } from "../../lib/base/identity.ts";
import { WINDOW_SECONDS } from "../../lib/base/time.ts";
import { type Base, basePatterns, type FoundBase } from "../../lib/evidence/base_branch.ts";
import type { Evidence, MassFailure } from "../../lib/evidence/evidence.ts";
import { storedMassFailure } from "../../lib/evidence/mass_failure.ts";
import type { Conclusion } from "../../lib/evidence/said.ts";
import { blameOf, type ShareSource } from "../../lib/evidence/shares.ts";
import { idsIn, integersIn, type Queryable } from "../connection/sql.ts";
import { loadBase } from "./base_branch.ts";
import { findConclusions } from "./evidence.ts";
import { type EvidenceRun, isUpload } from "./evidence_run.ts";
import { loadRuns } from "./runs.ts";

export interface ShownConclusion extends Conclusion {
  isOnBase: boolean;
  /** Whether its latest run on the base branch had failed, or it had failed there in the window with its causes. */
  isKnownOnBase: boolean;
  /** The submission that it rests on; `null` without one, or when it is deleted. */
  restsOn: { submissionId: string; recordedAt: number; buildUrl: string } | null;
}

/** Conclusions on the tests of a submission, by test_no. */
export type ConclusionsOfTests = ReadonlyMap<number, ShownConclusion>;

type UsedBase = Pick<FoundBase, "base" | "isBaseGuessed">;

interface StoredRow {
  submissionId: string;
  testNo: number;
  evidence: Evidence;
  isOnBase: boolean;
  isKnownOnBase: boolean;
  baseRunCount: number;
  baseFailedCount: number;
  notTheChange: number | null;
  of: number;
  from: ShareSource;
  restsOn: string | null;
  buildUrl: string | null;
}

/**
 * The conclusions on the failures of submissions by their ids. Failures from an earlier version of the program, which
 * stored none, are found now, from what was known when they were recorded.
 */
async function loadConclusions(
  sql: Queryable,
  { repositoryId, submissionIds, testNos, loadBase }: {
    repositoryId: number;
    submissionIds: readonly string[];
    /** Failed tests; all unless given. */
    testNos?: readonly number[];
    /** Loads the base branch, where conclusions are found now. */
    loadBase(): Promise<UsedBase>;
  },
): Promise<Map<string, ConclusionsOfTests>> {
  if (submissionIds.length === 0) return new Map();
  const rows = await sql<StoredRow[]>`
    select encode(f.submission_id, 'hex') as "submissionId", f.test_no as "testNo", f.evidence,
      f.is_on_base as "isOnBase", f.is_known_on_base as "isKnownOnBase", f.base_run_count as "baseRunCount",
      f.base_failed_count as "baseFailedCount", f.share_not_the_change as "notTheChange",
      f.share_of as "of", f.share_from as "from", encode(s.submission_id, 'hex') as "restsOn",
      s.build_url as "buildUrl"
    from failure_evidence f
    left join submission s on s.repository_id = ${repositoryId} and s.submission_id = f.rests_on
    where f.repository_id = ${repositoryId} and f.submission_id = any(${
    idsIn(sql, submissionIds)
  }) ${testNos ? sql`and f.test_no = any(${integersIn(sql, testNos)})` : sql``}`;
  const found = new Map<string, Map<number, ShownConclusion>>();
  for (const [submissionId, own] of Map.groupBy(rows, (row) => row.submissionId)) {
    found.set(submissionId, new Map(own.map((row) => [row.testNo, conclusionOf(row)])));
  }
  const others = submissionIds.filter((submissionId) => !found.has(submissionId));
  if (others.length === 0) return found;
  // Not with those that have no evidence as a condition: the planner reads all evidence of the repository.
  const unknown = await sql<{ submissionId: string }[]>`
    select distinct encode(n.submission_id, 'hex') as "submissionId"
    from negative_result n
    where n.repository_id = ${repositoryId} and n.submission_id = any(${idsIn(sql, others)})`;
  if (unknown.length === 0) return found;
  const base = await loadBase();
  for (const { submissionId } of unknown) {
    found.set(submissionId, await findNow(sql, { repositoryId, submissionId, ...base }));
  }
  return found;
}

function conclusionOf(
  { notTheChange, of, from, restsOn, buildUrl, ...row }: StoredRow,
): ShownConclusion {
  const { submissionId: _, testNo: __, ...facts } = row;
  const share = notTheChange === null ? null : { notTheChange, of, from };
  return {
    ...facts,
    share,
    blame: blameOf(row.evidence, share),
    restsOn: restsOn === null
      ? null
      : { submissionId: restsOn, recordedAt: recordedAtOf(restsOn), buildUrl: buildUrl ?? "" },
  };
}

/** The conclusions on a stored submission that has none. */
async function findNow(
  sql: Queryable,
  { repositoryId, submissionId, base, isBaseGuessed }: UsedBase & {
    repositoryId: number;
    submissionId: string;
  },
): Promise<Map<number, ShownConclusion>> {
  const [run] = await loadRuns(sql, {
    repositoryId,
    columns: [
      "code",
      "commitOid",
      "branch",
      "queueBase",
      "pullNumber",
      "environment",
      "job",
      "workflow",
      "shard",
      "attempt",
      "buildUrl",
      "results",
    ],
    submissionIds: [submissionId],
  });
  if (!run) return new Map();
  const negatives = await sql<{ testNo: number; causes: string }[]>`
    select test_no as "testNo",
      encode(string_agg(fingerprint || coalesce(other_fingerprints, ''), ''), 'hex') as causes
    from negative_result
    where repository_id = ${repositoryId} and submission_id = decode(${submissionId}, 'hex')
    group by test_no`;
  const passed = run.results.passed(new SelectedTests(negatives.map(({ testNo }) => testNo)));
  const { conclusions } = await findConclusions(sql, {
    repositoryId,
    run: {
      ...run,
      branch: run.branch ?? "",
      counts: run.results.testCounts(),
      moment: run.recordedAt,
    },
    failures: negatives.map(({ testNo, causes }) => ({
      testNo,
      causes: splitFingerprints(causes),
      hasPassed: passed.has(testNo),
    })),
    base: basePatterns(base),
    isBaseGuessed,
    windowStart: run.recordedAt - WINDOW_SECONDS,
  });
  const urls = await loadBuildUrls(sql, {
    repositoryId,
    submissionIds: conclusions.flatMap(({ restsOn }) => restsOn?.submissionId || []),
  });
  return new Map(
    conclusions.map((one, index) => [negatives[index]!.testNo, withUrl(one, urls)]),
  );
}

type Found = Awaited<ReturnType<typeof findConclusions>>["conclusions"][number];

/** With the build that a conclusion rests on. */
export function withUrl(
  { restsOn, ...conclusion }: Found,
  urls: ReadonlyMap<string, string>,
): ShownConclusion {
  const submissionId = restsOn?.submissionId ?? "";
  const buildUrl = urls.get(submissionId);
  return {
    ...conclusion,
    restsOn: buildUrl === undefined
      ? null
      : { submissionId, recordedAt: recordedAtOf(submissionId), buildUrl },
  };
}

/** Build URLs of submissions, by id. */
export async function loadBuildUrls(
  sql: Queryable,
  { repositoryId, submissionIds }: { repositoryId: number; submissionIds: readonly string[] },
): Promise<Map<string, string>> {
  if (submissionIds.length === 0) return new Map();
  const rows = await sql<{ id: string; buildUrl: string }[]>`
    select encode(submission_id, 'hex') as id, build_url as "buildUrl" from submission
    where repository_id = ${repositoryId}
      and submission_id = any(${idsIn(sql, [...new Set(submissionIds)])})`;
  return new Map(rows.map(({ id, buildUrl }) => [id, buildUrl]));
}

/**
 * What was concluded on a run when it was uploaded, if it is stored: by test_no, of several uploads of it the
 * latest with the test, unless one of them is named.
 */
export async function findOwnConclusions(
  sql: Queryable,
  { repositoryId, run, base }: { repositoryId: number; run: EvidenceRun; base: UsedBase },
): Promise<{ massFailure: MassFailure | null; conclusions: ConclusionsOfTests } | null> {
  const { submissionId, buildUrl, attempt, code } = run;
  // With an unknown attempt only its id tells which upload it is.
  if (submissionId === null && (buildUrl === "" || attempt === "" || code === null)) return null;
  const runs = await loadRuns(sql, {
    repositoryId,
    columns: ["isOutage", "ranTestCount", "failedTestCount"],
    ...submissionId !== null ? { submissionIds: [submissionId] } : {
      where: sql`s.code_version = ${code} and ${isUpload(sql, run)}`,
    },
  });
  const [latest] = runs;
  if (!latest) return null;
  const submissionIds = runs.map(({ submissionId }) => submissionId);
  const loadBase = () => Promise.resolve(base);
  const found = await loadConclusions(sql, { repositoryId, submissionIds, loadBase });
  const conclusions = new Map(submissionIds.toReversed().flatMap((id) => [...found.get(id) ?? []]));
  return { massFailure: storedMassFailure(latest), conclusions };
}

/** The conclusions on the failures of a build's submissions, with the base branch. */
export async function loadBuildConclusions(
  tx: Queryable,
  { repositoryId, submissionIds, now }: {
    repositoryId: number;
    submissionIds: readonly string[];
    now: number;
  },
): Promise<Base & { conclusions: ReadonlyMap<string, ConclusionsOfTests> }> {
  const base = await loadBase(tx, { repositoryId, now });
  const conclusions = await loadConclusions(tx, {
    repositoryId,
    submissionIds,
    loadBase: () => Promise.resolve(base),
  });
  return { ...base, conclusions };
}

/** The conclusions on some tests that failed in a submission. */
export async function loadConclusionsOfTests(
  tx: Queryable,
  { repositoryId, submissionId, testNos, now }: {
    repositoryId: number;
    submissionId: string;
    testNos: readonly number[];
    now: number;
  },
): Promise<ConclusionsOfTests> {
  if (testNos.length === 0) return new Map();
  const found = await loadConclusions(tx, {
    repositoryId,
    submissionIds: [submissionId],
    testNos,
    loadBase: () => loadBase(tx, { repositoryId, now }),
  });
  return found.get(submissionId) ?? new Map();
}
