/** Cobertura XML, as coverage.py, gcovr, coverlet, Istanbul, simplecov and many others write it. */
import type { XmlHandler } from "../xml/reader.ts";
import type { XmlAttributes } from "../xml/start_tag.ts";
import type { CoverageMap, FileLines } from "./coverage_map.ts";
import { ran, wholeNumber } from "./numbers.ts";
import { Refusal } from "./refusal.ts";

/**
 * Reads Cobertura XML.
 *
 * Lines are listed twice, below the class and below its methods. Those of the class count, because
 * a method's counts are its calls; only a class without lines takes those of its methods. Classes
 * of the same file are merged; a class without a name is a file by itself.
 *
 * The `source` folders are left out of the path: shards of one build run in different folders.
 * Without any line, the totals (`lines-covered`, `lines-valid`) are added.
 */
export class CoberturaReader implements XmlHandler {
  readonly #map: CoverageMap;
  #class: OpenClass | undefined;
  #insideMethod = false;
  #hasLines = false;
  #root: XmlAttributes = {};

  constructor(map: CoverageMap) {
    this.#map = map;
  }

  open(name: string, attributes: XmlAttributes): void {
    switch (name) {
      case "coverage":
        this.#root = attributes;
        return;
      case "class": {
        const path = attributes.filename || attributes.name;
        const file = path ? this.#map.file(path) : this.#map.unnamedFile();
        this.#class = { file, hasLines: false, methodLines: new Map() };
        return;
      }
      case "method":
        this.#insideMethod = true;
        return;
      case "line":
        return this.#line(attributes);
    }
  }

  close(name: string): void {
    switch (name) {
      case "method":
        this.#insideMethod = false;
        return;
      case "class":
        return this.#endClass();
      case "coverage":
        if (!this.#hasLines) this.#addTotals();
        return;
    }
  }

  #endClass(): void {
    const ended = this.#class;
    this.#class = undefined;
    if (ended === undefined) return;
    if (ended.hasLines) return;
    for (const [line, covered] of ended.methodLines) ended.file.add(line, covered);
  }

  #line(attributes: XmlAttributes): void {
    const current = this.#class;
    if (current === undefined) {
      throw new Refusal(`found "line" outside of a class, expected "class" around it`);
    }
    const number = wholeNumber(attributes.number, `"number" of a line`);
    const covered = ran(attributes.hits, `"hits" of a line`);
    this.#hasLines = true;
    if (this.#insideMethod) {
      this.#holdMethodLine(current.methodLines, number, covered);
    } else {
      current.hasLines = true;
      current.file.add(number, covered);
    }
  }

  #holdMethodLine(lines: Map<number, boolean>, line: number, covered: boolean): void {
    lines.set(line, covered || lines.get(line) === true);
    const { methodLineCount } = this.#map.limits;
    if (lines.size <= methodLineCount) return;
    throw new Refusal(
      `found more than ${methodLineCount} lines in the methods of one class, expected fewer`,
      "limit",
    );
  }

  #addTotals(): void {
    const { "lines-covered": covered, "lines-valid": valid } = this.#root;
    if (covered === undefined || valid === undefined) return;
    this.#map.addTotals({
      coveredLineCount: wholeNumber(covered, `"lines-covered"`),
      lineCount: wholeNumber(valid, `"lines-valid"`),
    });
  }
}

interface OpenClass {
  file: FileLines;
  hasLines: boolean;
  /** Line numbers in its methods, and whether they are covered. */
  methodLines: Map<number, boolean>;
}
