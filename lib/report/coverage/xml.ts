/** Coverage formats in XML: which one it is, and the streaming between text and reader. */
import { DEFAULT_REPORT_LIMITS } from "../limits.ts";
import { type XmlHandler, XmlReader } from "../xml/reader.ts";
import type { XmlAttributes } from "../xml/start_tag.ts";
import { CloverReader } from "./clover.ts";
import { CoberturaReader } from "./cobertura.ts";
import type { CoverageMap } from "./coverage_map.ts";
import { JacocoReader } from "./jacoco.ts";
import { located, NotCoverageError, type Place } from "./refusal.ts";

export type XmlFormat = "cobertura" | "jacoco" | "clover";

const READERS: Record<XmlFormat, new (map: CoverageMap) => XmlHandler> = {
  cobertura: CoberturaReader,
  jacoco: JacocoReader,
  clover: CloverReader,
};

/** The format by the root element and its first child; `undefined` when the child is needed. */
function formatOf(root: Element, child: string | undefined): XmlFormat | "other" | undefined {
  const has = (...names: string[]) => names.some((name) => root.attributes[name] !== undefined);
  if (root.name === "coverage") {
    if (has("line-rate", "lines-valid", "branch-rate")) return "cobertura";
    if (has("clover", "generated")) return "clover";
    if (child === "packages" || child === "sources") return "cobertura";
    if (child === "project" || child === "testproject") return "clover";
    return child === undefined ? undefined : "other";
  }
  if (root.name === "report") {
    if (child === undefined) return undefined;
    const known = ["sessioninfo", "group", "package", "counter"].includes(child);
    return known ? "jacoco" : "other";
  }
  return "other";
}

interface Element {
  name: string;
  attributes: XmlAttributes;
}

// Names of source files: refused when too long.
const NAME_ATTRIBUTES = new Set(["filename", "path", "name"]);

/** Feeds the elements of a document to the reader of its format, once that is recognized. */
class Recognizer implements XmlHandler {
  readonly xml: XmlReader;
  format: XmlFormat | undefined;
  root: Element | undefined;
  readonly #map: CoverageMap;
  readonly #file: string;
  #reader: XmlHandler | undefined;

  constructor(map: CoverageMap, file: string) {
    this.#map = map;
    this.#file = file;
    const { tokenCharacters } = map.limits;
    this.xml = new XmlReader({
      file,
      limits: {
        ...DEFAULT_REPORT_LIMITS,
        attributeCharacters: tokenCharacters,
        nameCharacters: tokenCharacters,
      },
      handler: this,
      nameAttributes: NAME_ATTRIBUTES,
    });
  }

  open(name: string, attributes: XmlAttributes): void {
    if (this.root === undefined) {
      this.root = { name, attributes };
      this.#recognize(this.root, undefined);
      return;
    }
    if (this.#reader === undefined) this.#recognize(this.root, name);
    located(this.#place, () => this.#reader?.open(name, attributes));
  }

  close(name: string): void {
    // A root element without anything inside is an empty report.
    if (this.#reader === undefined) this.format = name === "report" ? "jacoco" : "cobertura";
    else located(this.#place, () => this.#reader?.close(name));
  }

  readonly #place = (): Place => ({ file: this.#file, position: this.xml.elementPosition });

  #recognize(root: Element, child: string | undefined): void {
    const format = formatOf(root, child);
    if (format === undefined && child === undefined) return;
    if (format === undefined || format === "other") {
      const inside = child === undefined ? "" : ` and <${child}> inside`;
      const found = `XML with <${root.name}> as the outermost element${inside}`;
      throw new NotCoverageError({ ...this.#place(), found });
    }
    this.format = format;
    this.#reader = new READERS[format](this.#map);
    this.#reader.open(root.name, root.attributes);
  }
}

/**
 * Reads an XML coverage report. @throws {NotCoverageError} when it is XML of another kind,
 * {ReportError} with line and column, when it is broken or exceeds a limit
 */
export async function readXml(
  chunks: AsyncIterable<string>,
  map: CoverageMap,
  file: string,
): Promise<XmlFormat> {
  const recognizer = new Recognizer(map, file);
  for await (const chunk of chunks) recognizer.xml.write(chunk);
  recognizer.xml.flush();
  if (recognizer.root === undefined) {
    throw new NotCoverageError({ file, found: "XML without an element" });
  }
  recognizer.xml.end();
  return recognizer.format!;
}
