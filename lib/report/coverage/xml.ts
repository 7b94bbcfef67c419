// Tests: tests/lib/report/coverage/refusal_test.ts tests/lib/report/growth_test.ts
import { type ReportPosition, shorten } from "../report_error.ts";
import { type XmlHandler, XmlReader } from "../xml/reader.ts";
import type { XmlAttributes } from "../xml/start_tag.ts";
import type { CoverageMap, CoverageTotals, FileLines } from "./coverage_map.ts";
import { CoverageFormatError, type FormatReader, notCoverage } from "./format_reader.ts";
import { XML_FORMATS } from "./formats.ts";
import type { XmlFormat } from "./xml_formats.ts";

// Elements whose names are folders of the files in them.
const FOLDERS = ["group", "package"];

/** An open element with totals: from a file up to the whole report. */
interface Level {
  totals: CoverageTotals | null;
  /** Something in it has counted already. */
  hasCounted: boolean;
  lines: FileLines | undefined;
  listedLineCount: number;
  /** Lines of methods that no other line follows, and whether they are covered. */
  methodLines: Map<number, boolean>;
  lastMethodLine: number;
}

/**
 * Recognizes the format by the outermost element and its first child. Totals are repeated at every
 * level: the innermost count, and only where there are no lines.
 */
export class XmlCoverageReader implements FormatReader, XmlHandler {
  readonly #map: CoverageMap;
  readonly #xml: XmlReader;
  #root: { name: string; attributes: XmlAttributes } | undefined;
  #format: XmlFormat | undefined;
  readonly #levels: Level[] = [];
  readonly #folders: string[] = [];
  #skippedDepth = 0;
  #methodDepth = 0;

  constructor(map: CoverageMap, file: string) {
    this.#map = map;
    this.#xml = new XmlReader(file, this);
  }

  get position(): ReportPosition {
    return this.#xml.elementPosition;
  }

  write(chunk: string): void {
    this.#xml.write(chunk);
  }

  end(): void {
    this.#xml.flush();
    if (this.#root === undefined) throw notCoverage("XML without an element");
    this.#xml.end();
  }

  open(name: string, attributes: XmlAttributes): void {
    if (this.#format) return this.#begin(this.#format, name, attributes);
    const isRoot = this.#root === undefined;
    const root = this.#root ??= { name, attributes };
    const formats = XML_FORMATS.filter((format) => format.root === root.name);
    this.#format = formats.find(({ rootAttributes, firstChildren }) =>
      rootAttributes.some((each) => root.attributes[each] !== undefined) ||
      (!isRoot && firstChildren.includes(name))
    );
    if (this.#format) {
      this.#begin(this.#format, root.name, root.attributes);
      if (!isRoot) this.#begin(this.#format, name, attributes);
    } else if (!isRoot || formats.length === 0) {
      const inside = isRoot ? "" : ` and <${shorten(name)}> inside`;
      throw notCoverage(`XML with <${shorten(root.name)}> as the outermost element${inside}`);
    }
  }

  close(name: string): void {
    if (this.#skippedDepth > 0) {
      this.#skippedDepth--;
      return;
    }
    if (name === "method") this.#methodDepth--;
    if (FOLDERS.includes(name)) this.#folders.pop();
    // A root element without anything inside has no format.
    if (this.#format?.levels.includes(name)) this.#endLevel(this.#levels.pop()!);
  }

  #begin(format: XmlFormat, name: string, attributes: XmlAttributes): void {
    if (this.#skippedDepth > 0 || format.skipped.includes(name)) {
      this.#skippedDepth++;
      return;
    }
    if (name === "line") return this.#addLine(format, attributes);
    if (name === "method") this.#methodDepth++;
    if (FOLDERS.includes(name)) this.#folders.push(attributes["name"] ?? "");
    if (format.levels.includes(name)) {
      const isFile = name === format.levels.at(-1);
      this.#levels.push({
        totals: null,
        hasCounted: false,
        lines: isFile ? this.#fileOf(format, name, attributes) : undefined,
        listedLineCount: 0,
        methodLines: new Map(),
        lastMethodLine: 0,
      });
    }
    const totals = format.totalsOf(name, attributes);
    const level = this.#levels.at(-1);
    if (totals && level) level.totals = totals;
  }

  #fileOf(format: XmlFormat, name: string, attributes: XmlAttributes): FileLines {
    const path = format.pathOf(attributes, this.#folders.join("/"));
    if (path) return this.#map.file(path);
    if (format.hasUnnamedFiles) return this.#map.unnamedFile();
    throw new CoverageFormatError(`found "${name}" without "name", expected one`);
  }

  #addLine(format: XmlFormat, attributes: XmlAttributes): void {
    const level = this.#levels.at(-1);
    if (!level?.lines) {
      const element = format.levels.at(-1);
      throw new CoverageFormatError(
        `found "line" outside of a ${element}, expected "${element}" around it`,
      );
    }
    const line = format.lineOf(attributes, this.#root!.attributes);
    if (!line) return;
    const { number, covered } = line;
    if (line.isOfMethod || this.#methodDepth > 0) {
      level.methodLines.set(number, covered || level.methodLines.get(number) === true);
      level.lastMethodLine = number;
      const { methodLineCount } = this.#map.limits;
      if (level.methodLines.size <= methodLineCount) return;
      throw new CoverageFormatError(
        `found more than ${methodLineCount} lines of methods in one file`,
        "limit",
      );
    }
    level.methodLines.delete(level.lastMethodLine);
    level.listedLineCount++;
    level.hasCounted = true;
    level.lines.add(number, covered);
  }

  #endLevel(level: Level): void {
    let missingLineCount = missingLines(level);
    for (const [line, covered] of level.methodLines) {
      if (--missingLineCount < 0) break;
      level.lines?.add(line, covered);
      level.hasCounted = true;
    }
    if (level.totals && !level.hasCounted) {
      this.#map.addTotals(level.totals);
      level.hasCounted = true;
    }
    const outer = this.#levels.at(-1);
    if (outer && level.hasCounted) outer.hasCounted = true;
  }
}

/** How many lines of a file are listed as lines of its methods alone. */
function missingLines({ totals, listedLineCount }: Level): number {
  if (listedLineCount > 0) return (totals?.lineCount ?? 0) - listedLineCount;
  return totals ? 0 : Infinity;
}
