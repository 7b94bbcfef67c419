/** The digest: changes in flaky and quarantined tests during a period that ends now. */
import type { TestIdentity } from "../base/identity.ts";
import { formatTenths, tenthsOfPercent } from "../badge/percentage.ts";

/** A test in a digest. */
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
  /** Builds with a disruption in the period. */
  builds: number;
  /** Whether its first disruption ever was in the period. */
  is_new: boolean;
}

/** A quarantine entry. */
export interface DigestEntry extends DigestTest {
  /** When it began; of entries in `quarantine_ends`, when it ends. `YYYY-MM-DDTHH:MM:SSZ`. */
  at: string;
  reason: string | null;
  owner: string | null;
}

/** A test by its history on the base branch. */
export interface DigestState extends DigestTest {
  /** Runs of the last segment, and those that failed. */
  runs: number;
  failures: number;
  /** Where the segment began: after `from`, up to `to`; `null` when all stored runs are in it. */
  since: { from: string; to: string; changes: number } | null;
}

/** Builds of a window. */
interface Builds {
  buildCount: number;
  disruptedBuildCount: number;
}

/** Tests by state and quarantine entries, with the field names of the JSON. */
interface Entries {
  /** All of their latest runs on the base branch failed. */
  broken: DigestState[];
  /** They fail now and then on the base branch, and were not disruptive: nothing ran them again. */
  flaky_without_reruns: DigestState[];
  /** Began in the period. */
  quarantine_began: DigestEntry[];
  /** End within the same length of time from now. */
  quarantine_ends: DigestEntry[];
  /** Automatic entries that the policy would release. */
  quarantine_may_be_released: DigestEntry[];
}

/** Input of a digest. */
export interface DigestInput extends Entries {
  repositories: {
    repository: string;
    now: Builds;
    before: Builds;
    /** Whether any code was run again; without it, flakiness cannot be known. */
    hasReruns: boolean;
    /** Microseconds of tests in the period. */
    flakyMicroseconds: number;
    /** Builds of the period with more than 20 % of at least 20 tests failed. */
    outageCount: number;
    /** Builds of the period whose tests' command failed, although no test did. */
    failedWithoutTestCount: number;
  }[];
  tests: DisruptedTest[];
}

/** The changes of all tests, or of the tests of one owner. */
export interface DigestGroup extends Entries {
  /** `null` for tests without an owner, or if tests are not grouped. */
  owner: string | null;
  became_flaky: DisruptedTest[];
  calmed_down: DisruptedTest[];
  /** Most builds first. */
  cost_most_builds: DisruptedTest[];
}

/** A digest, with the field names of the JSON. */
export interface Digest {
  organization: string;
  since: string;
  until: string;
  /** `null`: all tests are in one group. */
  group_by: "owner" | null;
  repositories: {
    repository: string;
    /** As on the badge; `null` without a build, or if no code was run again. */
    flakiness: string | null;
    flakiness_before: string | null;
    builds: number;
    /** Builds of the period in which more than 20 % of at least 20 tests failed. */
    outages: number;
    /** Builds of the period that ended red without a failed test. */
    failed_without_test: number;
    /** Seconds of tests that flaky failures cost in the period. */
    flaky_seconds: number;
  }[];
  groups: DigestGroup[];
}

/** Composes a digest. */
export function composeDigest(
  { repositories, ...input }: DigestInput,
  head: Pick<Digest, "organization" | "since" | "until" | "group_by">,
): Digest {
  const shown = repositories.filter(({ now, before }) => now.buildCount + before.buildCount > 0);
  return {
    ...head,
    repositories: shown.map(({ repository, now, before, flakyMicroseconds, ...counts }) => ({
      repository,
      flakiness: counts.hasReruns || now.disruptedBuildCount > 0 ? percentageOf(now) : null,
      flakiness_before: percentageOf(before),
      builds: now.buildCount,
      outages: counts.outageCount,
      failed_without_test: counts.failedWithoutTestCount,
      flaky_seconds: Math.round(flakyMicroseconds / 1_000_000),
    })),
    groups: head.group_by ? groupsByOwner(input) : [groupOf(null, input)],
  };
}

type Lists = Omit<DigestInput, "repositories">;

function groupsByOwner({ tests, ...entries }: Lists): DigestGroup[] {
  const all: DigestTest[] = [tests, Object.values(entries).flat()].flat();
  // Tests without an owner come last.
  const sorted = [...new Set(all.flatMap(ownersOf))]
    .sort((a, b) => a === null ? 1 : b === null ? -1 : a < b ? -1 : 1);
  return sorted.map((owner) => {
    const own = <Test extends DigestTest>(tests: Test[]) =>
      tests.filter((test) => ownersOf(test).includes(owner));
    return groupOf(owner, {
      tests: own(tests),
      broken: own(entries.broken),
      flaky_without_reruns: own(entries.flaky_without_reruns),
      quarantine_began: own(entries.quarantine_began),
      quarantine_ends: own(entries.quarantine_ends),
      quarantine_may_be_released: own(entries.quarantine_may_be_released),
    });
  });
}

function ownersOf({ owners }: DigestTest): (string | null)[] {
  return owners.length > 0 ? [...owners] : [null];
}

function groupOf(owner: string | null, { tests, ...entries }: Lists): DigestGroup {
  const byCost = tests.toSorted((a, b) =>
    b.builds - a.builds || b.disruptions - a.disruptions || (a.id < b.id ? -1 : 1)
  );
  return {
    owner,
    became_flaky: byCost.filter((test) => test.disruptions > 0 && test.is_new),
    calmed_down: byCost.filter((test) => test.disruptions === 0),
    cost_most_builds: byCost.filter(({ builds }) => builds > 0),
    ...entries,
  };
}

function percentageOf({ buildCount, disruptedBuildCount }: Builds): string | null {
  return buildCount === 0 ? null : formatTenths(tenthsOfPercent(disruptedBuildCount, buildCount));
}
