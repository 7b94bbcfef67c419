/** A share in tenths of a percent, rounded half up. Only exactly 0 % and 100 % give 0 and 1000. */
export function tenthsOfPercent(part: number, whole: number): number {
  if (part === 0) return 0;
  if (part === whole) return 1000;
  // BigInt, because 0.05 % has no exact binary fraction and must round up.
  const tenths = (BigInt(part) * 2000n + BigInt(whole)) / (BigInt(whole) * 2n);
  return Math.min(Math.max(Number(tenths), 1), 999);
}

/** Formats tenths of a percent for a badge: `12.3%`, or `12%` without a tenth. */
export function formatTenths(tenths: number): string {
  return `${tenths / 10}%`;
}

/** Formats tenths of a percent on pages and in texts: `12.3 %`. */
export function formatPercent(tenths: number): string {
  return `${tenths / 10} %`;
}

/** The percentage of a badge on pages and in texts; `–` without one. */
export function shownPercentage({ percentage }: { percentage: string | null }): string {
  return percentage?.replace("%", " %") ?? "–";
}
