/** Clover XML, as OpenClover, PHPUnit and Istanbul write it. */
import { type CoverageMap, type FileLines, NestedTotals } from "./coverage_map.ts";
import { ran, wholeNumber } from "./numbers.ts";
import { Refusal } from "./refusal.ts";
import type { Attributes, ElementReader } from "./format_reader.ts";

/**
 * Reads Clover XML.
 *
 * Lines of type `stmt` and `cond` count. A `method` line counts the calls of a method; it
 * is the line of the declaration, which tools never count as a line. Without any line, `statements`
 * of the nearest level are added: the closest metric, and for PHPUnit the number of lines.
 * `testproject` holds the tests themselves, which no total of Clover includes.
 *
 * PHPUnit writes one entry a line, and where code stands on the line of a method's declaration
 * (`function one() { return 1; }`) that is the method's. So many lines as its `statements` say are
 * missing are taken from the methods, first from those without lines of their own.
 */
export class CloverReader implements ElementReader {
  readonly #map: CoverageMap;
  readonly #totals: NestedTotals;
  #package = "";
  #classDepth = 0;
  #testProjectDepth = 0;
  #isPhpunit = false;
  #file: OpenFile | undefined;

  constructor(map: CoverageMap) {
    this.#map = map;
    this.#totals = new NestedTotals(map);
  }

  open(name: string, attributes: Attributes): void {
    if (name === "testproject") this.#testProjectDepth++;
    if (this.#testProjectDepth > 0) return;
    switch (name) {
      case "coverage":
        // Clover and Istanbul name their version here.
        this.#isPhpunit = attributes.clover === undefined;
        return this.#totals.enter();
      case "project":
        return this.#totals.enter();
      case "package":
        this.#package = attributes.name ?? "";
        return this.#totals.enter();
      case "file":
        this.#file = {
          lines: this.#map.file(this.#pathOf(attributes)),
          entryCount: 0,
          statementCount: 0,
          methods: [],
        };
        return this.#totals.enter();
      case "class":
        this.#classDepth++;
        return;
      case "line":
        return this.#line(attributes);
      case "metrics":
        return this.#metrics(attributes);
    }
  }

  close(name: string): void {
    if (name === "testproject") this.#testProjectDepth--;
    else if (this.#testProjectDepth === 0) this.#close(name);
  }

  #close(name: string): void {
    switch (name) {
      case "class":
        this.#classDepth--;
        return;
      case "file":
        if (this.#file && this.#isPhpunit) addHiddenLines(this.#file);
        this.#file = undefined;
        return this.#totals.leave();
      case "package":
        this.#package = "";
        return this.#totals.leave();
      case "coverage":
      case "project":
        return this.#totals.leave();
    }
  }

  #pathOf({ path, name }: Attributes): string {
    if (path) return path;
    if (!name) throw new Refusal(`found "file" without "name" and "path", expected one of them`);
    // PHPUnit writes the whole path as the name, old versions of Clover the last part alone.
    if (/[\\/]/.test(name)) return name;
    return `${this.#package.replaceAll(".", "/")}/${name}`.replace(/^\//, "");
  }

  #line({ num, type, count, truecount, falsecount }: Attributes): void {
    if (this.#file === undefined) {
      throw new Refusal(`found "line" outside of a file, expected "file" around it`);
    }
    const number = wholeNumber(num, `"num" of a line`);
    if (type === "method") {
      if (this.#isPhpunit) this.#method(number, ran(count, `"count" of a line`));
      return;
    }
    // OpenClover gives a condition no count of its own, only how often it was true and false.
    const counts = count === undefined && type === "cond" ? [truecount, falsecount] : [count];
    this.#totals.markCounted();
    this.#file.entryCount++;
    const method = this.#file.methods.at(-1);
    if (method) method.hasLines = true;
    this.#file.lines.add(number, counts.some((text) => ran(text, `"count" of a line`)));
  }

  #method(line: number, covered: boolean): void {
    const { statementCount } = this.#map.limits;
    if (
      this.#file && this.#file.methods.push({ line, covered, hasLines: false }) > statementCount
    ) {
      throw new Refusal(`found more than ${statementCount} methods in one file`, "limit");
    }
  }

  #metrics({ statements, coveredstatements }: Attributes): void {
    if (this.#classDepth > 0 || statements === undefined) return;
    const lineCount = wholeNumber(statements, `"statements"`);
    this.#totals.note({
      coveredLineCount: wholeNumber(coveredstatements, `"coveredstatements"`),
      lineCount,
    });
    if (this.#file) this.#file.statementCount = lineCount;
  }
}

interface OpenFile {
  lines: FileLines;
  /** Lines of the types that count. */
  entryCount: number;
  /** How many there should be. */
  statementCount: number;
  methods: { line: number; covered: boolean; hasLines: boolean }[];
}

function addHiddenLines({ lines, entryCount, statementCount, methods }: OpenFile): void {
  const hiddenCount = Math.max(0, statementCount - entryCount);
  // Without a line of its own the totals speak for the file.
  if (entryCount === 0) return;
  const likelyFirst = methods.toSorted((a, b) => Number(a.hasLines) - Number(b.hasLines));
  for (const { line, covered } of likelyFirst.slice(0, hiddenCount)) lines.add(line, covered);
}
