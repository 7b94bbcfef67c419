/**
 * Which node of how many a CI job is, from the variables of CI services, as these document them:
 *
 * - CircleCI, from 0: https://circleci.com/docs/variables/
 * - GitLab CI, from 1: https://docs.gitlab.com/ci/variables/predefined_variables/
 * - Buildkite, from 0: https://buildkite.com/docs/pipelines/environment-variables
 * - Semaphore, from 1: https://docs.semaphoreci.com/reference/env-vars
 * - Azure Pipelines, from 1:
 *   https://learn.microsoft.com/en-us/azure/devops/pipelines/test/parallel-testing-any-test-runner
 *   names them; from 1 by the scripts of microsoft/azure-pipelines-tasks
 * - Bitbucket Pipelines, from 0:
 *   https://support.atlassian.com/bitbucket-cloud/docs/set-up-or-run-parallel-steps/
 * - Heroku CI, from 0: https://devcenter.heroku.com/articles/heroku-ci-parallel-test-runs
 *
 * Cirrus CI is missing: its CI_NODE_INDEX numbers all tasks of a build, those without tests too
 * (https://cirrus-ci.org/guide/writing-tasks/#environment-variables). GitHub Actions and Jenkins number
 * nothing: what a matrix or pipeline counts has to be passed on.
 */

/** A node of a run. */
interface SplitNode {
  nodeCount: number;
  /** From 0. */
  index: number;
}

interface Service {
  title: string;
  /** Set in every job of the service. */
  presence: string;
  count: string;
  index: string;
  /** Index of the first node. */
  first: 0 | 1;
  /** Tells the jobs of a matrix, which these variables number instead of the nodes of one of them. */
  matrix?: { variable: string; pattern: RegExp };
}

/** The services that number the nodes of a job. */
export const NODE_SERVICES: readonly Service[] = [
  {
    title: "CircleCI",
    presence: "CIRCLECI",
    count: "CIRCLE_NODE_TOTAL",
    index: "CIRCLE_NODE_INDEX",
    first: 0,
  },
  {
    title: "GitLab CI",
    presence: "GITLAB_CI",
    count: "CI_NODE_TOTAL",
    index: "CI_NODE_INDEX",
    first: 1,
    // `test: [node, 20]`; the job of `parallel: 4` is `test 1/4`.
    matrix: { variable: "CI_JOB_NAME", pattern: /\]$/ },
  },
  {
    title: "Buildkite",
    presence: "BUILDKITE",
    count: "BUILDKITE_PARALLEL_JOB_COUNT",
    index: "BUILDKITE_PARALLEL_JOB",
    first: 0,
  },
  {
    title: "Semaphore",
    presence: "SEMAPHORE",
    count: "SEMAPHORE_JOB_COUNT",
    index: "SEMAPHORE_JOB_INDEX",
    first: 1,
  },
  {
    title: "Azure Pipelines",
    presence: "TF_BUILD",
    count: "SYSTEM_TOTALJOBSINPHASE",
    index: "SYSTEM_JOBPOSITIONINPHASE",
    first: 1,
    // `MultiMachine` with `parallel`.
    matrix: { variable: "SYSTEM_PARALLELEXECUTIONTYPE", pattern: /^multiconfiguration$/i },
  },
  {
    title: "Bitbucket Pipelines",
    presence: "BITBUCKET_BUILD_NUMBER",
    count: "BITBUCKET_PARALLEL_STEP_COUNT",
    index: "BITBUCKET_PARALLEL_STEP",
    first: 0,
  },
  // The same variables as GitLab's, counted otherwise.
  {
    title: "Heroku CI",
    presence: "HEROKU_TEST_RUN_ID",
    count: "CI_NODE_TOTAL",
    index: "CI_NODE_INDEX",
    first: 0,
  },
];

const OPTIONS = "--nodes N --index I, counted from 0";

/**
 * The node of `--nodes` and `--index`, or of the CI job.
 *
 * @throws {RangeError} when it is unknown or impossible; the message says what to pass
 */
export function splitNode(
  given: { nodes: number | undefined; index: number | undefined },
  environment: Readonly<Record<string, string | undefined>>,
): SplitNode {
  if (given.nodes !== undefined && given.index !== undefined) {
    return checked({ nodeCount: given.nodes, index: given.index }, "--index");
  }
  const get = (name: string) => environment[name]?.trim() ?? "";
  const service = NODE_SERVICES.find(({ presence }) => get(presence) !== "");
  if (!service) {
    const advice = get("GITHUB_ACTIONS") === ""
      ? ""
      : ": in GitHub Actions --nodes ${{ strategy.job-total }} --index ${{ strategy.job-index }}";
    throw new RangeError(`unknown node: expected ${OPTIONS}${advice}`);
  }
  if (service.matrix?.pattern.test(get(service.matrix.variable))) {
    throw new RangeError(
      `${service.index} numbers all jobs of a matrix, not the nodes of one: expected ${OPTIONS}`,
    );
  }
  const counted = get(service.count) || "1";
  const nodeCount = given.nodes ?? numberOf(counted, service.count);
  // With more nodes than the job has, some shares would run nowhere.
  if (given.nodes !== undefined && given.index === undefined && counted !== String(nodeCount)) {
    throw new RangeError(
      `--nodes ${nodeCount}, but ${service.count} is ${counted}: expected ${OPTIONS}`,
    );
  }
  const index = given.index ??
    (get(service.index) === "" && nodeCount === 1
      ? 0
      : numberOf(get(service.index), service.index) - service.first);
  return checked({ nodeCount, index }, `${service.count} and ${service.index}`);
}

function numberOf(text: string, variable: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  const found = text === "" ? `${variable} is not set` : `${variable} is not a number`;
  throw new RangeError(`${found}: expected ${OPTIONS}`);
}

function checked(node: SplitNode, source: string): SplitNode {
  if (node.index >= 0 && node.index < node.nodeCount) return node;
  throw new RangeError(
    `${source}: node ${node.index} of ${node.nodeCount} does not exist: expected an index from 0 to ` +
      (node.nodeCount - 1),
  );
}
