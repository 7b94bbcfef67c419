/** JaCoCo XML, as JaCoCo, Kover and Pester write it. */
import type { XmlAttributes } from "../xml/start_tag.ts";
import type { CoverageMap } from "./coverage_map.ts";
import { ran, wholeNumber } from "./numbers.ts";
import { Refusal } from "./refusal.ts";
import { NestedReader } from "./nested_reader.ts";

/**
 * Reads JaCoCo XML.
 *
 * The lines below `sourcefile` count: a line is covered when one of its instructions ran (`ci`).
 * Classes and methods repeat the same lines as counters and are skipped. Classes without debug
 * information have no lines; then the `LINE` counter of the nearest level that has one is added.
 * The groups of an aggregated report are modules: a file of the same name in two of them is two.
 */
export class JacocoReader extends NestedReader {
  readonly #path: string[] = [];

  constructor(map: CoverageMap) {
    super(map, ["report", "group", "package", "sourcefile"]);
  }

  protected begin(name: string, attributes: XmlAttributes): void {
    switch (name) {
      case "group":
      case "package":
        this.#path.push(attributes.name ?? "");
        return;
      case "sourcefile":
        if (!attributes.name) throw new Refusal(`found "sourcefile" without "name", expected one`);
        this.file = this.map.file([...this.#path, attributes.name].join("/"));
        return;
      case "line":
        return this.#line(attributes);
      case "counter":
        return this.#counter(attributes);
    }
  }

  protected finish(name: string): void {
    if (name === "sourcefile") this.file = undefined;
    if (name === "group" || name === "package") this.#path.pop();
  }

  #line({ nr, ci, mi, cb, mb }: XmlAttributes): void {
    if (this.file === undefined) {
      throw new Refusal(`found "line" outside of a source file, expected "sourcefile" around it`);
    }
    const number = wholeNumber(nr, `"nr" of a line`);
    const covered = ran(ci, `"ci" of a line`) || (cb !== undefined && ran(cb, `"cb" of a line`));
    const missed = ran(mi, `"mi" of a line`) || (mb !== undefined && ran(mb, `"mb" of a line`));
    this.markCounted();
    // Without instructions there is nothing to cover.
    if (covered || missed) this.file.add(number, covered);
  }

  #counter({ type, covered, missed }: XmlAttributes): void {
    if (type !== "LINE" || this.classDepth > 0) return;
    const coveredLineCount = wholeNumber(covered, `"covered" of a counter`);
    const missedLineCount = wholeNumber(missed, `"missed" of a counter`);
    this.noteTotals({ coveredLineCount, lineCount: coveredLineCount + missedLineCount });
  }
}
