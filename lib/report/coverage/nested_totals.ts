import type { CoverageMap, CoverageTotals } from "./coverage_map.ts";

/**
 * Totals that a report repeats at every level, from a file up to the whole. The innermost ones
 * count, and only where no lines were told: a level is passed over once something in it has spoken.
 */
export class NestedTotals {
  readonly #map: CoverageMap;
  readonly #levels: { hasSpoken: boolean; totals: CoverageTotals | undefined }[] = [];

  constructor(map: CoverageMap) {
    this.#map = map;
  }

  /** Enters a level. */
  enter(): void {
    this.#levels.push({ hasSpoken: false, totals: undefined });
  }

  /** Says that lines were told at the current level. */
  speak(): void {
    const level = this.#levels.at(-1);
    if (level) level.hasSpoken = true;
  }

  /** Notes the totals of the current level. */
  note(totals: CoverageTotals): void {
    const level = this.#levels.at(-1);
    if (level) level.totals = totals;
  }

  /**
   * Leaves a level, and adds its totals where nothing in it has spoken.
   *
   * @throws {Refusal} when the totals are impossible
   */
  leave(): void {
    const level = this.#levels.pop();
    if (level === undefined) return;
    if (!level.hasSpoken && level.totals) {
      this.#map.addTotals(level.totals);
      level.hasSpoken = true;
    }
    if (level.hasSpoken) this.speak();
  }
}
