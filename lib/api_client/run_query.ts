// Tests: tests/lib/cli/commands/gate_test.ts tests/lib/mcp/tools/get_build_verdicts_test.ts
/** A run as it is uploaded; `""` for what is unknown. */
export interface CiRun {
  job: string;
  workflow: string;
  environment: string;
  shard: string;
  attempt: string;
  buildUrl: string;
  commit: string;
  tree: string;
  branch: string;
  /** The branch that a merge queue tests for. */
  queueBase: string;
  /** `""` when CI names none. */
  pullNumber: string;
}

/** The parameters that say which run verdicts are requested on. */
export function runQuery(run: CiRun) {
  return {
    run_job: run.job,
    run_workflow: run.workflow,
    run_environment: run.environment,
    run_shard: run.shard,
    run_attempt: run.attempt,
    run_commit: run.commit,
    run_tree: run.tree,
    run_branch: run.branch,
    run_build_url: run.buildUrl,
    run_queue_base: run.queueBase,
    run_pull_number: run.pullNumber,
  };
}
