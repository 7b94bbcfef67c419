// Tests: tests/routes/failures_test.ts
/** Tests of a repository that fail together: what to repair first. */
import { NO_TEXT } from "../../lib/analysis/failure_causes.ts";
import { buildKey } from "../../lib/analysis/build_costs.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { groupFailures } from "../../lib/evidence/groups.ts";
import { ALL_SUBMISSIONS } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { loadFailureRows } from "./failures.ts";
import { loadIdentities } from "./names_of_tests.ts";
import { loadRuns } from "./runs.ts";

/** Tests with one fault behind them, or one test alone. */
export interface GroupOfTests {
  /** Builds with a failure of one of its tests. */
  builds: number;
  testCount: number;
  /** The first of its tests. */
  tests: (TestIdentity & { id: string })[];
  /** Causes of its failures. */
  fingerprints: string[];
}

interface GroupsQuery {
  repositoryId: number;
  idPrefix: number;
  windowStart: number;
  maxGroups: number;
  maxTests: number;
}

/** The groups of the window that cost most builds, and how many there are. */
export async function loadGroupsOfTests(
  sql: Queryable,
  { repositoryId, idPrefix, windowStart, maxGroups, maxTests }: GroupsQuery,
): Promise<{ count: number; groups: GroupOfTests[] }> {
  const [runs, failures] = await Promise.all([
    loadRuns(sql, {
      repositoryId,
      columns: ["buildUrl"],
      since: windowStart,
      filter: ALL_SUBMISSIONS,
    }),
    loadFailureRows(sql, { repositoryId, windowStart }),
  ]);
  const builds = new Map(runs.map((run) => [run.submissionId, buildKey(run)]));
  const groups = groupFailures(failures.flatMap(({ testNo, submissionId: runId, fingerprint }) => {
    const buildId = builds.get(runId);
    if (buildId === undefined) return [];
    return [{ testNo, runId, buildId, fingerprints: fingerprint === NO_TEXT ? [] : [fingerprint] }];
  }));
  const shown = groups.slice(0, maxGroups);
  const testNos = shown.flatMap((group) => group.testNos.slice(0, maxTests));
  const names = await loadIdentities(sql, { repositoryId, idPrefix, testNos });
  return {
    count: groups.length,
    groups: shown.map(({ testNos, ...group }) => ({
      ...group,
      testCount: testNos.length,
      tests: testNos.slice(0, maxTests).flatMap((testNo) => names.get(testNo) ?? []),
    })),
  };
}
