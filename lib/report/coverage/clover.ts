/** Clover XML, as OpenClover, PHPUnit and Istanbul write it. */
import type { XmlAttributes } from "../xml/start_tag.ts";
import type { CoverageMap } from "./coverage_map.ts";
import { ran, wholeNumber } from "./numbers.ts";
import { Refusal } from "./refusal.ts";
import { NestedReader } from "./nested_reader.ts";

/**
 * Reads Clover XML.
 *
 * Lines of type `stmt` and `cond` count. A `method` line counts the calls of a method; it
 * is the line of the declaration, which tools never count as a line. Without any line, `statements`
 * of the nearest level are added: the closest metric, and for PHPUnit the number of lines.
 * `testproject` holds the tests themselves, which no total of Clover includes.
 *
 * PHPUnit lists each line once, so a line that declares a method and contains its code
 * (`function one() { return 1; }`) is listed as a `method` only. When `statements` counts more lines
 * than are listed, the missing ones are the first methods that no other line follows.
 */
export class CloverReader extends NestedReader {
  #package = "";
  #testProjectDepth = 0;
  #isPhpunit = false;
  #hasLines = false;
  /** Lines of the current file that `statements` counts and that are not listed. */
  #missingLineCount = 0;
  /** Methods of the current file that no line follows, and whether they were called. */
  readonly #bareMethods = new Map<number, boolean>();
  #lastMethod = 0;

  constructor(map: CoverageMap) {
    super(map, ["coverage", "project", "package", "file"]);
  }

  override open(name: string, attributes: XmlAttributes): void {
    if (name === "testproject") this.#testProjectDepth++;
    if (this.#testProjectDepth === 0) super.open(name, attributes);
  }

  override close(name: string): void {
    if (this.#testProjectDepth === 0) super.close(name);
    if (name === "testproject") this.#testProjectDepth--;
  }

  protected begin(name: string, attributes: XmlAttributes): void {
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
        this.#hasLines = false;
        this.#missingLineCount = 0;
        this.#bareMethods.clear();
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
    // The totals count only for a file without lines.
    if (this.#hasLines) this.#addMissingLines();
    this.file = undefined;
  }

  #pathOf({ path, name }: XmlAttributes): string {
    if (path) return path;
    if (!name) throw new Refusal(`found "file" without "name" and "path", expected one of them`);
    // PHPUnit writes the whole path as the name, old versions of Clover the last part alone.
    if (/[\\/]/.test(name)) return name;
    return `${this.#package.replaceAll(".", "/")}/${name}`.replace(/^\//, "");
  }

  #line({ num, type, count, truecount, falsecount }: XmlAttributes): void {
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
    this.#hasLines = true;
    this.#missingLineCount--;
    this.#bareMethods.delete(this.#lastMethod);
    this.file.add(number, counts.some((text) => ran(text, `"count" of a line`)));
  }

  #method(line: number, covered: boolean): void {
    this.#lastMethod = line;
    this.#bareMethods.set(line, covered);
    const { methodLineCount } = this.map.limits;
    if (this.#bareMethods.size <= methodLineCount) return;
    throw new Refusal(
      `found methods without lines in one file, expected at most ${methodLineCount}`,
      "limit",
    );
  }

  #metrics({ statements, coveredstatements }: XmlAttributes): void {
    if (this.classDepth > 0 || statements === undefined) return;
    const lineCount = wholeNumber(statements, `"statements"`);
    const coveredLineCount = wholeNumber(coveredstatements, `"coveredstatements"`);
    this.noteTotals({ coveredLineCount, lineCount });
    this.#missingLineCount += lineCount;
  }

  #addMissingLines(): void {
    for (const [line, covered] of this.#bareMethods) {
      if (--this.#missingLineCount < 0) return;
      this.file?.add(line, covered);
    }
  }
}
