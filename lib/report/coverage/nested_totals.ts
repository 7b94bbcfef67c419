import type { CoverageMap, CoverageTotals } from "./coverage_map.ts";

/**
 * Totals that a report repeats at every level, from a file up to the whole. The innermost ones
 * count, and only where there are no lines: a level is skipped once something in it has counted.
 */
export class NestedTotals {
  readonly #map: CoverageMap;
  readonly #levels: { hasCounted: boolean; totals: CoverageTotals | undefined }[] = [];

  constructor(map: CoverageMap) {
    this.#map = map;
  }

  /** Enters a level. */
  enter(): void {
    this.#levels.push({ hasCounted: false, totals: undefined });
  }

  /** Notes that the current level has lines of its own. */
  markCounted(): void {
    const level = this.#levels.at(-1);
    if (level) level.hasCounted = true;
  }

  /** Notes the totals of the current level. */
  note(totals: CoverageTotals): void {
    const level = this.#levels.at(-1);
    if (level) level.totals = totals;
  }

  /**
   * Leaves a level, and adds its totals where nothing in it has counted.
   *
   * @throws {Refusal} when the totals are impossible
   */
  leave(): void {
    const level = this.#levels.pop();
    if (level === undefined) return;
    if (!level.hasCounted && level.totals) {
      this.#map.addTotals(level.totals);
      level.hasCounted = true;
    }
    if (level.hasCounted) this.markCounted();
  }
}
