// Tests: tests/oracle/truths_test.ts
/** The code versions of tests on a branch, and what they show of failures. Without a database. */
import type { TestFacts } from "../analysis/disruptions.ts";
import { ImpliedPasses } from "../analysis/repetition/implied_passes.ts";
import { findLegs, REPETITION_COLUMNS } from "../analysis/repetition/submissions.ts";
import { type Run, SelectedTests } from "../analysis/run.ts";
import {
  isLong,
  MIN_FAILED_VERSIONS,
  runsAt,
  stretchAt,
  type TestOutcome,
  type Truth,
  truthAt,
  type VersionRuns,
} from "./truth.ts";

/** What is read of runs to find out what is true of failures. */
export const TRUTH_COLUMNS = [
  "branch",
  "code",
  ...REPETITION_COLUMNS,
  "isOutage",
  "tests",
  "results",
] as const;

export type TruthRun = Run<typeof TRUTH_COLUMNS[number]>;

/** How many code versions away a stretch of failures can begin or end. */
const REACH = MIN_FAILED_VERSIONS - 1;

/** All runs of some code versions, in one environment and job. */
export interface VersionsOfBranch {
  branch: string;
  /** Oldest first, with runs of the same code on other branches. */
  runs: readonly TruthRun[];
  /** The first run on the branch that is here, if there are earlier ones. */
  since: string | null;
  /** The last one, if there are later ones. */
  until: string | null;
}

interface TestVersion {
  code: string;
  /** Submissions with the test on the branch, oldest first: the first is its place in the history. */
  onBranch: string[];
  /** Submissions in which it failed, oldest first. */
  failedIds: string[];
  /** The submissions of `outcomes` in which it failed. */
  countedIds: string[];
  /** In all its runs, without failures in outages, which say nothing about the code. */
  outcomes: TestOutcome[];
}

/** The code versions at which a test ran on a branch outside of outages, in the order of their first runs there. */
export interface VersionHistory {
  testNo: number;
  versions: readonly TestVersion[];
  ran: readonly VersionRuns[];
}

/** What a failure turned out to be. */
export interface FoundTruth {
  testNo: number;
  /** Of its submission. */
  id: string;
  code: string;
  truth: Truth | null;
  /** Whether it failed before at the same code version. */
  isRepeat: boolean;
}

/** What the runs of one code version show by themselves of the failures there. */
export function truthsOfVersion(
  runs: readonly TruthRun[],
  testNos: readonly number[],
  facts: TestFacts,
): FoundTruth[] {
  const versions = versionsOf(runs, { testNos, facts, isOnBranch: () => true });
  const hasLegs = findLegs(runs) !== null;
  return [...versions].flatMap(([testNo, ofTest]) =>
    [...ofTest.values()].flatMap((version) => {
      const ran = runsAt(version.outcomes, { hasLegs, hasFile: facts.hasFile(testNo) });
      return failuresOf(testNo, version, version.outcomes.length === 0 ? null : truthAt([ran], 0));
    })
  );
}

function failuresOf(
  testNo: number,
  { code, failedIds }: TestVersion,
  truth: Truth | null,
): FoundTruth[] {
  return failedIds.map((id, repeat) => ({ testNo, id, code, truth, isRepeat: repeat > 0 }));
}

/** What the runs of a branch show of tests. */
export function versionHistories(
  { branch, runs, since }: VersionsOfBranch,
  testNos: readonly number[],
  facts: TestFacts,
): VersionHistory[] {
  const withLegs = new Set(
    Map.groupBy(runs, ({ code }) => code).entries()
      .filter(([, own]) => findLegs(own) !== null).map(([code]) => code),
  );
  const isOnBranch = (run: TruthRun) => run.branch === branch;
  return Array.from(versionsOf(runs, { testNos, facts, isOnBranch }), ([testNo, ofTest]) => {
    const versions = [...ofTest.values()]
      // Between one that began earlier and the next there may be others.
      .filter(({ onBranch: [first], outcomes }) =>
        first !== undefined && first >= (since ?? "") && outcomes.length > 0
      )
      .sort((a, b) => a.onBranch[0]! < b.onBranch[0]! ? -1 : 1);
    const ran = versions.map(({ code, outcomes }) =>
      runsAt(outcomes, { hasLegs: withLegs.has(code), hasFile: facts.hasFile(testNo) })
    );
    return { testNo, versions, ran };
  });
}

const IMPLIED_PASS = { positive: 1, negative: 0 };

/** How each test ran at each code version. */
function versionsOf(
  runs: readonly TruthRun[],
  { testNos, facts, isOnBranch }: {
    testNos: readonly number[];
    facts: TestFacts;
    isOnBranch: (run: TruthRun) => boolean;
  },
): Map<number, Map<string, TestVersion>> {
  const byTest = new Map(testNos.map((testNo) => [testNo, new Map<string, TestVersion>()]));
  const selected = new SelectedTests(testNos);
  const implied = new ImpliedPasses(testNos, facts.setUpOf);
  for (const run of runs) {
    const { submissionId, code, isOutage, results } = run;
    const add = (
      testNo: number,
      { positive, negative }: { positive: number; negative: number },
    ) => {
      if (positive + negative === 0) return;
      const ofTest = byTest.get(testNo)!;
      let found = ofTest.get(code);
      if (!found) {
        found = { code, onBranch: [], failedIds: [], countedIds: [], outcomes: [] };
        ofTest.set(code, found);
      }
      if (isOnBranch(run)) found.onBranch.push(submissionId);
      if (negative > 0) found.failedIds.push(submissionId);
      if (positive === 0 && isOutage) return;
      if (negative > 0) found.countedIds.push(submissionId);
      found.outcomes.push({ run, hasPassed: positive > 0, hasFailed: negative > 0 });
    };
    results.each(selected, (testNo, { counts }) => add(testNo, counts));
    for (const testNo of implied.in(results)) add(testNo, IMPLIED_PASS);
  }
  return byTest;
}

export function failedTests(runs: readonly Pick<TruthRun, "results">[]): Set<number> {
  const failed = new Set<number>();
  for (const { results } of runs) {
    results.eachException((testNo, { counts }) => {
      if (counts.negative > 0) failed.add(testNo);
    });
  }
  return failed;
}

/** At how many code versions besides one each test failed; of some tests. */
export function failedVersionCounts(
  runs: readonly TruthRun[],
  { code, testNos }: { code: string; testNos: Int32Array },
): Map<number, number> {
  const selected = new SelectedTests(testNos);
  const counts = new Map<number, number>();
  for (const [one, own] of Map.groupBy(runs, (run) => run.code)) {
    if (one === code) continue;
    const failed = new Set<number>();
    for (const { results } of own) {
      results.eachExceptionOf(selected, (testNo, { counts }) => {
        if (counts.negative > 0) failed.add(testNo);
      });
    }
    for (const testNo of failed) counts.set(testNo, (counts.get(testNo) ?? 0) + 1);
  }
  return counts;
}

/**
 * Selects tests that may have failed at the code versions next to a place on both sides: a pass there ends
 * stretches of their failures. Without this, the histories of all that failed often would be loaded.
 *
 * @param places submissions, 24 hex digits
 */
export function testsBetweenFailures(
  { branch, runs }: VersionsOfBranch,
  { code, testNos, places }: { code: string; testNos: Int32Array; places: readonly string[] },
): Int32Array {
  if (testNos.length === 0) return testNos;
  const selected = new SelectedTests(testNos);
  const byCode = Map.groupBy(runs.filter((run) => run.code !== code), (run) => run.code);
  const versions = Array.from(byCode.values(), (own) => {
    // The place of the version among the runs with each test, counted from 1.
    const first = new Int32Array(testNos.length);
    const hasFailed = new Uint8Array(testNos.length);
    for (const run of own) {
      const ran = selected.ranIn(run.tests);
      run.results.eachExceptionOf(selected, (testNo, { counts: { positive, negative } }) => {
        const place = selected.placeOf(testNo);
        if (positive + negative === 0) ran[place] = 0;
        if (negative > 0) hasFailed[place] = 1;
      });
      if (run.branch !== branch) continue;
      const runNo = runs.indexOf(run) + 1;
      for (let place = 0; place < ran.length; place++) {
        if (ran[place] === 1) first[place] ||= runNo;
      }
    }
    return { first, hasFailed };
  });
  const runNos = places.map((id) => 1 + runs.filter((run) => run.submissionId < id).length);
  return testNos.filter((_, place) =>
    runNos.some((runNo) => {
      let [before, after] = [-1, -1];
      for (const [index, { first }] of versions.entries()) {
        if (first[place] === 0) continue;
        if (first[place]! < runNo) {
          if (before < 0 || first[place]! > versions[before]!.first[place]!) before = index;
        } else if (after < 0 || first[place]! < versions[after]!.first[place]!) after = index;
      }
      return versions[before]?.hasFailed[place] === 1 && versions[after]?.hasFailed[place] === 1;
    })
  );
}

/** Code versions on either side that decide: those in reach, and those that their stretches need. */
const NEIGHBOURING_VERSIONS = 2 * REACH;

/**
 * Whether there are as many code versions on both sides of a place as decide what is true of tests there, and the tests
 * that ran at fewer of them.
 */
export function findSeldom(
  { branch, runs, since, until }: VersionsOfBranch,
  { code, first, testNos }: { code: string; first: string; testNos: Int32Array },
): { isEnough: boolean; seldom: Int32Array } {
  const selected = new SelectedTests(testNos);
  const onBranch = runs.filter((run) => run.branch === branch && run.code !== code);
  const versions = [...Map.groupBy(onBranch, (run) => run.code).values()];
  const counts = [true, false].filter((isBefore) => (isBefore ? since : until) !== null)
    .map((isBefore) => {
      const ofSide = versions.filter((own) => own[0]!.submissionId < first === isBefore);
      const ofTests = new Int32Array(testNos.length);
      for (const own of ofSide) {
        const ran = new Set<number>();
        for (const tests of new Set(own.map((run) => run.tests))) {
          for (const index of selected.indexesIn(tests)) {
            ran.add(selected.placeOf(tests.testNos[index]!));
          }
        }
        for (const place of ran) ofTests[place]!++;
      }
      return { ofAll: ofSide.length, ofTests };
    });
  return {
    isEnough: counts.every(({ ofAll }) => ofAll >= NEIGHBOURING_VERSIONS),
    seldom: testNos.filter((_, place) =>
      counts.some(({ ofTests }) => ofTests[place]! < NEIGHBOURING_VERSIONS)
    ),
  };
}

/** Each failure once: what one branch shows of it, or another. */
export function mergeTruths(found: readonly FoundTruth[]): FoundTruth[] {
  const merged = new Map<string, FoundTruth>();
  for (const one of found) {
    const key = `${one.id} ${one.testNo}`;
    const known = merged.get(key);
    if (!known || known.truth === null) merged.set(key, one);
  }
  return [...merged.values()];
}

/**
 * The truths of the failures next to a code version of which a run came or went, that of its own included. They also
 * change where it stood before: its place is its first run with the test.
 */
export function truthsAround(
  history: VersionHistory,
  changed: { code: string; submissionId: string },
): FoundTruth[] {
  const { testNo, versions, ran } = history;
  return indexesAround(history, changed).flatMap((index) =>
    failuresOf(testNo, versions[index]!, truthAt(ran, index))
  );
}

/** Whether what is true around a code version depends on code versions that were not loaded. */
export function needsMore(
  history: VersionHistory,
  { since, until }: Pick<VersionsOfBranch, "since" | "until">,
  changed: { code: string; submissionId: string },
): boolean {
  const { versions, ran } = history;
  return indexesAround(history, changed).some((index) => {
    if (ran[index]!.hasPassed) return false;
    const stretch = stretchAt(ran, index);
    return !isLong(stretch) &&
      (since !== null && stretch.start === 0 || until !== null && stretch.end === versions.length);
  });
}

function indexesAround(
  { versions }: VersionHistory,
  { code, submissionId }: { code: string; submissionId: string },
): number[] {
  const own = versions.find((one) => one.code === code)?.onBranch ?? [];
  const places = [submissionId, ...own.slice(0, 2)].map((id) => {
    const place = versions.findIndex(({ onBranch }) => onBranch[0]! >= id);
    return place === -1 ? versions.length : place;
  });
  return [...versions.keys()].filter((index) =>
    places.some((place) => Math.abs(index - place) <= REACH)
  );
}
