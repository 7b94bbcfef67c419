/** A row of the table of faults. */
export interface Row {
  fault: string;
  database: "embedded" | "server" | "cluster" | "both" | "none";
  tries: number;
  /** Responses of the service meanwhile. */
  seen: string;
  /** Acknowledged uploads that were lost or stored twice: must be `nothing`. */
  lost: string;
  recovery: string;
}

/** The table as Markdown. */
export function markdownTable(rows: readonly Row[]): string {
  const lines = [
    ["fault", "database", "tries", "what clients saw", "acknowledged and lost", "time to recover"],
    ["---", "---", "---:", "---", "---", "---"],
    ...rows.map((row) => [
      row.fault,
      row.database,
      String(row.tries),
      row.seen,
      row.lost,
      row.recovery,
    ]),
  ];
  return lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/** Such as `0.3 s (at most 1.2 s)`, of durations in milliseconds. */
export function spread(durations: readonly number[]): string {
  if (durations.length === 0) return "none measured";
  const sorted = durations.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)]!;
  if (sorted.length === 1) return seconds(median);
  return `${seconds(median)} (at most ${seconds(sorted.at(-1)!)})`;
}

/** Such as `0.25 s` or `12 s`. */
export function seconds(milliseconds: number): string {
  const value = milliseconds / 1000;
  return `${value < 10 ? value.toFixed(2) : value.toFixed(0)} s`;
}

/** Such as `12 × 200, 3 × 500`. */
export function tallyText(tally: ReadonlyMap<string, number>): string {
  if (tally.size === 0) return "nothing";
  return [...tally].toSorted(([a], [b]) => a < b ? -1 : 1)
    .map(([what, count]) => `${count} × ${what}`).join(", ");
}
