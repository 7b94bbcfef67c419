/** The base of readers for XML formats that repeat their totals at every level. */
import type { XmlHandler } from "../xml/reader.ts";
import type { XmlAttributes } from "../xml/start_tag.ts";
import type { CoverageMap, CoverageTotals, FileLines } from "./coverage_map.ts";

/**
 * Reads XML with totals at every level, from a file up to the whole report. The innermost totals
 * count, and only where there are no lines: a level is skipped once something in it has counted.
 */
export abstract class NestedReader implements XmlHandler {
  protected readonly map: CoverageMap;
  protected file: FileLines | undefined;
  /** Open `class` elements. */
  protected classDepth = 0;
  readonly #levelNames: ReadonlySet<string>;
  readonly #levels: { hasCounted: boolean; totals: CoverageTotals | undefined }[] = [];

  constructor(map: CoverageMap, levelNames: readonly string[]) {
    this.map = map;
    this.#levelNames = new Set(levelNames);
  }

  /** Called for each element, after the level that it begins was entered. */
  protected abstract begin(name: string, attributes: XmlAttributes): void;

  /** Called at the end of each element, before its level is left. */
  protected abstract finish(name: string): void;

  open(name: string, attributes: XmlAttributes): void {
    if (name === "class") this.classDepth++;
    if (this.#levelNames.has(name)) this.#levels.push({ hasCounted: false, totals: undefined });
    this.begin(name, attributes);
  }

  close(name: string): void {
    this.finish(name);
    if (name === "class") this.classDepth--;
    if (!this.#levelNames.has(name)) return;
    const level = this.#levels.pop();
    if (level?.totals && !level.hasCounted) {
      this.map.addTotals(level.totals);
      level.hasCounted = true;
    }
    if (level?.hasCounted) this.markCounted();
  }

  /** Notes that the current level has lines of its own. */
  protected markCounted(): void {
    const level = this.#levels.at(-1);
    if (level) level.hasCounted = true;
  }

  /** Notes the totals of the current level. */
  protected noteTotals(totals: CoverageTotals): void {
    const level = this.#levels.at(-1);
    if (level) level.totals = totals;
  }
}
