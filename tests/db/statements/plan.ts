/** Query plans. */
import type { TransactionSql } from "postgres";
import type { SentStatement } from "./recorder.ts";

/** A table that a plan reads. */
export interface Scan {
  table: string;
  /** Such as `Seq Scan` or `Index Only Scan`. */
  kind: string;
  /** The index condition, `""` without an index. */
  condition: string;
  /** Rows read, including those removed by a filter. */
  rowCount: number;
}

/** Custom or generic plans. */
export const PLAN_MODES = ["force_custom_plan", "force_generic_plan"] as const;

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Cond"?: string;
  "Recheck Cond"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  Plans?: PlanNode[];
}

/** Runs a statement and returns the tables it read. */
export async function scansOf(
  tx: TransactionSql,
  { text, parameters }: SentStatement,
  mode: typeof PLAN_MODES[number],
): Promise<Scan[]> {
  await tx.unsafe(`set local plan_cache_mode = ${mode}`);
  await tx.unsafe(`prepare recorded as ${text}`);
  const values = parameters.length > 0 ? `(${parameters.map(literal).join(", ")})` : "";
  const [row] = await tx.unsafe(`explain (analyze, format json) execute recorded ${values}`);
  await tx.unsafe("deallocate recorded");
  const [{ Plan }] = row!["QUERY PLAN"] as [{ Plan: PlanNode }];
  return scans(Plan);
}

function scans(node: PlanNode): Scan[] {
  const own = node["Relation Name"] === undefined ? [] : [{
    table: node["Relation Name"],
    kind: node["Node Type"],
    condition: node["Index Cond"] ?? node["Recheck Cond"] ?? "",
    rowCount: (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"],
  }];
  return [...own, ...(node.Plans ?? []).flatMap(scans)];
}

/** A parameter as an SQL literal; the server infers its type. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return "null";
  const text = value instanceof Uint8Array ? `\\x${value.toHex()}` : String(value);
  return `'${text.replaceAll("'", "''")}'`;
}
