// Tests: tests/lib/report/coverage/fixtures_test.ts
/** The elements of the XML coverage formats. */
import type { XmlAttributes } from "../xml/start_tag.ts";
import type { CoverageTotals } from "./coverage_map.ts";
import { ran, wholeNumber } from "./format_reader.ts";

interface XmlLine {
  number: number;
  covered: boolean;
  /** It may repeat a line of the file: it counts only where the file does not list all lines. */
  isOfMethod?: boolean;
}

export interface XmlFormat {
  name: string;
  /** Name of the outermost element. */
  root: string;
  /** Attributes of the outermost element and names of its first child that only this format has. */
  rootAttributes: readonly string[];
  firstChildren: readonly string[];
  /** Elements that may have totals, from the outermost; the last one lists the lines of a file. */
  levels: readonly string[];
  /** Elements that are skipped, with what is inside. */
  skipped: readonly string[];
  /** Path of a file; `folder` are the names of the groups and packages around it. */
  pathOf(file: XmlAttributes, folder: string): string | undefined;
  /** True when a file without a path is a file by itself, otherwise it is refused. */
  hasUnnamedFiles?: boolean;
  /** Reads a `line`; `null` when it does not count. */
  lineOf(line: XmlAttributes, root: XmlAttributes): XmlLine | null;
  /** The totals that an element has for the level it is in. */
  totalsOf(name: string, attributes: XmlAttributes): CoverageTotals | null;
}

/**
 * Cobertura, as coverage.py, gcovr, coverlet, Istanbul, simplecov and many others write it.
 *
 * Lines are listed twice, below the class and below its methods. Classes of the same file are merged;
 * coverlet writes classes without a path. The `source` folders are left out of the path: shards of
 * one build run in different folders.
 */
export const COBERTURA: XmlFormat = {
  name: "Cobertura",
  root: "coverage",
  rootAttributes: ["line-rate", "lines-valid", "branch-rate"],
  firstChildren: ["packages", "sources"],
  levels: ["coverage", "class"],
  skipped: [],
  pathOf: ({ filename, name }) => filename || name,
  hasUnnamedFiles: true,
  lineOf: ({ number, hits }) => ({
    number: wholeNumber(number, `"number" of a line`),
    covered: ran(hits, `"hits" of a line`),
  }),
  totalsOf(name, { "lines-covered": covered, "lines-valid": valid }) {
    if (name !== "coverage" || covered === undefined || valid === undefined) return null;
    return {
      coveredLineCount: wholeNumber(covered, `"lines-covered"`),
      lineCount: wholeNumber(valid, `"lines-valid"`),
    };
  },
};

/**
 * JaCoCo, as JaCoCo, Kover and Pester write it.
 *
 * A line is covered when one of its instructions ran (`ci`); without instructions there is nothing to
 * cover. Classes and methods repeat the lines as counters. Classes without debug information have no
 * lines, only `LINE` counters. The groups of an aggregated report are modules: a file of the same name
 * in two of them is two.
 */
export const JACOCO: XmlFormat = {
  name: "JaCoCo",
  root: "report",
  rootAttributes: [],
  firstChildren: ["sessioninfo", "group", "package", "counter"],
  levels: ["report", "group", "package", "sourcefile"],
  skipped: ["class"],
  pathOf: ({ name }, folder) => name && `${folder}/${name}`,
  lineOf({ nr, ci, mi, cb = "0", mb = "0" }) {
    const number = wholeNumber(nr, `"nr" of a line`);
    const covered = ran(ci, `"ci" of a line`) || ran(cb, `"cb" of a line`);
    const missed = ran(mi, `"mi" of a line`) || ran(mb, `"mb" of a line`);
    return covered || missed ? { number, covered } : null;
  },
  totalsOf(name, { type, covered, missed }) {
    if (name !== "counter" || type !== "LINE") return null;
    const coveredLineCount = wholeNumber(covered, `"covered" of a counter`);
    const lineCount = coveredLineCount + wholeNumber(missed, `"missed" of a counter`);
    return { coveredLineCount, lineCount };
  },
};

/**
 * Clover, as OpenClover, PHPUnit and Istanbul write it.
 *
 * Lines of type `stmt` and `cond` count. A `method` line is the line of a declaration, which tools do
 * not count. But PHPUnit lists each line once: one that declares a method and contains its code
 * (`function one() { return 1; }`) as a `method` only. The totals are `statements`: the closest metric,
 * and for PHPUnit the number of lines. `testproject` holds the tests themselves, which no total of
 * Clover includes.
 */
export const CLOVER: XmlFormat = {
  name: "Clover",
  root: "coverage",
  rootAttributes: ["clover", "generated"],
  firstChildren: ["project", "testproject"],
  levels: ["coverage", "project", "package", "file"],
  skipped: ["class", "testproject"],
  pathOf({ path, name }, folder) {
    // PHPUnit writes the whole path as the name, old versions of Clover the last part alone.
    if (path || !name || /[\\/]/.test(name)) return path || name;
    return folder === "" ? name : `${folder.replaceAll(".", "/")}/${name}`;
  },
  lineOf({ num, type, count, truecount, falsecount }, { clover }) {
    const isOfMethod = type === "method";
    // Clover and Istanbul name their version in the outermost element.
    if (isOfMethod && clover !== undefined) return null;
    const number = wholeNumber(num, `"num" of a line`);
    // OpenClover gives a condition no count of its own, only how often it was true and false.
    const counts = count === undefined && type === "cond" ? [truecount, falsecount] : [count];
    const covered = counts.some((each) => ran(each, `"count" of a line`));
    return { number, covered, isOfMethod };
  },
  totalsOf(name, { statements, coveredstatements }) {
    if (name !== "metrics" || statements === undefined) return null;
    return {
      coveredLineCount: wholeNumber(coveredstatements, `"coveredstatements"`),
      lineCount: wholeNumber(statements, `"statements"`),
    };
  },
};
