/** Which node of how many a CI job is, from the variables of CI services. */

/** A node of a run. */
export interface SplitNode {
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
}

/** The services that number parallel jobs. GitHub Actions does not: its matrix has to be passed on. */
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
  {
    title: "Cirrus CI",
    presence: "CIRRUS_CI",
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
  if (service.title === "GitLab CI" && /\]$/.test(get("CI_JOB_NAME"))) {
    throw new RangeError(
      `${service.index} numbers all jobs of a matrix, not the nodes of one: expected ${OPTIONS}`,
    );
  }
  const nodeCount = given.nodes ?? numberOf(get(service.count) || "1", service.count);
  const index = given.index ??
    (get(service.index) === "" && nodeCount === 1
      ? 0
      : numberOf(get(service.index), service.index) - service.first);
  return checked({ nodeCount, index }, `${service.count} and ${service.index}`);
}

function numberOf(text: string, variable: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  const found = text === "" ? `${variable} is not set` : `${variable} is no number`;
  throw new RangeError(`${found}: expected ${OPTIONS}`);
}

function checked(node: SplitNode, source: string): SplitNode {
  if (node.index >= 0 && node.index < node.nodeCount) return node;
  throw new RangeError(
    `${source}: node ${node.index} of ${node.nodeCount} does not exist: expected an index from 0 to ` +
      (node.nodeCount - 1),
  );
}
