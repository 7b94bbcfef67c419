/**
 * Which node of how many a CI job is, from the variables of its service. Cirrus CI numbers all tasks of a
 * build, those without tests too; GitHub Actions and Jenkins number nothing: what a matrix or pipeline counts
 * has to be passed on.
 */
import { serviceOf } from "../ci/mod.ts";
import { SERVICES } from "../ci/services.ts";
import type { CiVariables } from "../ci/variables.ts";

/** A node of a run. */
interface SplitNode {
  nodeCount: number;
  /** From 0. */
  index: number;
}

/** The services that number the nodes of a job. */
export const NODE_SERVICES: readonly string[] = SERVICES.filter(({ shard }) =>
  shard && "nodes" in shard
).map(({ title }) => title);

const OPTIONS = "--nodes N --index I, counted from 0";

/**
 * The node of `--nodes` and `--index`, or of the CI job.
 *
 * @throws {RangeError} when it is unknown or impossible; the message says what to pass
 */
export function splitNode(
  given: { nodes: number | undefined; index: number | undefined },
  environment: CiVariables,
): SplitNode {
  if (given.nodes !== undefined && given.index !== undefined) {
    return checked({ nodeCount: given.nodes, index: given.index }, "--index");
  }
  const get = (name: string) => environment[name]?.trim() ?? "";
  const shard = serviceOf(environment)?.shard;
  if (!shard || !("nodes" in shard)) {
    const advice = get("GITHUB_ACTIONS") === ""
      ? ""
      : ": in GitHub Actions --nodes ${{ strategy.job-total }} --index ${{ strategy.job-index }}";
    throw new RangeError(`unknown node: expected ${OPTIONS}${advice}`);
  }
  const { index: indexName, total, first, matrix } = shard.nodes;
  if (matrix?.isOf(get(matrix.variable))) {
    throw new RangeError(
      `${indexName} numbers all jobs of a matrix, not the nodes of one: expected ${OPTIONS}`,
    );
  }
  const counted = get(total) || "1";
  const nodeCount = given.nodes ?? numberOf(counted, total);
  // With more nodes than the job has, some shares would run nowhere.
  if (given.nodes !== undefined && given.index === undefined && counted !== String(nodeCount)) {
    throw new RangeError(
      `--nodes ${nodeCount}, but ${total} is ${counted}: expected ${OPTIONS}`,
    );
  }
  const index = given.index ??
    (get(indexName) === "" && nodeCount === 1 ? 0 : numberOf(get(indexName), indexName) - first);
  return checked({ nodeCount, index }, `${total} and ${indexName}`);
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
