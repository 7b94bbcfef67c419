/** The digest: changes in flaky and quarantined tests during a period that ends now. */
import type { TestIdentity } from "../base/identity.ts";
import { compareTexts } from "../base/text.ts";
import { type GroupedBy, rowsOfGroups } from "../evidence/groups.ts";
import { compareFailureRates } from "../evidence/states.ts";
import type { FailingRuns } from "../evidence/test_evidence.ts";
import { countJobs, NO_RED_JOBS, type RedJobs } from "./red_jobs.ts";
import { formatTenths, tenthsOfPercent } from "../badge/percentage.ts";

interface DigestTest extends TestIdentity {
  /** 24 lower-case hex digits. */
  id: string;
  /** `owner/name`. */
  repository: string;
  /** Its `owner:` tags without the prefix, sorted. */
  owners: readonly string[];
}

/** A test that was disruptive in the window that ends now, or in the one before the period. */
export interface DisruptedTest extends DigestTest {
  /** In the window that ends now. */
  disruptions: number;
  /** In the window that ended when the period began. */
  disruptions_before: number;
  disruptions_in_period: number;
  /** Builds with a disruption in the period. */
  builds: number;
  /** Whether its first disruption ever was in the period. */
  is_new: boolean;
}

export interface DigestEntry extends DigestTest {
  /** When it began; of entries in `quarantine_ends`, when it ends. `YYYY-MM-DDTHH:MM:SSZ`. */
  at: string;
  reason: string | null;
  owner: string | null;
  /** Patterns of the environments that it is limited to, separated by commas; `null` for all. */
  environment: string | null;
}

/** An entry that began in the period. */
export interface DigestBegin extends DigestEntry {
  /** When it ended or was removed; `null` while the test is quarantined. */
  ended_at: string | null;
}

/** A test by its history on the base branch. */
export interface DigestState extends DigestTest {
  /** Runs of the last segment, and those that failed. */
  runs: number;
  failures: number;
  /** What makes it broken although not all runs of the segment failed. */
  failing_runs: FailingRuns | null;
  /** Where the segment began: after `from`, up to `to`; `null` when all stored runs are in it. */
  since: { from: string; to: string; changes: number } | null;
  last_run_at: string;
}

/** A test of which all of the latest runs failed. */
export interface DigestBroken extends DigestState {
  /** Whether its job runs without it since. */
  has_stopped: boolean;
}

/** A test that failed before and passes since, but not yet often enough to be called calm. */
export interface DigestProof extends DigestTest {
  /** Passes since its last failure, and how many are needed. */
  passes: number;
  passes_needed: number;
}

/** A test that had failures and that its job does not run any more. */
export interface DigestStopped extends DigestTest {
  last_run_at: string;
  /** Whether it had passed often enough to be called calm. */
  was_calm: boolean;
}

/** Tests that fail together, or one test alone. */
interface DigestFault {
  /** `owner/name`. */
  repository: string;
  /** Builds of the period with a flaky failure of one of them. */
  builds: number;
  /** Ids of the tests. */
  tests: string[];
  /** What joins them; `null` of one test. */
  grouped_by: GroupedBy | null;
}

/** Builds of a window. */
interface Builds {
  buildCount: number;
  disruptedBuildCount: number;
  /** Whether any code was run twice: otherwise no share of disrupted builds is known. */
  hasReruns: boolean;
}

/** Tests by state and quarantine entries, with the field names of the JSON. */
interface Entries {
  /** All of their latest runs on the base branch failed. */
  broken: DigestBroken[];
  /** They fail now and then on the base branch, and were not disruptive: nothing ran them again. */
  flaky_without_reruns: DigestState[];
  /** They failed, and pass since: whether they are repaired is not proved yet. */
  being_proved: DigestProof[];
  /** Their jobs do not run them any more since the period. */
  stopped: DigestStopped[];
  /** Began in the period. */
  quarantine_began: DigestBegin[];
  /** End within the same length of time from now. */
  quarantine_ends: DigestEntry[];
  /** Automatic entries that the policy would release. */
  quarantine_may_be_released: DigestEntry[];
}

export interface DigestInput extends Entries {
  repositories: {
    repository: string;
    now: Builds;
    before: Builds;
    /** Microseconds of tests in the period. */
    flakyMicroseconds: number;
    /** The same of the period before. */
    flakyMicrosecondsBefore: number;
    redJobs: RedJobs;
    /** Builds of the period with more than 20 % of at least 20 tests failed. */
    outageCount: number;
    /** Builds of the period whose tests' command failed, although no test did. */
    failedWithoutTestCount: number;
  }[];
  tests: DisruptedTest[];
  /** Ids of the tests that are quarantined now, also of other repositories. */
  quarantinedIds: ReadonlySet<string>;
  /** Tests that fail together: at least two each. */
  faults: DigestFault[];
}

/** The changes of all tests, or of the tests of one owner. */
export interface DigestGroup extends Entries {
  /** `null` for tests without an owner, or if tests are not grouped. */
  owner: string | null;
  became_flaky: DisruptedTest[];
  calmed_down: DisruptedTest[];
  /** Most builds first. */
  cost_most_builds: DisruptedTest[];
  /** The same by fault: tests that fail together are one. Most builds first. */
  faults: DigestFault[];
}

/** A digest, with the field names of the JSON. */
export interface Digest {
  organization: string;
  since: string;
  until: string;
  /** `null`: all tests are in one group. */
  group_by: "owner" | null;
  /** Of all repositories that are listed. */
  totals: {
    repositories: number;
    red_repositories: number;
    builds: number;
    red_jobs: RedJobs;
    broken_tests: number;
    flaky_tests: number;
    /** Of these, the quarantined ones, which lists of flaky tests leave out. */
    flaky_quarantined: number;
    /** Not counted among the flaky ones: they fail now and then without being run again. */
    flaky_without_reruns: number;
    flaky_seconds: number;
    flaky_seconds_before: number;
  };
  repositories: {
    repository: string;
    /** As on the badge; `null` without a build, or if no code was run twice in its time. */
    flakiness: string | null;
    flakiness_before: string | null;
    builds: number;
    /** Builds of the period in which more than 20 % of at least 20 tests failed. */
    outages: number;
    /** Builds of the period that ended red without a failed test. */
    failed_without_test: number;
    /** Seconds of tests that flaky failures cost in the period. */
    flaky_seconds: number;
    /** Of the period before. */
    flaky_seconds_before: number;
    red_jobs: RedJobs;
  }[];
  groups: DigestGroup[];
}

export function composeDigest(
  { repositories, quarantinedIds, ...input }: DigestInput,
  head: Pick<Digest, "organization" | "since" | "until" | "group_by">,
): Digest {
  // What costs most comes first; those that cost nothing stay in the order of their names.
  const shown = repositories.filter(({ now, before }) => now.buildCount + before.buildCount > 0)
    .toSorted((a, b) => b.flakyMicroseconds - a.flakyMicroseconds);
  const sum = (count: (one: typeof shown[number]) => number) =>
    shown.reduce((total, one) => total + count(one), 0);
  const redJobs = { ...NO_RED_JOBS };
  for (const kind of Object.keys(redJobs) as (keyof RedJobs)[]) {
    redJobs[kind] = sum((one) => one.redJobs[kind]);
  }
  const lists = { ...input, ...sortedByUrgency(input, head.since) };
  const disruptive = new Set(
    input.tests.filter(({ disruptions }) => disruptions > 0).map(({ id }) => id),
  );
  return {
    ...head,
    totals: {
      repositories: shown.length,
      red_repositories: shown.filter(({ redJobs }) => countJobs(redJobs) > 0).length,
      builds: sum(({ now }) => now.buildCount),
      red_jobs: redJobs,
      broken_tests: input.broken.length,
      flaky_tests: disruptive.size,
      flaky_quarantined: disruptive.intersection(quarantinedIds).size,
      flaky_without_reruns: input.flaky_without_reruns.length,
      flaky_seconds: secondsOf(sum(({ flakyMicroseconds }) => flakyMicroseconds)),
      flaky_seconds_before: secondsOf(
        sum(({ flakyMicrosecondsBefore }) => flakyMicrosecondsBefore),
      ),
    },
    repositories: shown.map(({ repository, now, before, flakyMicroseconds, ...counts }) => ({
      repository,
      flakiness: percentageOf(now),
      flakiness_before: percentageOf(before),
      builds: now.buildCount,
      outages: counts.outageCount,
      failed_without_test: counts.failedWithoutTestCount,
      flaky_seconds: secondsOf(flakyMicroseconds),
      flaky_seconds_before: secondsOf(counts.flakyMicrosecondsBefore),
      red_jobs: counts.redJobs,
    })),
    groups: head.group_by ? groupsByOwner(lists) : [groupOf(null, lists)],
  };
}

/**
 * What is urgent first, over all repositories. Of tests by their state, those that ran in the period: of broken ones
 * those that broke last, then those with most failures; of flaky ones those that fail most.
 */
function sortedByUrgency(
  { broken, flaky_without_reruns: flaky, being_proved: proving, stopped }: Entries,
  since: string,
): Pick<Entries, "broken" | "flaky_without_reruns" | "being_proved" | "stopped"> {
  const byId = (a: DigestTest, b: DigestTest) => compareTexts(a.id, b.id);
  const isOver = ({ last_run_at, has_stopped = false }: DigestState & Partial<DigestBroken>) =>
    Number(has_stopped || last_run_at < since);
  const passesLeft = ({ passes, passes_needed }: DigestProof) => passes_needed - passes;
  return {
    broken: broken.toSorted((a, b) =>
      isOver(a) - isOver(b) || compareTexts(b.since?.to ?? "", a.since?.to ?? "") ||
      b.failures - a.failures || byId(a, b)
    ),
    flaky_without_reruns: flaky.toSorted((a, b) =>
      isOver(a) - isOver(b) || compareFailureRates(a, b)
    ),
    being_proved: proving.toSorted((a, b) => passesLeft(a) - passesLeft(b) || byId(a, b)),
    stopped: stopped.toSorted((a, b) => compareTexts(b.last_run_at, a.last_run_at) || byId(a, b)),
  };
}

function secondsOf(microseconds: number): number {
  return Math.round(microseconds / 1_000_000);
}

type Lists = Omit<DigestInput, "repositories" | "quarantinedIds">;

function groupsByOwner({ tests, faults, ...entries }: Lists): DigestGroup[] {
  const all: DigestTest[] = [tests, Object.values(entries).flat()].flat();
  // Tests without an owner come last.
  const sorted = [...new Set(all.flatMap(ownersOf))]
    .sort((a, b) => a === null ? 1 : b === null ? -1 : a < b ? -1 : 1);
  return sorted.map((owner) => {
    const own = <Test extends DigestTest>(tests: Test[]) =>
      tests.filter((test) => ownersOf(test).includes(owner));
    return groupOf(owner, {
      tests: own(tests),
      faults,
      broken: own(entries.broken),
      flaky_without_reruns: own(entries.flaky_without_reruns),
      being_proved: own(entries.being_proved),
      stopped: own(entries.stopped),
      quarantine_began: own(entries.quarantine_began),
      quarantine_ends: own(entries.quarantine_ends),
      quarantine_may_be_released: own(entries.quarantine_may_be_released),
    });
  });
}

function ownersOf({ owners }: DigestTest): (string | null)[] {
  return owners.length > 0 ? [...owners] : [null];
}

function groupOf(owner: string | null, { tests, faults, ...entries }: Lists): DigestGroup {
  const byCost = tests.toSorted((a, b) =>
    b.builds - a.builds || b.disruptions_in_period - a.disruptions_in_period ||
    b.disruptions - a.disruptions || compareTexts(a.id, b.id)
  );
  const costly = byCost.filter(({ builds }) => builds > 0);
  return {
    owner,
    became_flaky: byCost.filter((test) => test.disruptions > 0 && test.is_new),
    calmed_down: byCost.filter((test) => test.disruptions === 0),
    cost_most_builds: costly,
    faults: faultsOf(costly, faults),
    ...entries,
  };
}

/** The faults behind some tests, most builds first; a test that fails alone is one of its own. */
function faultsOf(costly: readonly DisruptedTest[], faults: readonly DigestFault[]): DigestFault[] {
  const faultOf = new Map(faults.flatMap((fault) => fault.tests.map((id) => [id, fault] as const)));
  return rowsOfGroups(costly, ({ id }) => faultOf.get(id)).map((tests) => {
    const [{ id, repository, builds }] = tests;
    return {
      repository,
      builds: faultOf.get(id)?.builds ?? builds,
      tests: tests.map(({ id }) => id),
      grouped_by: tests.length > 1 ? faultOf.get(id)!.grouped_by : null,
    };
  }).sort((a, b) => b.builds - a.builds);
}

function percentageOf(builds: Builds): string | null {
  const { buildCount, disruptedBuildCount, hasReruns } = builds;
  return hasReruns && buildCount > 0
    ? formatTenths(tenthsOfPercent(disruptedBuildCount, buildCount))
    : null;
}
