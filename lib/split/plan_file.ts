/** Plans as files: one job makes the plan, and every node takes its share of it. */
import * as v from "valibot";
import { DURATION_UNITS } from "../analysis/durations.ts";
import { distinctNames, itemKey, median, type Share, shareByWeight, weigh } from "./plan.ts";

const PLAN = v.object({
  version: v.literal(1),
  repository: v.string(),
  /** The moment whose durations count. */
  as_of: v.string(),
  by: v.picklist(DURATION_UNITS),
  /** Unit of the weights. */
  unit: v.picklist(["microseconds", "bytes", "number"]),
  nodes: v.pipe(
    v.array(
      v.array(
        v.object({ name: v.string(), weight: v.pipe(v.number(), v.finite(), v.minValue(0)) }),
      ),
    ),
    v.minLength(1),
  ),
});

/** Which node runs what. */
export interface SplitPlan {
  repository: string;
  asOf: string;
  by: v.InferOutput<typeof PLAN>["by"];
  unit: v.InferOutput<typeof PLAN>["unit"];
  nodes: readonly Share[];
}

/** The text of a plan file. */
export function writePlan({ repository, asOf, by, unit, nodes }: SplitPlan): string {
  const plan: v.InferOutput<typeof PLAN> = {
    version: 1,
    repository,
    as_of: asOf,
    by,
    unit,
    nodes: nodes.map(({ items }) => [...items]),
  };
  return `${JSON.stringify(plan, null, 1)}\n`;
}

/** Reads a plan file. @throws {SyntaxError} */
export function readPlan(text: string): SplitPlan {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new SyntaxError("is not JSON: expected a file that --plan-out wrote");
  }
  const { success, output, issues } = v.safeParse(PLAN, value);
  if (!success) {
    throw new SyntaxError(
      `has no valid ${v.getDotPath(issues[0]) ?? "plan"}: expected a file that --plan-out wrote`,
    );
  }
  const names = output.nodes.flat().map(({ name }) => name);
  if (new Set(names).size < names.length) {
    throw new SyntaxError("has a name twice: expected a file that --plan-out wrote");
  }
  const { repository, as_of: asOf, by, unit } = output;
  const nodes = output.nodes.map((items) => (
    { items, total: items.reduce((sum, { weight }) => sum + weight, 0) }
  ));
  return { repository, asOf, by, unit, nodes };
}

/**
 * The plan for these names: those that it has not are left out, new ones are added with the median. Names
 * are spelled as given.
 *
 * @param selectorOf how the runner selects an item
 * @returns also the new names
 */
export function fitPlan(
  plan: SplitPlan,
  names: readonly string[],
  selectorOf?: (name: string) => string,
): SplitPlan & { newNames: string[] } {
  const { by } = plan;
  const wanted = new Map(distinctNames(names, by).map((name) => [itemKey(name, by), name]));
  const kept = plan.nodes.map(({ items }) => {
    const own = items.flatMap(({ name, weight }) => {
      const key = itemKey(name, by);
      const given = wanted.get(key);
      wanted.delete(key);
      return given === undefined ? [] : [{ name: given, weight }];
    });
    return { items: own, total: own.reduce((sum, { weight }) => sum + weight, 0) };
  });
  const weight = median(plan.nodes.flatMap(({ items }) => items.map((item) => item.weight)));
  const newNames = [...wanted.values()];
  const added = weigh(newNames.map((name) => ({ name, weight })));
  const nodes = shareByWeight(added, kept.length, { kept, ...selectorOf && { selectorOf } });
  return { ...plan, nodes, newNames };
}
