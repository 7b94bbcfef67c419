import { plural } from "../base/text.ts";
import { SECONDS_PER_DAY } from "../base/time.ts";
import type { Quarantine } from "./quarantine.ts";
import { type Run, type RunColumns, SelectedTests } from "./run.ts";
import { isMassFailure } from "./test_counts.ts";
import { basePatterns, countsForBase, isOfQueue } from "../evidence/base_branch.ts";
import type { Patterns } from "../query/submission_filter.ts";

/** The values of a policy, durations in seconds. */
export interface QuarantinePolicy {
  /** Minimum number of disruptions in the window to enter. */
  disruptions: number;
  /** Minimum number of code versions with a disruption; those of one change count as one. */
  codeVersions: number;
  /** Minimum number of positive and negative results in the window. */
  minResults: number;
  /** Maximum number of automatic entries of a repository. */
  maxTests: number;
  /** Minimum number of passes since the last failure to leave. */
  releasePasses: number;
  /** Minimum time since the last failure to leave. */
  releaseAfter: number;
  /** Length of an entry. */
  expires: number;
}

/** Chosen by simulation: docs/decisions/quarantine_policy.md. */
export const DEFAULT_POLICY: QuarantinePolicy = {
  disruptions: 3,
  codeVersions: 3,
  minResults: 10,
  maxTests: 20,
  releasePasses: 50,
  releaseAfter: 7 * SECONDS_PER_DAY,
  expires: 30 * SECONDS_PER_DAY,
};

/** A test that passed fewer than half of its latest results is broken, not flaky. */
const LATEST_RESULTS = 20;
/** A test that fails again within this time after the policy released it enters again at once. */
export const RETURN_SECONDS = 60 * SECONDS_PER_DAY;
/** A test that failed at the end of each of its latest runs on the base branch is broken as well. */
const LATEST_BASE_RUNS = 5;

export interface PolicyRun {
  /** Seconds since 1970. */
  recordedAt: number;
  codeVersion: string;
  /** Its positive (true) and negative results, in the order of the report. */
  results: readonly boolean[];
  /** Whether the negative ones are disruptions that count: {@linkcode policyRuns}. */
  isDisrupted: boolean;
  isMassFailure: boolean;
  isOnBase: boolean;
  /** The change that is not on the base branch yet; `null` on it, and where the branch is unknown. */
  change: string | null;
}

export interface PolicyHistory {
  /** Oldest first: of the window, and since the last failure of a quarantined test. */
  runs: readonly PolicyRun[];
  /** `null` when it is not quarantined. */
  quarantine: Quarantine | null;
  /**
   * When it was last released or removed, or the end of a manual entry, in seconds since 1970; 0 for never.
   * The end of an automatic entry does not count: a test that is still flaky enters again.
   */
  leftAt: number;
  /** When the policy last released it, in seconds since 1970; 0 for never. */
  releasedAt: number;
  /** Whether it stood for several tests of one name in a report of the window. */
  isAmbiguous: boolean;
  /** Whether it failed in its disruptions of the window only because a subtest did. */
  failsWithSubtests: boolean;
}

/** The ids of the runs whose environment was probably broken, by the number of tests that failed. */
export function massFailures(runs: readonly Run<"results">[]): Set<string> {
  const found = runs.filter(({ results }) => isMassFailure(results.testCounts()));
  return new Set(found.map(({ submissionId }) => submissionId));
}

/**
 * The runs of some tests, by test_no: those with a positive or negative result. A disruption counts only if
 * the test was repeated in a known job or within the run: without a job, two uploads may be of different
 * configurations, and quarantine would hide what fails in one of them.
 *
 * @param runs oldest first
 * @param options.isBaseGuessed whether the base branch may be that of a change
 * @param options.disrupted the tests whose disruptions in a submission count
 */
export function policyRuns(
  runs: readonly Run<"codeVersion" | "branch" | "queueBase" | "pullNumber" | "job" | "results">[],
  { testNos, brokenRuns, base, isBaseGuessed, disrupted }: {
    testNos: ReadonlySet<number>;
    brokenRuns: ReadonlySet<string>;
    base: string;
    isBaseGuessed: boolean;
    disrupted: (submissionId: string) => readonly number[];
  },
): Map<number, PolicyRun[]> {
  const found = new Map(Array.from(testNos, (testNo): [number, PolicyRun[]] => [testNo, []]));
  const selected = new SelectedTests(testNos);
  const patterns = basePatterns(base);
  const changeOf = changesOf(runs, isBaseGuessed ? [] : patterns);
  for (const { submissionId, recordedAt, codeVersion, results, ...run } of runs) {
    const disruptedHere = new Set(disrupted(submissionId));
    const isMassFailure = brokenRuns.has(submissionId);
    const isOnBase = countsForBase({ ...run, branch: run.branch ?? "" }, patterns);
    const change = changeOf(run);
    results.each(selected, (testNo, { kinds }) => {
      const results = kinds.filter((kind) => kind === "positive" || kind === "negative")
        .map((kind) => kind === "positive");
      if (results.length === 0) return;
      const isDisrupted = disruptedHere.has(testNo) && (run.job !== "" || results.includes(true));
      found.get(testNo)!.push(
        { recordedAt, codeVersion, results, isDisrupted, isMassFailure, isOnBase, change },
      );
    });
  }
  return found;
}

type ChangeColumns = Pick<RunColumns, "branch" | "queueBase" | "pullNumber">;

/** Says which change a run tests: a pull request, or else a branch; `null` as {@linkcode PolicyRun.change}. */
function changesOf(
  runs: readonly ChangeColumns[],
  base: Patterns,
): (run: ChangeColumns) => string | null {
  // A branch may run before its pull request is opened.
  const pulls = new Map(
    runs.flatMap(({ branch, pullNumber }) => branch && pullNumber ? [[branch, pullNumber]] : []),
  );
  return ({ pullNumber, ...run }) => {
    const branch = run.branch ?? "";
    const isOfBase = countsForBase({ ...run, branch }, base);
    if (isOfBase && !isOfQueue({ ...run, branch })) return null;
    const pull = pullNumber ?? (isOfBase ? null : pulls.get(branch));
    if (pull) return `#${pull}`;
    return isOfBase ? null : branch || null;
  };
}

export interface PolicyDecision {
  action: "enter" | "stay" | "leave" | "skip";
  reason: string;
}

/** When a policy is applied, in seconds since 1970. */
export interface PolicyMoment {
  now: number;
  /** First second of the window. */
  windowStart: number;
}

/**
 * Decides about the tests of one repository. When there are more candidates than `maxTests` allows,
 * those with the most disruptions enter.
 *
 * @param automaticCount number of automatically quarantined tests
 * @returns a decision for each test, in the same order
 */
export function decideQuarantine<Test extends { history: PolicyHistory }>(
  tests: readonly Test[],
  policy: QuarantinePolicy,
  { automaticCount, baseBranch, ...moment }: PolicyMoment & {
    automaticCount: number;
    baseBranch: string;
  },
): (PolicyDecision & { test: Test })[] {
  const decided = tests.map((test) => {
    const evidence = evidenceOf(test.history, moment);
    return {
      test,
      evidence,
      ...decideAlone(test.history, evidence, policy, { now: moment.now, baseBranch }),
    };
  });
  let free = policy.maxTests - automaticCount +
    decided.filter(({ action }) => action === "leave").length;
  const entering = decided.filter(({ action }) => action === "enter")
    .sort((a, b) => b.evidence.disruptions - a.evidence.disruptions);
  for (const decision of entering) {
    if (free-- > 0) continue;
    decision.action = "skip";
    decision.reason += `, but the limit of automatic entries is ${policy.maxTests}`;
  }
  return decided.map(({ evidence: _, ...decision }) => decision);
}

/** Decides about one test, regardless of `maxTests`. */
function decideAlone(
  history: PolicyHistory,
  evidence: Evidence,
  policy: QuarantinePolicy,
  { now, baseBranch }: { now: number; baseBranch: string },
): PolicyDecision {
  const { disruptions, disruptedAt, codeVersions, changes, results, latest } = evidence;
  const release = releaseOf(history, policy, now);
  if (history.quarantine?.quarantineType === "manual") {
    return { action: "stay", reason: "quarantined manually" };
  }
  if (history.quarantine) {
    return { action: release.isReleased ? "leave" : "stay", reason: release.text };
  }
  const passed = latest.filter((isPositive) => isPositive).length;
  const places = [
    ...codeVersions > 0 || changes === 0 ? [`at ${plural(codeVersions, "code version")}`] : [],
    ...changes > 0 ? [`of ${plural(changes, "change")}`] : [],
  ].join(" and ");
  const found = `${plural(disruptions, "disruption")} ${places}, ` +
    `${passed} of its last ${latest.length} results passed`;
  const skip = (why: string): PolicyDecision => ({ action: "skip", reason: `${found}: ${why}` });
  const { releasedAt, leftAt } = history;
  // Decided by the time of the failure: the policy may be applied later.
  const isBack = releasedAt === leftAt && evidence.isBack;
  if (!isBack && disruptions < policy.disruptions) {
    return skip(`needs ${plural(policy.disruptions, "disruption")}`);
  }
  if (!isBack && codeVersions + changes < policy.codeVersions) {
    const needed = plural(policy.codeVersions, "code version");
    return skip(`needs ${needed} or ${policy.codeVersions === 1 ? "change" : "changes"}`);
  }
  if (!isBack && results < policy.minResults) {
    return skip(`needs ${plural(policy.minResults, "result")}`);
  }
  if (history.isAmbiguous) {
    return skip("a report has several tests of this name, which may be what differs");
  }
  if (history.failsWithSubtests) return skip("it fails only with its subtests, which count");
  if (passed * 2 < latest.length) return skip("broken, not flaky");
  if (evidence.failsOnBase) {
    return skip(
      `it failed in each of its last ${LATEST_BASE_RUNS} runs on ${baseBranch}: broken, not flaky`,
    );
  }
  if (evidence.isOneStretch && disruptions > 1) {
    return skip("it never passed between them: broken, not flaky");
  }
  // It would leave immediately.
  if (release.isReleased) return skip(release.text);
  const days = Math.floor((disruptedAt - releasedAt) / SECONDS_PER_DAY);
  const again = isBack ? `: it failed again ${plural(days, "day")} after its release` : "";
  return { action: "enter", reason: `${found}${again}` };
}

/** Evidence for entering: results of the window, since `leftAt`. */
interface Evidence {
  disruptions: number;
  /** When the first of them was, in seconds since 1970; infinity without any. */
  disruptedAt: number;
  /** Code versions with a disruption, of runs that are of no change. */
  codeVersions: number;
  /** Changes with a disruption: each may have caused its own. */
  changes: number;
  /** Whether the base branch, or more than one change, has a disruption within 60 days after the release. */
  isBack: boolean;
  results: number;
  /** At most 20, oldest first. */
  latest: boolean[];
  /** Whether it never passed between the first and the last disruption. */
  isOneStretch: boolean;
  /** Whether its final attempt failed in each of its latest runs on the base branch. */
  failsOnBase: boolean;
}

/** How many changes some runs are of, and at how many code versions the others are. */
function spreadOf(runs: readonly PolicyRun[]): { codeVersions: number; changes: number } {
  const ofNoChange = runs.filter(({ change }) => change === null);
  return {
    codeVersions: new Set(ofNoChange.map(({ codeVersion }) => codeVersion)).size,
    changes: new Set(runs.flatMap(({ change }) => change ?? [])).size,
  };
}

function evidenceOf(
  { runs, leftAt, releasedAt }: PolicyHistory,
  { windowStart }: PolicyMoment,
): Evidence {
  const since = Math.max(windowStart, leftAt);
  const counting = runs.filter((run) => run.recordedAt >= since && !run.isMassFailure);
  const disrupted = counting.filter(({ isDisrupted }) => isDisrupted);
  const results = counting.flatMap((run) => run.results);
  const stretch = counting.slice(
    counting.findIndex(({ isDisrupted }) => isDisrupted),
    counting.findLastIndex(({ isDisrupted }) => isDisrupted) + 1,
  ).flatMap((run) => run.results);
  const soon = spreadOf(
    disrupted.filter(({ recordedAt }) => recordedAt < releasedAt + RETURN_SECONDS),
  );
  const onBase = counting.filter(({ isOnBase }) => isOnBase).slice(-LATEST_BASE_RUNS);
  return {
    disruptions: disrupted.flatMap((run) => run.results).filter((isPositive) => !isPositive).length,
    disruptedAt: disrupted[0]?.recordedAt ?? Infinity,
    ...spreadOf(disrupted),
    isBack: soon.codeVersions > 0 || soon.changes > 1,
    results: results.length,
    latest: results.slice(-LATEST_RESULTS),
    isOneStretch: !stretch.slice(stretch.indexOf(false), stretch.lastIndexOf(false)).includes(true),
    failsOnBase: onBase.length === LATEST_BASE_RUNS &&
      onBase.every((run) => run.results.at(-1) === false),
  };
}

/** Whether a test has passed long enough since its last failure, with the reason. */
function releaseOf(
  { runs, quarantine }: PolicyHistory,
  { releasePasses, releaseAfter }: QuarantinePolicy,
  now: number,
): { isReleased: boolean; text: string } {
  // A test that never failed counts from the start of its quarantine.
  let [since, event, passes] = [quarantine?.quarantinedAt ?? now, "it was quarantined", 0];
  for (const { recordedAt, results } of runs) {
    for (const isPositive of results) {
      if (!isPositive) [since, event, passes] = [recordedAt, "its last failure", 0];
      else if (recordedAt >= since) passes++;
    }
  }
  const days = Math.floor((now - since) / SECONDS_PER_DAY);
  const text = `passed ${plural(passes, "time")} since ${event} ${plural(days, "day")} ago`;
  return { isReleased: passes >= releasePasses && now - since >= releaseAfter, text };
}
