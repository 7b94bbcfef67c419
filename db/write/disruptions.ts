/** Negative results, which of them are disruptions at a code version, and the disruptive tests. */
import { isDeepStrictEqual } from "node:util";
import {
  type DisruptiveTest,
  findDisruptions,
  hasFailedAndPassed,
  mergeDisruptive,
  type NegativeResult,
  type VersionRun,
} from "../../lib/analysis/disruptions.ts";
import { MORE_CAUSES } from "../../lib/analysis/failure_causes.ts";
import type { Run } from "../../lib/analysis/run.ts";
import type { SubmissionContent } from "../../lib/analysis/submission_content.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { type Fragment, integersIn, type Queryable } from "../connection/sql.ts";
import { messageOf } from "../read/texts.ts";
import { codeVersionOf, hasCodeVersion } from "../read/fragments.ts";
import { loadRuns } from "../read/runs.ts";

/**
 * Stores the negative results of a new submission, of which all else is stored, and finds the disruptions
 * at its code version: each row is written once, with the outcome.
 */
export async function storeNegatives(
  tx: Queryable,
  repositoryId: number,
  given: NewResults & { codeVersion: string },
): Promise<StoredNegatives> {
  const own = newNegatives(given);
  const mayHaveOthers = await mayHaveDisruptions(tx, repositoryId, given);
  const { disruptions, newlyDisruptive, newDisruptions } = mayHaveOthers
    ? await detectDisruptions(tx, { repositoryId, codeVersion: given.codeVersion, own })
    : NO_DISRUPTIONS;
  for (const negative of own) negative.isDisruption = disruptions.has(negative);
  await insertNegatives(tx, repositoryId, own);
  return {
    disruptionCount: own.filter(({ isDisruption }) => isDisruption).length,
    newlyDisruptive,
    newDisruptions,
    negatives: own,
    mayHaveOthers,
  };
}

interface StoredNegatives extends Pick<Disruptions, "newlyDisruptive" | "newDisruptions"> {
  disruptionCount: number;
  negatives: readonly (Pick<NewNegative, "testNo" | "fingerprint" | "otherFingerprints">)[];
  /** False if the code version has no other submission. */
  mayHaveOthers: boolean;
}

interface NewResults {
  submissionId: string;
  content: SubmissionContent;
  /** The test_no of the tests with failures, by test_hash. */
  failedTestNos: ReadonlyMap<number, number>;
}

/** A failure or error of the submission. */
interface NewNegative extends NegativeResult {
  conclusion: "failure" | "error";
  textId: string;
  fingerprint: string;
  /** Hex; `null` without any. */
  otherFingerprints: string | null;
}

function newNegatives({ submissionId, content, failedTestNos }: NewResults): NewNegative[] {
  const { negatives, texts } = content;
  return negatives.map(({ testHash, textNo, otherFingerprints: others, ...negative }) => {
    const { textId, fingerprint, message } = texts[textNo]!;
    const testNo = failedTestNos.get(testHash)!;
    const otherFingerprints = others?.filter((one) => one !== MORE_CAUSES).join("") || null;
    const text = { textId, fingerprint, otherFingerprints, message };
    return { ...negative, ...text, submissionId, testNo, isDisruption: false };
  });
}

const NEGATIVES_PER_STATEMENT = 2_000;

async function insertNegatives(
  tx: Queryable,
  repositoryId: number,
  negatives: NewNegative[],
): Promise<void> {
  // In the order of the primary key, so that pages of its index are filled one after the other. Only numbers are
  // sorted, and rows are made of a batch at a time, because there may be a million.
  const order = Uint32Array.from(negatives.keys()).sort((left, right) => {
    const [a, b] = [negatives[left]!, negatives[right]!];
    return Number(a.isDisruption) - Number(b.isDisruption) || a.testNo - b.testNo ||
      a.resultNo - b.resultNo;
  });
  for (let start = 0; start < order.length; start += NEGATIVES_PER_STATEMENT) {
    const batch = Array.from(order.subarray(start, start + NEGATIVES_PER_STATEMENT), (index) => {
      const { message: _, ...row } = negatives[index]!;
      return row;
    });
    await tx`
      insert into negative_result (repository_id, submission_id, result_no, test_no, is_disruption,
        conclusion, text_id, fingerprint, other_fingerprints)
      select ${repositoryId}, decode("submissionId", 'hex'), "resultNo", "testNo", "isDisruption",
        conclusion, decode("textId", 'hex'), decode(fingerprint, 'hex'),
        decode("otherFingerprints", 'hex')
      from json_to_recordset(${JSON.stringify(batch)}::text::json) as t("submissionId" text,
        "resultNo" int, "testNo" int, "isDisruption" boolean, conclusion text, "textId" text,
        fingerprint text, "otherFingerprints" text)`;
  }
}

/** A negative result that an upload has made a disruption: its own, or an earlier one. */
export type NewDisruption = Pick<NegativeResult, "testNo" | "submissionId" | "resultNo">;

interface Disruptions {
  disruptions: ReadonlySet<NegativeResult>;
  newlyDisruptive: TestIdentity[];
  newDisruptions: NewDisruption[];
}

const NO_DISRUPTIONS: Disruptions = {
  disruptions: new Set(),
  newlyDisruptive: [],
  newDisruptions: [],
};

/**
 * False for most uploads: the only one of its code version, in which no test failed and passed. The rest
 * of the detection takes three statements.
 */
async function mayHaveDisruptions(
  tx: Queryable,
  repositoryId: number,
  { submissionId, codeVersion, content }: NewResults & { codeVersion: string },
): Promise<boolean> {
  if (hasFailedAndPassed(content.exceptions)) return true;
  const [row] = await tx<{ hasOthers: boolean }[]>`
    select exists (
      select 1 from submission s
      where s.repository_id = ${repositoryId} and ${hasCodeVersion(tx, [codeVersion])}
        and s.status = 'processed' and s.submission_id <> decode(${submissionId}, 'hex')
    ) as "hasOthers"`;
  return row!.hasOthers;
}

/** Marks earlier negative results and updates the disruptive tests. */
async function detectDisruptions(
  tx: Queryable,
  { repositoryId, codeVersion, own }: {
    repositoryId: number;
    codeVersion: string;
    /** The negative results of the new submission. */
    own: NegativeResult[];
  },
): Promise<Disruptions> {
  const earlier = await loadNegatives(tx, repositoryId, hasCodeVersion(tx, [codeVersion]));
  const negatives = [...own, ...earlier];
  if (negatives.length === 0) return NO_DISRUPTIONS;
  const runs = await loadVersionRuns(tx, { repositoryId, codeVersions: [codeVersion] });
  const found = findDisruptions(runs, negatives);
  if (found.length === 0) return NO_DISRUPTIONS;
  const disruptions = new Set(found.flatMap((test) => test.disruptions));
  const newDisruptions = [...disruptions].filter(({ isDisruption }) => !isDisruption)
    .map(({ testNo, submissionId, resultNo }) => ({ testNo, submissionId, resultNo }));
  await markDisruptions(tx, {
    repositoryId,
    negatives: earlier.filter((negative) => disruptions.has(negative) && !negative.isDisruption),
    isDisruption: true,
  });
  const testNos = found.map(({ test }) => test.testNo);
  const known = await loadDisruptiveTests(tx, { repositoryId, testNos });
  const changed = found.map(({ test }) => mergeDisruptive(known.get(test.testNo), test))
    .filter((test) => !isDeepStrictEqual(test, known.get(test.testNo)));
  await storeDisruptiveTests(tx, { repositoryId, tests: changed });
  const newTestNos = testNos.filter((testNo) => !known.has(testNo));
  const newlyDisruptive = newTestNos.length === 0 ? [] : await tx<TestIdentity[]>`
    select suite, class, name, file from test
    where repository_id = ${repositoryId} and test_no = any(${integersIn(tx, newTestNos)})
    order by array_position(${integersIn(tx, newTestNos)}, test_no)`;
  return { disruptions, newlyDisruptive, newDisruptions };
}

/** Negative results of a repository, where a condition on `submission` s and `negative_result` n holds. */
export async function loadNegatives(
  sql: Queryable,
  repositoryId: number,
  condition: Fragment,
): Promise<(NegativeResult & { codeVersion: string })[]> {
  return await sql<(NegativeResult & { codeVersion: string })[]>`
    select ${codeVersionOf(sql)} as "codeVersion", encode(n.submission_id, 'hex') as "submissionId",
      n.result_no as "resultNo", n.test_no as "testNo", ${messageOf(sql, repositoryId)} as message,
      n.is_disruption as "isDisruption"
    from submission s
    join negative_result n using (repository_id, submission_id)
    where s.repository_id = ${repositoryId} and ${condition}`;
}

/** All runs at some code versions. */
export async function loadVersionRuns(
  sql: Queryable,
  { repositoryId, codeVersions }: { repositoryId: number; codeVersions: string[] },
): Promise<(VersionRun & Run<"codeVersion">)[]> {
  return await loadRuns(sql, {
    repositoryId,
    columns: ["codeVersion", "commitOid", "buildUrl", "results"],
    where: hasCodeVersion(sql, codeVersions),
  });
}

/** Marks negative results as disruptions, or unmarks them. */
export async function markDisruptions(
  sql: Queryable,
  { repositoryId, negatives, isDisruption }: {
    repositoryId: number;
    negatives: NegativeResult[];
    isDisruption: boolean;
  },
): Promise<void> {
  if (negatives.length === 0) return;
  await sql`
    update negative_result n set is_disruption = ${isDisruption}
    from json_to_recordset(${JSON.stringify(negatives)}::text::json)
      as k("submissionId" text, "testNo" int, "resultNo" int)
    where n.repository_id = ${repositoryId} and n.submission_id = decode(k."submissionId", 'hex')
      and n.is_disruption = ${!isDisruption} and n.test_no = k."testNo"
      and n.result_no = k."resultNo"`;
}

/** The given tests, or all, that have ever been disruptive, by test_no. */
export async function loadDisruptiveTests(
  sql: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos?: Iterable<number> },
): Promise<Map<number, DisruptiveTest>> {
  const rows = await sql<DisruptiveTest[]>`
    select test_no as "testNo",
      extract(epoch from first_disruption_at)::float8 as "firstDisruptionAt",
      encode(latest_submission_id, 'hex') as "latestSubmissionId",
      latest_result_no as "latestResultNo", latest_commit_oid as "latestCommitOid",
      latest_build_url as "latestBuildUrl", latest_message as "latestMessage",
      encode(positive_submission_id, 'hex') as "positiveSubmissionId",
      positive_build_url as "positiveBuildUrl"
    from disruptive_test
    where repository_id = ${repositoryId}
      ${testNos ? sql`and test_no = any(${integersIn(sql, testNos)})` : sql``}`;
  return new Map(rows.map((row) => [row.testNo, { ...row }]));
}

/**
 * Stores disruptive tests. A row that exists is updated: its new version stays in the same page, and the
 * space of the old one is used again at once.
 */
export async function storeDisruptiveTests(
  sql: Queryable,
  { repositoryId, tests }: { repositoryId: number; tests: DisruptiveTest[] },
): Promise<void> {
  await sql`
    insert into disruptive_test (repository_id, test_no, first_disruption_at, latest_submission_id,
      latest_result_no, latest_commit_oid, latest_build_url, latest_message,
      positive_submission_id, positive_build_url)
    select ${repositoryId}, t."testNo", to_timestamp(t."firstDisruptionAt"),
      decode(t."latestSubmissionId", 'hex'), t."latestResultNo", t."latestCommitOid",
      t."latestBuildUrl", t."latestMessage", decode(t."positiveSubmissionId", 'hex'),
      t."positiveBuildUrl"
    from json_to_recordset(${JSON.stringify(tests)}::text::json) as t("testNo" int,
      "firstDisruptionAt" float8, "latestSubmissionId" text, "latestResultNo" int,
      "latestCommitOid" text, "latestBuildUrl" text, "latestMessage" text,
      "positiveSubmissionId" text, "positiveBuildUrl" text)
    on conflict (repository_id, test_no) do update set
      (first_disruption_at, latest_submission_id, latest_result_no, latest_commit_oid,
        latest_build_url, latest_message, positive_submission_id, positive_build_url) =
      (excluded.first_disruption_at, excluded.latest_submission_id, excluded.latest_result_no,
        excluded.latest_commit_oid, excluded.latest_build_url, excluded.latest_message,
        excluded.positive_submission_id, excluded.positive_build_url)`;
}

/** Deletes the rows of tests that are no longer disruptive. */
export async function deleteDisruptiveTests(
  sql: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos: Iterable<number> },
): Promise<void> {
  await sql`
    delete from disruptive_test
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(sql, testNos)})`;
}
