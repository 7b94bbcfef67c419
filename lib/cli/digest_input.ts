// Tests: tests/lib/cli/commands/digest_test.ts
/** Loads what a digest compares. */
import { listQuarantined } from "../../db/admin/quarantine.ts";
import { decideByPolicy, loadPolicy } from "../../db/admin/quarantine_policy.ts";
import type { Repository } from "../../db/admin/repositories.ts";
import type { Database } from "../../db/connection/connect.ts";
import type { Queryable } from "../../db/connection/sql.ts";
import { loadBuildCounts } from "../../db/read/badges.ts";
import {
  countFailedWithoutTest,
  loadDisruptedTests,
  loadOwnersOfTrackedTests,
  loadRedJobs,
} from "../../db/read/digest.ts";
import { loadFlakyFaults } from "../../db/read/failing_together.ts";
import { loadFlakyTime } from "../../db/read/flaky_time.ts";
import { loadMassFailures } from "../../db/read/job_runs.ts";
import { loadTestNames } from "../../db/read/names_of_tests.ts";
import { listQuarantineLog } from "../../db/read/quarantine_log.ts";
import { withReruns } from "../../db/read/reruns.ts";
import { readSnapshot } from "../../db/read/snapshot.ts";
import { loadTestStates, type TestInState } from "../../db/read/test_states.ts";
import { isInNoOtherList } from "../../routes/test_states.ts";
import { buildKey } from "../analysis/build_costs.ts";
import type { Quarantine, QuarantineEvent } from "../analysis/quarantine.ts";
import { testRecord } from "../analysis/quarantine_json.ts";
import { DEFAULT_POLICY } from "../analysis/quarantine_policy.ts";
import { ownersOf } from "../analysis/test_tags.ts";
import { parseTestId, type TestIdentity } from "../base/identity.ts";
import { formatRepositoryName } from "../base/repository_name.ts";
import { formatTimestamp, WINDOW_SECONDS } from "../base/time.ts";
import { passesNeeded } from "../evidence/calm.ts";
import { BAD_STATES, type TestState } from "../evidence/states.ts";
import type { DigestEntry, DigestInput, DigestState } from "../digest/digest.ts";

const MAX_OUTAGES = 10_000;

/** The period of a digest, in seconds since 1970. */
interface Period {
  begin: number;
  now: number;
  /** Begin of the window that ends now. */
  windowStart: number;
}

type MakeEntry = (
  id: string,
  test: TestIdentity,
  entry: { at: number } & Pick<DigestEntry, "reason" | "owner" | "environment">,
) => DigestEntry;

/** Loads what a digest of some repositories of an organization compares: each repository in one snapshot. */
export async function loadDigestInput(
  sql: Database["sql"],
  repositories: readonly Repository[],
  { now, since, organizationId }: {
    now: number;
    /** Length of the period in seconds. */
    since: number;
    organizationId: number;
  },
): Promise<DigestInput> {
  const period = { begin: now - since, now, windowStart: now - WINDOW_SECONDS };
  // By id prefix: the log has the names of its time.
  const names = new Map(repositories.map((one) => [one.idPrefix, formatRepositoryName(one)]));
  const nameOf = (id: string) => names.get(parseTestId(id)!.idPrefix);
  const owners = new Map<string, string[]>();
  const entry: MakeEntry = (id, test, { at, ...more }) => ({
    ...testRecord(id, nameOf(id)!, test),
    owners: owners.get(id) ?? [],
    at: formatTimestamp(at),
    ...more,
  });
  const parts = [];
  for (const repository of repositories) {
    parts.push(
      await readSnapshot(sql, async (tx) => {
        const tracked = await loadOwnersOfTrackedTests(tx, repository);
        for (const [id, own] of tracked) owners.set(id, own);
        return {
          figures: await figuresOf(tx, repository, period),
          states: await statesOf(tx, repository, period),
          faults: await loadFlakyFaults(tx, { ...repository, since: period.begin }),
          tests: await disruptedTests(tx, repository, { period, owners }),
          releases: await releasesOf(tx, repository, { period, entry }),
        };
      }),
    );
  }
  const isListed = (id: string) => nameOf(id) !== undefined;
  const quarantine = await readSnapshot(
    sql,
    (tx) => quarantineChanges(tx, organizationId, { period, entry, isListed }),
  );
  return {
    repositories: parts.map(({ figures }) => figures),
    tests: parts.flatMap(({ tests }) => tests),
    faults: parts.flatMap(({ faults, figures: { repository } }) =>
      faults.map((fault) => ({ repository, ...fault }))
    ),
    broken: parts.flatMap(({ states }) => states.broken),
    flaky_without_reruns: parts.flatMap(({ states }) => states.flaky_without_reruns),
    being_proved: parts.flatMap(({ states }) => states.being_proved),
    stopped: parts.flatMap(({ states }) => states.stopped),
    quarantine_may_be_released: parts.flatMap(({ releases }) => releases),
    ...quarantine,
  };
}

/** The figures of a repository, now and before the period. */
async function figuresOf(
  sql: Queryable,
  repository: Repository,
  { begin, now, windowStart }: Period,
): Promise<DigestInput["repositories"][number]> {
  const { repositoryId } = repository;
  const beforeStart = begin - WINDOW_SECONDS;
  const outages = await loadMassFailures(sql, {
    repositoryId,
    since: begin,
    limit: MAX_OUTAGES,
    onlyOutages: true,
  });
  const [flakyMicrosecondsBefore = 0, flakyMicroseconds = 0] = (await loadFlakyTime(sql, {
    repositoryIds: [repositoryId],
    now,
    starts: [begin - (now - begin), begin],
  })).get(repositoryId) ?? [];
  const window = { repositoryId, windowStart };
  const windowBefore = { repositoryId, windowStart: beforeStart, windowEnd: begin };
  const [buildsNow, buildsBefore] = await withReruns(sql, [
    [{ repositoryId, start: windowStart }, await loadBuildCounts(sql, window)],
    [{ repositoryId, start: beforeStart, end: begin }, await loadBuildCounts(sql, windowBefore)],
  ]);
  return {
    repository: formatRepositoryName(repository),
    now: buildsNow!,
    before: buildsBefore!,
    outageCount: new Set(outages.map(buildKey)).size,
    failedWithoutTestCount: await countFailedWithoutTest(sql, { repositoryId, since: begin }),
    flakyMicroseconds,
    flakyMicrosecondsBefore,
    redJobs: await loadRedJobs(sql, { repositoryId, since: begin }),
  };
}

/** The tests of a repository by their history on the base branch. */
async function statesOf(
  sql: Queryable,
  repository: Repository,
  { begin, now, windowStart }: Period,
): Promise<Pick<DigestInput, "broken" | "flaky_without_reruns" | "being_proved" | "stopped">> {
  const { tests, stopped, proving } = await loadTestStates(sql, {
    ...repository,
    now,
    windowStart,
    states: BAD_STATES,
    isListed: isInNoOtherList,
    withProving: true,
    offset: 0,
    limit: Infinity,
  });
  const names = await loadTestNames(sql, {
    repositoryId: repository.repositoryId,
    now,
    testIds: [tests, stopped, proving].flat().map(({ id }) => id),
  });
  const name = formatRepositoryName(repository);
  const recordOf = (test: TestIdentity & { id: string }) => ({
    ...testRecord(test.id, name, test),
    owners: ownersOf(names.get(test.id)?.ownerTags ?? []),
  });
  const stateOf = (test: TestInState) => ({
    ...recordOf(test),
    ...historyOf(test),
    last_run_at: formatTimestamp(test.lastRunAt),
  });
  const inState = (state: TestState) => tests.filter((test) => test.state === state);
  return {
    broken: inState("broken").map((test) => ({
      ...stateOf(test),
      has_stopped: test.isStopped,
    })),
    flaky_without_reruns: inState("flaky").filter(({ isStopped }) => !isStopped).map(stateOf),
    being_proved: proving.map((test) => ({
      ...recordOf(test),
      passes: test.passes,
      passes_needed: test.passesNeeded,
    })),
    stopped: stopped.filter(({ stoppedAt }) => stoppedAt >= begin).map((test) => ({
      ...recordOf(test),
      last_run_at: formatTimestamp(test.lastRunAt),
      was_calm: test.passes >= passesNeeded(test.before),
    })),
  };
}

function historyOf(
  { runs, failures, failingRuns, since: sinceOf }: TestInState,
): Pick<DigestState, "runs" | "failures" | "failing_runs" | "since"> {
  const since = sinceOf();
  return {
    runs,
    failures,
    failing_runs: failingRuns,
    since: since && {
      from: formatTimestamp(since.from.recordedAt),
      to: formatTimestamp(since.to.recordedAt),
      changes: since.changes,
    },
  };
}

async function disruptedTests(
  sql: Queryable,
  repository: Repository,
  { period: { begin, windowStart }, owners }: {
    period: Period;
    owners: ReadonlyMap<string, string[]>;
  },
): Promise<DigestInput["tests"]> {
  const tests = await loadDisruptedTests(sql, {
    repositoryId: repository.repositoryId,
    periods: { windowStart, previousWindowStart: begin - WINDOW_SECONDS, since: begin },
  });
  return tests.map((test) => ({
    ...test,
    repository: formatRepositoryName(repository),
    owners: owners.get(test.id) ?? [],
  }));
}

/** Entries that the policy of a repository would release. */
async function releasesOf(
  sql: Queryable,
  repository: Repository,
  { period: { now, windowStart }, entry }: {
    period: Period;
    entry: MakeEntry;
  },
): Promise<DigestEntry[]> {
  const policy = await loadPolicy(sql, repository) ?? DEFAULT_POLICY;
  const decisions = await decideByPolicy(sql, repository, policy, { now, windowStart });
  return decisions.filter(({ action }) => action === "leave").map(({ test, reason }) => {
    const { quarantinedAt: at, ...stored } = test.history.quarantine!;
    return entry(test.id, test, { at, ...shownOf(stored), reason });
  });
}

/** Tests of an organization that are quarantined, and entries that began in the period or end within its length. */
async function quarantineChanges(
  sql: Queryable,
  organizationId: number,
  { period: { begin, now }, entry, isListed }: {
    period: Period;
    entry: MakeEntry;
    /** Whether a test is of one of the repositories. */
    isListed(id: string): boolean;
  },
): Promise<Pick<DigestInput, "quarantinedIds" | "quarantine_began" | "quarantine_ends">> {
  const events = await listQuarantineLog(sql, { organizationId, now });
  const entries = await listQuarantined(sql, organizationId, now);
  const end = now + (now - begin);
  const latest = new Map(
    events.filter(({ action, at, testId }) => action === "added" && at >= begin && isListed(testId))
      .map((added) => [added.testId, added]),
  );
  const active = new Map(entries.map((test) => [test.id, test]));
  const isEnd = ({ action }: QuarantineEvent) => action === "removed" || action === "ended";
  return {
    quarantinedIds: new Set(active.keys()),
    quarantine_began: Array.from(latest.values(), (added) => {
      const { testId, at } = added;
      const ended = events.findLast((one) => one.testId === testId && isEnd(one));
      return {
        ...entry(testId, added, { at, ...shownOf(active.get(testId) ?? added) }),
        ended_at: active.has(testId) || !ended ? null : formatTimestamp(ended.at),
      };
    }),
    quarantine_ends: entries.flatMap((test) => {
      const { quarantineExpiresAt: at } = test;
      if (at === null || at > end || !isListed(test.id)) return [];
      return [entry(test.id, test, { at, ...shownOf(test) })];
    }),
  };
}

/** What the digest shows of an entry, however it changed since it began. */
function shownOf(
  { quarantineReason, quarantineOwner, quarantineEnvironment }: Pick<
    Quarantine,
    "quarantineReason" | "quarantineOwner" | "quarantineEnvironment"
  >,
) {
  return {
    reason: quarantineReason,
    owner: quarantineOwner,
    environment: quarantineEnvironment,
  };
}
