/**
 * The tests that lists can show of a repository, at one state of its data and one window. What an
 * upload changes is little, and what falls out of the window is too: a state follows from an earlier
 * one and what came and went since.
 */
import type { WindowVersion } from "../base/data_version.ts";
import { type Run, RunCounts, type TestLists } from "./run_counts.ts";
import type { TrackedTest } from "./tracked_test.ts";

/** All of a tracked test that does not follow from the runs of the window. */
export type KnownTest = Omit<TrackedTest, "countedResultCount" | "timeConsumed">;

/** A submission of the window, or one that fell out of it. */
export interface RecordedRun extends Run {
  /** Seconds since 1970. */
  recordedAt: number;
}

/** Which state of a repository's data this is. */
export interface StateVersion extends WindowVersion {
  /** How many steps of `dataVersion` only added submissions, counted from anywhere. */
  additionCount: number;
}

/** Tests of a repository, and all that it takes to go on from them. */
export interface TestsState {
  version: StateVersion;
  /** First second of the window, since 1970. */
  windowStart: number;
  /** Disruptive in the window or quarantined, by test_no. */
  tests: ReadonlyMap<number, TrackedTest>;
  /** When the processed submissions of the window were recorded, in no particular order. */
  recordedAts: readonly number[];
  /** Of the window. */
  runs: RunCounts;
}

/** What tells a state from an earlier one. */
export interface StateChanges {
  version: StateVersion;
  windowStart: number;
  /** Submissions of the window that came since. */
  added: readonly RecordedRun[];
  /** Submissions that fell out of the window since. */
  fallen: readonly RecordedRun[];
  lists: TestLists;
  /** Tests of which an upload since may have changed anything, as they are now, by test_no. */
  changedTests: ReadonlyMap<number, KnownTest>;
  /** Disruptions that fell out of the window since, by test_no; of changed tests they do not count. */
  fallenDisruptions: ReadonlyMap<number, number>;
  /** Tags of tests, sorted, by test_no; those of all others are what they were. */
  tags: ReadonlyMap<number, string[]>;
}

/** A state in which nothing came yet. */
export function emptyState({ withTime }: { withTime: boolean }): TestsState {
  return {
    version: { createdAt: 0, dataVersion: 0, additionCount: 0, oldestSubmissionId: null },
    windowStart: 0,
    tests: new Map(),
    recordedAts: [],
    runs: RunCounts.none({ withTime }),
  };
}

/**
 * Whether what came since can be told: no change but additions, and a window that did not go back.
 */
export function leadsTo(
  state: TestsState,
  { version, windowStart }: Pick<StateChanges, "version" | "windowStart">,
): boolean {
  const { createdAt, dataVersion, additionCount } = state.version;
  return createdAt === version.createdAt && dataVersion <= version.dataVersion &&
    dataVersion - additionCount === version.dataVersion - version.additionCount &&
    state.windowStart <= windowStart;
}

/**
 * The state that a state has become; the earlier one stays what it is. `null` when a submission that
 * fell out of the window is not there any more, so that it cannot be told what it had counted for.
 */
export function advance(state: TestsState, changes: StateChanges): TestsState | null {
  const { version, windowStart, added, fallen, lists } = changes;
  const remaining = state.recordedAts.filter((recordedAt) => recordedAt >= windowStart);
  if (state.recordedAts.length - remaining.length !== fallen.length) return null;
  const runs = state.runs.changed({ added, removed: fallen, lists });

  const tests = new Map<number, TrackedTest>();
  const take = (testNo: number, test: KnownTest) => {
    if (test.disruptionCount === 0 && test.quarantine === null) return;
    tests.set(testNo, {
      ...test,
      countedResultCount: runs.resultsOf(testNo),
      timeConsumed: runs.microsecondsOf(testNo),
    });
  };
  for (const [testNo, test] of state.tests) {
    if (changes.changedTests.has(testNo)) continue;
    const disruptionCount = test.disruptionCount - (changes.fallenDisruptions.get(testNo) ?? 0);
    take(testNo, { ...test, disruptionCount, tags: changes.tags.get(testNo) ?? test.tags });
  }
  for (const [testNo, test] of changes.changedTests) take(testNo, test);
  return {
    version,
    windowStart,
    tests,
    recordedAts: [...remaining, ...added.map(({ recordedAt }) => recordedAt)],
    runs,
  };
}
