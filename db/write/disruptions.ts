// Tests: tests/db/write/store_submission_test.ts
/** Negative results, which of them are disruptions at a code version, and the disruptive tests. */
import { isDeepStrictEqual } from "node:util";
import {
  describeDisruptions,
  type DisruptiveTest,
  findDisruptions,
  hasFailedAndPassed,
  mergeDisruptive,
  type NegativeResult,
  type TestFacts,
  type VersionRun,
  withoutSubmission,
} from "../../lib/analysis/disruptions.ts";
import { groupOf, isSetUp } from "../../lib/analysis/repetition/set_up.ts";
import { findLegs, type Legs } from "../../lib/analysis/repetition/submissions.ts";
import type { Run } from "../../lib/analysis/run.ts";
import type { SubmissionContent } from "../../lib/analysis/submission_content.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { quote } from "../../lib/base/quote.ts";
import { type Fragment, integersIn, type Queryable, textsIn } from "../connection/sql.ts";
import { messageOf } from "../read/texts.ts";
import { codeVersionOf, hasCodeVersion } from "../read/fragments.ts";
import { loadRuns } from "../read/runs.ts";
import {
  type NewNegative,
  NewNegatives,
  rangesOfTests,
  type TestRange,
  TESTS_AT_ONCE,
} from "./new_negatives.ts";
import type { TestNos } from "./tests.ts";

/** How the note of unnamed legs begins. */
export const LEGS_NOTE = "unnamed legs:";

/**
 * Stores the negative results of a new submission, of which all else is stored, and finds the disruptions
 * at its code version: each row is written once, with the outcome.
 */
export async function storeNegatives(
  tx: Queryable,
  repositoryId: number,
  given: NewResults & { codeVersion: string },
): Promise<StoredNegatives> {
  const negatives = new NewNegatives(given);
  const mayHaveOthers = await mayHaveDisruptions(tx, repositoryId, given);
  const { newlyDisruptive, newDisruptions, legs } = mayHaveOthers
    ? await detectDisruptions(tx, { repositoryId, negatives, ...given })
    : NO_DISRUPTIONS;
  await insertNegatives(tx, repositoryId, negatives);
  return {
    disruptionCount: negatives.disruptionCount,
    newlyDisruptive,
    newDisruptions,
    legsNote: legs && await noteOfLegs(tx, repositoryId, given.submissionId, legs),
    negatives,
    mayHaveOthers,
  };
}

interface StoredNegatives extends Pick<Disruptions, "newlyDisruptive" | "newDisruptions"> {
  disruptionCount: number;
  /** What is to be said about the submission if nobody told it apart from another; `null` otherwise. */
  legsNote: string | null;
  negatives: NewNegatives;
  /** False if the code version has no other submission. */
  mayHaveOthers: boolean;
}

interface NewResults {
  submissionId: string;
  content: SubmissionContent;
  /** The test_no of the tests with failures, by test_hash. */
  failedTestNos: Pick<TestNos, "get">;
}

const NEGATIVES_PER_STATEMENT = 2_000;

async function insertNegatives(
  tx: Queryable,
  repositoryId: number,
  negatives: NewNegatives,
): Promise<void> {
  // In the order of the primary key, so that pages of its index are filled one after the other.
  const insert = async (batch: Omit<NewNegative, "message">[]) => {
    await tx`
      insert into negative_result (repository_id, submission_id, result_no, test_no, is_disruption,
        conclusion, text_id, fingerprint, other_fingerprints)
      select ${repositoryId}, decode("submissionId", 'hex'), "resultNo", "testNo", "isDisruption",
        conclusion, decode("textId", 'hex'), decode(fingerprint, 'hex'),
        decode("otherFingerprints", 'hex')
      from json_to_recordset(${JSON.stringify(batch)}::text::json) as t("submissionId" text,
        "resultNo" int, "testNo" int, "isDisruption" boolean, conclusion text, "textId" text,
        fingerprint text, "otherFingerprints" text)`;
  };
  let batch: Omit<NewNegative, "message">[] = [];
  for (const { message: _, ...row } of negatives.inOrder()) {
    if (batch.push(row) < NEGATIVES_PER_STATEMENT) continue;
    await insert(batch);
    batch = [];
  }
  if (batch.length > 0) await insert(batch);
}

/** A negative result that an upload has made a disruption: its own, or an earlier one. */
export type NewDisruption = Pick<NegativeResult, "testNo" | "submissionId" | "resultNo">;

interface Disruptions {
  /** Runs of its code version that nothing distinguishes. */
  legs: Legs<VersionRun> | null;
  newlyDisruptive: TestIdentity[];
  newDisruptions: NewDisruption[];
}

const ALL_TESTS: TestRange = { first: 0, last: 2 ** 31 - 1 };

const NO_DISRUPTIONS: Disruptions = { legs: null, newlyDisruptive: [], newDisruptions: [] };

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

/** Whether another submission of its code version is of its attempt, and may be of its shard. */
async function mayBeLeg(
  tx: Queryable,
  { repositoryId, submissionId, codeVersion }: {
    repositoryId: number;
    submissionId: string;
    codeVersion: string;
  },
): Promise<boolean> {
  const [row] = await tx<{ hasSibling: boolean }[]>`
    select exists (
      select 1 from submission s
      join submission o on o.repository_id = s.repository_id and o.build_url = s.build_url
        and o.attempt = s.attempt and (o.shard = s.shard or '' in (o.shard, s.shard))
      where s.repository_id = ${repositoryId} and ${hasCodeVersion(tx, [codeVersion])}
        and s.status = 'processed' and s.job <> '' and s.attempt <> '' and s.build_url <> ''
        and o.repository_id = ${repositoryId} and o.submission_id = decode(${submissionId}, 'hex')
        and s.submission_id <> o.submission_id
    ) as "hasSibling"`;
  return row!.hasSibling;
}

async function noteOfLegs(
  tx: Queryable,
  repositoryId: number,
  submissionId: string,
  { runs: [first, second], testNo }: Legs<VersionRun>,
): Promise<string | null> {
  if (![first, second].some((run) => run.submissionId === submissionId)) return null;
  const other = first.submissionId === submissionId ? second : first;
  const [row] = await tx<{ key: string; name: string }[]>`
    select s.key, t.name from submission s
    join test t on t.repository_id = s.repository_id and t.test_no = ${testNo}
    where s.repository_id = ${repositoryId} and s.submission_id = decode(${other.submissionId}, 'hex')`;
  const { job, attempt } = first;
  return `${LEGS_NOTE} attempt ${attempt} of the job ${quote(job)} uploaded ${
    quote(row!.name)
  } twice, here and in ${
    row!.key
  }: nothing between the submissions of this job and code is taken for ` +
    'a repetition. Name what differs: --environment "$RUNNER_OS node-$NODE" for the legs of a matrix, ' +
    "--shard 2/8 for parts, --job NAME for other ways to run, or --attempt 2 for a run again";
}

/** Marks negative results at a code version as disruptions, and updates the disruptive tests. */
export async function detectDisruptions(
  tx: Queryable,
  { repositoryId, submissionId, codeVersion, negatives = null }: {
    repositoryId: number;
    submissionId: string;
    codeVersion: string;
    /** The negative results of a new submission: they are marked here, and are not stored yet. */
    negatives?: NewNegatives | null;
  },
): Promise<Disruptions> {
  const isAtVersion = hasCodeVersion(tx, [codeVersion]);
  const known = await loadNegatives(
    tx,
    repositoryId,
    tx`${isAtVersion} limit ${TESTS_AT_ONCE + 1}`,
  );
  const count = known.length + (negatives?.length ?? 0);
  const version = { repositoryId, submissionId, codeVersion };
  if (count === 0 && !await mayBeLeg(tx, version)) return NO_DISRUPTIONS;
  const runs = await loadVersionRuns(tx, { repositoryId, codeVersions: [codeVersion] });
  const legs = findLegs(runs);
  const all: Disruptions = { legs, newlyDisruptive: [], newDisruptions: [] };
  const isSmall = count <= TESTS_AT_ONCE;
  const ranges = isSmall ? [ALL_TESTS] : rangesOfTests(
    await loadFailedTestNos(tx, { repositoryId, isAtVersion, others: negatives?.testNos ?? [] }),
  );
  for (const range of ranges) {
    const own = negatives?.ofTests(range) ?? [];
    const earlier = isSmall ? known : await loadNegatives(
      tx,
      repositoryId,
      tx`${isAtVersion} and n.test_no between ${range.first} and ${range.last}`,
    );
    const found = await detectInTests(tx, { repositoryId, runs, legs, own, earlier });
    for (const one of own) if (found.disruptions.has(one)) negatives!.markDisruption(one);
    all.newlyDisruptive.push(...found.newlyDisruptive);
    all.newDisruptions.push(...found.newDisruptions);
  }
  return all;
}

/** The tests with negative results at a code version, and others; ascending. */
async function loadFailedTestNos(
  tx: Queryable,
  { repositoryId, isAtVersion, others }: {
    repositoryId: number;
    isAtVersion: Fragment;
    others: Iterable<number>;
  },
): Promise<Int32Array> {
  const [row] = await tx<{ testNos: number[] | null }[]>`
    select array_to_json(array_agg(distinct n.test_no)) as "testNos"
    from submission s
    join negative_result n using (repository_id, submission_id)
    where s.repository_id = ${repositoryId} and ${isAtVersion}`;
  return Int32Array.from(new Set([...row!.testNos ?? [], ...others])).sort();
}

/** Detects the disruptions of some tests, of which all negative results at a code version are given. */
async function detectInTests(
  tx: Queryable,
  { repositoryId, runs, legs, own, earlier }: {
    repositoryId: number;
    /** All runs at the code version. */
    runs: (VersionRun & Run<"codeVersion">)[];
    legs: Legs<VersionRun> | null;
    own: NegativeResult[];
    earlier: NegativeResult[];
  },
): Promise<Omit<Disruptions, "legs"> & { disruptions: ReadonlySet<NegativeResult> }> {
  const negatives = [...own, ...earlier];
  const facts = await loadTestFacts(tx, { repositoryId, testNos: testNosOf(negatives) });
  const found = findDisruptions(runs, negatives, facts, { provesBetween: legs === null });
  if (legs) await withdrawUnproved(tx, { repositoryId, found, earlier, runs });
  const disruptions = new Set(found.flatMap((test) => test.disruptions));
  if (found.length === 0) return { disruptions, newlyDisruptive: [], newDisruptions: [] };
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

/**
 * Unmarks the disruptions of a code version that are not proved any more, because unnamed legs
 * were uploaded, and takes them out of the disruptive tests.
 */
async function withdrawUnproved(
  tx: Queryable,
  { repositoryId, found, earlier, runs }: {
    repositoryId: number;
    found: ReturnType<typeof findDisruptions>;
    /** All stored negative results of the code version. */
    earlier: NegativeResult[];
    runs: (VersionRun & Run<"codeVersion">)[];
  },
): Promise<void> {
  const proved = new Set(found.flatMap(({ disruptions }) => disruptions));
  const unproved = earlier.filter((one) => one.isDisruption && !proved.has(one));
  if (unproved.length === 0) return;
  await withdraw(tx, {
    repositoryId,
    testNos: testNosOf(unproved),
    isWithdrawn: ({ codeVersion }) => codeVersion === runs[0]!.codeVersion,
  });
}

/** Unmarks disruptions of tests, and derives the disruptive tests from those that are left. */
export async function withdraw(
  tx: Queryable,
  { repositoryId, testNos, isWithdrawn, isDeleted = () => false, findLeft = describeDisruptions }: {
    repositoryId: number;
    testNos: ReadonlySet<number>;
    /** Whether a disruption of these tests is none any more, unless `findLeft` finds it. */
    isWithdrawn(negative: NegativeResult & { codeVersion: string }): boolean;
    /** Whether a run or negative result is about to be deleted. */
    isDeleted?(one: { submissionId: string }): boolean;
    findLeft?: typeof findDisruptions;
  },
): Promise<void> {
  const ofTests = tx`n.is_disruption and n.test_no = any(${integersIn(tx, testNos)})`;
  const disruptions = await loadNegatives(tx, repositoryId, ofTests);
  const before = new Map<number, DisruptiveTest>();
  const after = new Map<number, DisruptiveTest>();
  const byVersion = Map.groupBy(disruptions, (disruption) => disruption.codeVersion);
  const codeVersions = [...byVersion.keys()];
  const runs = await loadVersionRuns(tx, { repositoryId, codeVersions });
  const runsOf = Map.groupBy(runs, (run) => run.codeVersion);
  const facts = await loadTestFacts(tx, { repositoryId, testNos });
  const cleared = new Set<NegativeResult>();
  for (const [codeVersion, negatives] of byVersion) {
    const all = runsOf.get(codeVersion) ?? [];
    for (const { test } of describeDisruptions(all, negatives, facts)) {
      before.set(test.testNo, mergeDisruptive(before.get(test.testNo), test));
    }
    const kept = negatives.filter((one) => !isDeleted(one) && !isWithdrawn(one));
    const left = findLeft(all.filter((run) => !isDeleted(run)), kept, facts);
    const leftOver = new Set(left.flatMap(({ disruptions }) => disruptions));
    for (const one of negatives) if (!isDeleted(one) && !leftOver.has(one)) cleared.add(one);
    for (const { test } of left) {
      after.set(test.testNo, mergeDisruptive(after.get(test.testNo), test));
    }
  }
  await markDisruptions(tx, { repositoryId, negatives: [...cleared], isDisruption: false });
  const known = await loadDisruptiveTests(tx, { repositoryId, testNos });
  const tests = [...known.values()].flatMap((test) =>
    withoutSubmission(test, before.get(test.testNo), after.get(test.testNo)) ?? []
  );
  await storeDisruptiveTests(tx, { repositoryId, tests });
  const left = new Set(tests.map(({ testNo }) => testNo));
  const others = [...known.keys()].filter((testNo) => !left.has(testNo));
  await deleteDisruptiveTests(tx, { repositoryId, testNos: others });
}

function testNosOf(negatives: readonly NegativeResult[]): Set<number> {
  return new Set(negatives.map(({ testNo }) => testNo));
}

/** What the rules of repetition want to know about tests that failed. */
async function loadTestFacts(
  sql: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos: ReadonlySet<number> },
): Promise<TestFacts> {
  type Row = TestIdentity & { testNo: number };
  const rows = await sql<Row[]>`
    select test_no as "testNo", suite, class, name, file from test
    where repository_id = ${repositoryId} and test_no = any(${integersIn(sql, testNos)})`;
  const withFile = new Set(rows.filter(({ file }) => file !== "").map(({ testNo }) => testNo));
  const setUps = rows.filter(isSetUp);
  const groups = new Map<string, { tests: number[]; setUps: number[] }>();
  const groupOfTest = new Map<number, string>();
  for (const row of setUps) {
    const group = groupOf(row);
    groups.set(group, { tests: [], setUps: [] });
    groupOfTest.set(row.testNo, group);
  }
  const named = (kind: string) =>
    textsIn(
      sql,
      [...groups.keys()].filter((group) => group.startsWith(`${kind} `))
        .map((group) => group.slice(kind.length + 1)),
    );
  const members = groups.size === 0 ? [] : await sql<Row[]>`
    select test_no as "testNo", suite, class, name, file from test
    where repository_id = ${repositoryId} and (file = any(${named("file")})
      or class = any(${named("class")}) or suite = any(${named("suite")})
      or test_no = any(${integersIn(sql, groupOfTest.keys())}))`;
  for (const row of members) {
    const group = groups.get(groupOf(row));
    if (group) (isSetUp(row) ? group.setUps : group.tests).push(row.testNo);
  }
  return {
    hasFile: (testNo) => withFile.has(testNo),
    setUpOf: (testNo) => groups.get(groupOfTest.get(testNo) ?? ""),
  };
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
async function loadVersionRuns(
  sql: Queryable,
  { repositoryId, codeVersions }: { repositoryId: number; codeVersions: string[] },
): Promise<(VersionRun & Run<"codeVersion">)[]> {
  return await loadRuns(sql, {
    repositoryId,
    columns: [
      "codeVersion",
      "commitOid",
      "buildUrl",
      "job",
      "shard",
      "attempt",
      "tests",
      "results",
    ],
    where: hasCodeVersion(sql, codeVersions),
  });
}

/** Marks negative results as disruptions, or unmarks them. */
async function markDisruptions(
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
async function deleteDisruptiveTests(
  sql: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos: Iterable<number> },
): Promise<void> {
  await sql`
    delete from disruptive_test
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(sql, testNos)})`;
}
