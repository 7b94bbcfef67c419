// Tests: tests/routes/test_states_test.ts
/** The runs on the base branch of a repository, for the histories of its tests. */
import type { Run } from "../../lib/analysis/run.ts";
import { basePatterns } from "../../lib/evidence/base_branch.ts";
import { MAX_HISTORY_RUNS } from "../../lib/evidence/stop_rule.ts";
import type { Queryable } from "../connection/sql.ts";
import { isOfBase } from "./fragments.ts";
import { eachRun } from "./runs.ts";

/** Enough for ten environments with all runs that count; bounds the time of a request. */
export const MAX_BASE_SUBMISSIONS = 10 * MAX_HISTORY_RUNS;

/** The columns of a run that its place in the history of tests depends on. */
export const BASE_COLUMNS = [
  "commitOid",
  "treeOid",
  "code",
  "environment",
  "job",
  "shard",
  "isOutage",
  "results",
] as const;

export type BaseRun = Run<typeof BASE_COLUMNS[number]>;

export async function loadBaseRuns(
  sql: Queryable,
  { repositoryId, base }: { repositoryId: number; base: string },
): Promise<BaseRun[]> {
  const where = isOfBase(sql, basePatterns(base));
  const runs: BaseRun[] = [];
  for await (const run of eachRun(sql, { repositoryId, columns: BASE_COLUMNS, where })) {
    runs.push(run);
    if (runs.length === MAX_BASE_SUBMISSIONS) break;
  }
  return runs.reverse();
}
