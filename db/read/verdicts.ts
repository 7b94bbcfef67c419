// Tests: tests/routes/verdicts_test.ts
import {
  firstSubmissionId,
  recordedAtOf,
  testId,
  type TestIdentity,
} from "../../lib/base/identity.ts";
import { basePatterns, branchOfPull } from "../../lib/evidence/base_branch.ts";
import type { MassFailure } from "../../lib/evidence/evidence.ts";
import type { CauseCount } from "../../lib/evidence/mass_failure.ts";
import type { Patterns } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { loadBase } from "./base_branch.ts";
import { findOwnConclusions, loadBuildUrls, type ShownConclusion, withUrl } from "./conclusions.ts";
import { findConclusions } from "./evidence.ts";
import { type EvidenceRun, findUploadOf } from "./evidence_run.ts";
import { ownersOf } from "./owners.ts";
import { messageOf } from "./texts.ts";
import { hasHash, isOfBase, isRecordedSince } from "./fragments.ts";

/** A test that failed in the run, as a client names it. */
export interface GivenTest {
  /** 24 or 13 hex digits. */
  text: string;
  testHash: number;
  /** Fingerprints of its causes. */
  causes: readonly string[];
  /** Whether an attempt of it in the run passed. */
  hasPassed: boolean;
}

/** A test with the facts about its failure in the run. */
interface JudgedTest extends TestIdentity {
  /** 24 lower-case hex digits. */
  id: string;
  testHash: number;
  /** Its latest failure on the base branch in the window, `null` when it did not fail. */
  failure: { recordedAt: number; buildUrl: string; message: string } | null;
  conclusion: ShownConclusion;
  owners: string[];
}

interface JudgedRun {
  /** `""` where no upload names its branch. */
  baseBranch: string;
  /** Patterns of the branches that count as the base branch. */
  base: Patterns;
  massFailure: MassFailure | null;
  /** In the order of the tests that were asked for; the names of one that is not stored are `""`. */
  tests: JudgedTest[];
}

interface TestRow extends TestIdentity {
  testNo: number;
  testHash: number;
  aliasHash: number | null;
  submissionId: string | null;
  buildUrl: string;
  message: string;
  owners: string[];
}

/**
 * Judges the failed tests of a run. The conclusions on one that is stored are those of its upload, so that they
 * are the same everywhere.
 */
export async function loadJudgedRun(
  tx: Queryable,
  { repositoryId, idPrefix, windowStart, tests, run, causeCounts, given, now }: {
    repositoryId: number;
    idPrefix: number;
    windowStart: number;
    now: number;
    tests: readonly GivenTest[];
    run: Omit<EvidenceRun, "moment">;
    causeCounts?: readonly CauseCount[] | undefined;
    /** Branches that count as the base branch; `null`: as the repository says. */
    given: Patterns;
  },
): Promise<JudgedRun> {
  const { base: baseBranch, isBaseNamed, isBaseGuessed } = given === null
    ? await loadBase(tx, { repositoryId, now })
    : { base: given.join(", "), isBaseNamed: true, isBaseGuessed: false };
  const base = (given ?? [baseBranch]).flatMap(basePatterns);
  const testHashes = tests.map(({ testHash }) => testHash);
  const rows = await selectTests(tx, { repositoryId, testHashes, windowStart, base });
  const rowOf = new Map<number, TestRow>();
  for (const row of rows) if (row.aliasHash !== null) rowOf.set(row.aliasHash, row);
  for (const row of rows) rowOf.set(row.testHash, row);
  const stored = tests.map((test) => {
    const row = rowOf.get(test.testHash);
    // An id of 24 digits may belong to another repository's test.
    const isHere = testId(idPrefix, test.testHash).endsWith(test.text);
    return { ...test, row: isHere ? row : undefined };
  });
  const failures = stored.map(({ row, causes, hasPassed }) => ({
    testNo: row?.testNo ?? null,
    causes,
    hasPassed,
  }));
  const { pullNumber = null } = run;
  const branch = pullNumber === null
    ? run.branch
    : branchOfPull(run.branch, isBaseGuessed ? [] : [baseBranch]);
  const asked: EvidenceRun = { ...run, branch, moment: now };
  const submissionId = run.submissionId ??
    await findUploadOf(tx, { repositoryId, run: asked, failures });
  const whole: EvidenceRun = { ...asked, submissionId };
  const { massFailure, conclusions } = await findConclusions(tx, {
    repositoryId,
    run: whole,
    failures,
    causeCounts,
    base,
    isBaseGuessed,
    windowStart,
  });
  const urls = await loadBuildUrls(tx, {
    repositoryId,
    submissionIds: conclusions.flatMap(({ restsOn }) => restsOn?.submissionId || []),
  });
  const own = given === null
    ? await findOwnConclusions(tx, {
      repositoryId,
      run: whole,
      base: { base: baseBranch, isBaseGuessed },
    })
    : null;
  return {
    baseBranch: isBaseNamed ? baseBranch : "",
    base,
    massFailure: own ? own.massFailure : massFailure,
    tests: stored.map(({ testHash, row }, index) => {
      const found = withUrl(conclusions[index]!, urls);
      return {
        id: testId(idPrefix, row?.testHash ?? testHash),
        testHash: row?.testHash ?? testHash,
        suite: row?.suite ?? "",
        class: row?.class ?? "",
        name: row?.name ?? "",
        file: row?.file ?? "",
        owners: row?.owners ?? [],
        failure: row?.submissionId
          ? {
            recordedAt: recordedAtOf(row.submissionId),
            buildUrl: row.buildUrl,
            message: row.message,
          }
          : null,
        conclusion: (row && own?.conclusions.get(row.testNo)) ?? found,
      };
    }),
  };
}

/** The tests with the given hashes, each with its latest failure on the base branch in the window. */
async function selectTests(
  sql: Queryable,
  { repositoryId, testHashes, windowStart, base }: {
    repositoryId: number;
    testHashes: readonly number[];
    windowStart: number;
    base: Patterns;
  },
): Promise<TestRow[]> {
  return await sql<TestRow[]>`
    select t.test_no as "testNo", t.test_hash::float8 as "testHash",
      t.alias_hash::float8 as "aliasHash", t.suite, t.class, t.name, t.file, failure.*,
      array_to_json(array(
        select o.owner from ${ownersOf(sql, repositoryId)} where o.tests @> t.test_no order by o.tag
      )) as owners
    from test t
    left join lateral (
      select encode(s.submission_id, 'hex') as "submissionId", s.build_url as "buildUrl",
        ${messageOf(sql, repositoryId)} as message
      from negative_result n
      join submission s on s.repository_id = n.repository_id and s.submission_id = n.submission_id
      where n.repository_id = ${repositoryId} and n.test_no = t.test_no
        and ${isRecordedSince(sql, firstSubmissionId(windowStart))}
        and s.status = 'processed' and ${isOfBase(sql, base)}
      order by n.submission_id desc, n.result_no desc
      limit 1
    ) failure on true
    where t.repository_id = ${repositoryId} and ${hasHash(sql, testHashes)}`;
}
