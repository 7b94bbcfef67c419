// Tests: tests/lib/cli/commands/split_test.ts
/** Says what a plan expects. */
import type { DurationUnit } from "../analysis/durations.ts";
import { formatCount, formatDuration, plural } from "../base/text.ts";
import { type Share, shareByNumber, usefulNodeCount } from "./plan.ts";
import type { SplitPlan } from "./plan_file.ts";

/** What is split, one and several. */
const NOUNS: Record<DurationUnit, [string, string]> = {
  file: ["file", "files"],
  class: ["class", "classes"],
  test: ["test", "tests"],
};

/** The lines about a plan, and about the share of one node; `null`: of none. */
export function describePlan(
  { by, unit, nodes, newNames, asOf }: SplitPlan & { newNames: readonly string[] },
  index: number | null,
): string[] {
  const items = nodes.flatMap((node) => node.items);
  const counted = (count: number) => `${formatCount(count)} ${NOUNS[by][count === 1 ? 0 : 1]}`;
  const lines: string[] = [];
  const whole = `${counted(items.length)} for ${plural(nodes.length, "node")}`;
  if (unit === "microseconds") {
    lines.push(
      `${whole} by their durations as of ${asOf}: ${range(nodes)} a node; split by number: ` +
        range(shareByNumber(items, nodes.length)),
    );
    if (newNames.length > 0) {
      const assumed = items.find(({ name }) => name === newNames[0])?.weight ?? 0;
      lines.push(
        `${counted(newNames.length)} without a duration: assumed is the median, ` +
          formatDuration(assumed),
      );
    }
    const useful = usefulNodeCount(items);
    if (useful) {
      lines.push(
        `not faster with more than ${
          plural(useful.nodeCount, "node")
        }: ${useful.longest.name} alone ` +
          `takes ${formatDuration(useful.longest.weight)}`,
      );
    }
  } else lines.push(`${whole} by ${unit === "bytes" ? "their size" : "number"}`);
  if (index !== null) {
    const { items: own, total } = nodes[index]!;
    const expected = unit === "microseconds" ? `, ${formatDuration(total)}` : "";
    lines.push(`node ${index} (from 0): ${counted(own.length)}${expected}`);
  }
  return lines;
}

/** `6 m 10 s to 6 m 40 s`. */
function range(shares: readonly Share[]): string {
  const totals = shares.map(({ total }) => total);
  const [least, most] = [Math.min(...totals), Math.max(...totals)].map(formatDuration);
  return least === most ? `${most}` : `${least} to ${most}`;
}
