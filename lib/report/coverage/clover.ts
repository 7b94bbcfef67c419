/** Clover XML, as OpenClover, PHPUnit and Istanbul write it. */
import type { CoverageMap } from "./coverage_map.ts";
import { ran, wholeNumber } from "./numbers.ts";
import { Refusal } from "./refusal.ts";
import type { Attributes } from "./format_reader.ts";
import { NestedReader } from "./nested_reader.ts";

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
export class CloverReader extends NestedReader {
  #package = "";
  #testProjectDepth = 0;
  #isPhpunit = false;
  /** Lines of the current file of the types that count, and how many there should be. */
  #entryCount = 0;
  #statementCount = 0;
  #methods: { line: number; covered: boolean; hasLines: boolean }[] = [];

  constructor(map: CoverageMap) {
    super(map, ["coverage", "project", "package", "file"]);
  }

  override open(name: string, attributes: Attributes): void {
    if (name === "testproject") this.#testProjectDepth++;
    if (this.#testProjectDepth === 0) super.open(name, attributes);
  }

  override close(name: string): void {
    if (this.#testProjectDepth === 0) super.close(name);
    if (name === "testproject") this.#testProjectDepth--;
  }

  protected begin(name: string, attributes: Attributes): void {
    switch (name) {
      case "coverage":
        // Clover and Istanbul name their version here.
        this.#isPhpunit = attributes.clover === undefined;
        return;
      case "package":
        this.#package = attributes.name ?? "";
        return;
      case "file":
        this.file = this.map.file(this.#pathOf(attributes));
        this.#entryCount = 0;
        this.#statementCount = 0;
        this.#methods = [];
        return;
      case "line":
        return this.#line(attributes);
      case "metrics":
        return this.#metrics(attributes);
    }
  }

  protected finish(name: string): void {
    if (name === "package") this.#package = "";
    if (name !== "file") return;
    if (this.#isPhpunit) this.#addHiddenLines();
    this.file = undefined;
  }

  #pathOf({ path, name }: Attributes): string {
    if (path) return path;
    if (!name) throw new Refusal(`found "file" without "name" and "path", expected one of them`);
    // PHPUnit writes the whole path as the name, old versions of Clover the last part alone.
    if (/[\\/]/.test(name)) return name;
    return `${this.#package.replaceAll(".", "/")}/${name}`.replace(/^\//, "");
  }

  #line({ num, type, count, truecount, falsecount }: Attributes): void {
    if (this.file === undefined) {
      throw new Refusal(`found "line" outside of a file, expected "file" around it`);
    }
    const number = wholeNumber(num, `"num" of a line`);
    if (type === "method") {
      if (this.#isPhpunit) this.#method(number, ran(count, `"count" of a line`));
      return;
    }
    // OpenClover gives a condition no count of its own, only how often it was true and false.
    const counts = count === undefined && type === "cond" ? [truecount, falsecount] : [count];
    this.markCounted();
    this.#entryCount++;
    const method = this.#methods.at(-1);
    if (method) method.hasLines = true;
    this.file.add(number, counts.some((text) => ran(text, `"count" of a line`)));
  }

  #method(line: number, covered: boolean): void {
    const { statementCount } = this.map.limits;
    if (this.#methods.push({ line, covered, hasLines: false }) <= statementCount) return;
    throw new Refusal(`found more than ${statementCount} methods in one file`, "limit");
  }

  #metrics({ statements, coveredstatements }: Attributes): void {
    if (this.classDepth > 0 || statements === undefined) return;
    const lineCount = wholeNumber(statements, `"statements"`);
    const coveredLineCount = wholeNumber(coveredstatements, `"coveredstatements"`);
    this.noteTotals({ coveredLineCount, lineCount });
    if (this.file) this.#statementCount = lineCount;
  }

  #addHiddenLines(): void {
    const hiddenCount = Math.max(0, this.#statementCount - this.#entryCount);
    // Without a line of its own the totals speak for the file.
    if (this.#entryCount === 0) return;
    const likelyFirst = this.#methods.toSorted((a, b) => Number(a.hasLines) - Number(b.hasLines));
    for (const { line, covered } of likelyFirst.slice(0, hiddenCount)) {
      this.file?.add(line, covered);
    }
  }
}
