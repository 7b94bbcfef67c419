// Tests: tests/db/write/store_submission_test.ts
/** Negative results of a submission, detection of disruptions at its code version, and their withdrawal. */
import { isDeepStrictEqual } from "node:util";
import {
  describeDisruptions,
  type DisruptiveTest,
  findDisruptions,
  mergeDisruptive,
  type NegativeResult,
  type VersionRun,
  withoutSubmission,
} from "../../lib/analysis/disruptions.ts";
import {
  findLegs,
  type Legs,
  REPETITION_COLUMNS,
} from "../../lib/analysis/repetition/submissions.ts";
import type { Run } from "../../lib/analysis/run.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { type Fragment, integersIn, type Queryable } from "../connection/sql.ts";
import { hasCodeVersion } from "../read/fragments.ts";
import { loadRuns } from "../read/runs.ts";
import {
  deleteDisruptiveTests,
  loadDisruptiveTests,
  storeDisruptiveTests,
} from "./disruptive_tests.ts";
import { insertNegatives, loadNegatives, markDisruptions } from "./negative_rows.ts";
import {
  type NewNegatives,
  rangesOfTests,
  type TestRange,
  TESTS_AT_ONCE,
} from "../../lib/analysis/new_negatives.ts";
import { loadTestFacts } from "../read/test_facts.ts";
import { mayBeLeg, noteOfLegs } from "./unnamed_legs.ts";

/** A negative result that an upload has made a disruption: its own, or an earlier one. */
export type NewDisruption = Pick<NegativeResult, "testNo" | "submissionId" | "resultNo">;

/** The outcome of a detection. */
interface Disruptions {
  /** Runs of its code version that nothing distinguishes. */
  legs: Legs<VersionRun> | null;
  newlyDisruptive: TestIdentity[];
  newDisruptions: NewDisruption[];
}

const ALL_TESTS: TestRange = { first: 0, last: 2 ** 31 - 1 };

/** The outcome where nothing can be a disruption. */
const NO_DISRUPTIONS: Disruptions = { legs: null, newlyDisruptive: [], newDisruptions: [] };

/**
 * Stores the negative results of a submission that was inserted, and finds the disruptions at its code
 * version: each row is written once, with the outcome.
 */
export async function storeNegatives(
  tx: Queryable,
  repositoryId: number,
  { negatives, mayBeDisruptions, ...run }: NewRun & {
    negatives: NewNegatives;
    /** False for most uploads, which saves three statements. */
    mayBeDisruptions: boolean;
  },
): Promise<StoredNegatives> {
  const { newlyDisruptive, newDisruptions, legs } = mayBeDisruptions
    ? await detectDisruptions(tx, { repositoryId, negatives, ...run })
    : NO_DISRUPTIONS;
  await insertNegatives(tx, repositoryId, negatives);
  return {
    disruptionCount: negatives.disruptionCount,
    newlyDisruptive,
    newDisruptions,
    legsNote: legs && await noteOfLegs(tx, repositoryId, run.submissionId, legs),
  };
}

interface StoredNegatives extends Pick<Disruptions, "newlyDisruptive" | "newDisruptions"> {
  disruptionCount: number;
  /** The note about a submission that cannot be distinguished from another of its job; otherwise `null`. */
  legsNote: string | null;
}

interface NewRun {
  submissionId: string;
  codeVersion: string;
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

export async function loadVersionRuns(
  sql: Queryable,
  { repositoryId, codeVersions }: { repositoryId: number; codeVersions: string[] },
): Promise<(VersionRun & Run<"codeVersion">)[]> {
  return await loadRuns(sql, {
    repositoryId,
    columns: [
      "codeVersion",
      "commitOid",
      ...REPETITION_COLUMNS,
      "tests",
      "results",
    ],
    where: hasCodeVersion(sql, codeVersions),
  });
}
