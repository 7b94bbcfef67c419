/** Coverage formats in XML: which one it is, and the streaming between text and reader. */
import { SaxesParser } from "saxes";
import { quote, ReportError } from "../report_error.ts";
import { CloverReader } from "./clover.ts";
import { CoberturaReader } from "./cobertura.ts";
import type { CoverageMap } from "./coverage_map.ts";
import { JacocoReader } from "./jacoco.ts";
import { located, NotCoverageError, Refusal } from "./refusal.ts";

/** Attributes of an element. */
export type Attributes = Readonly<Record<string, string | undefined>>;

/** Takes the elements of a report in document order. Both throw a `Refusal`. */
export interface ElementReader {
  open(name: string, attributes: Attributes): void;
  close(name: string): void;
}

type XmlFormat = "cobertura" | "jacoco" | "clover";

const READERS: Record<XmlFormat, new (map: CoverageMap) => ElementReader> = {
  cobertura: CoberturaReader,
  jacoco: JacocoReader,
  clover: CloverReader,
};

/**
 * The format by the root element and the first element in it. `undefined` where only that first
 * child can tell and `child` is not given.
 */
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
  attributes: Attributes;
}

/**
 * Reads an XML coverage report; entities are not expanded beyond the five of XML, and nothing
 * outside of the file is looked at.
 *
 * @returns the name of the format
 * @throws {NotCoverageError} when it is XML of another kind
 * @throws {ReportError} with line and column, when it is broken or exceeds a limit
 */
export async function readXml(
  text: AsyncIterable<string>,
  map: CoverageMap,
  file: string,
): Promise<{ format: XmlFormat }> {
  const { limits } = map;
  const parser = new SaxesParser();
  const place = () => ({ file, position: { line: parser.line, column: parser.column + 1 } });
  let format: XmlFormat | undefined;
  let reader: ElementReader | undefined;
  let root: Element | undefined;
  let depth = 0;
  let attributeCount = 0;
  let lastEventAt = 0;

  const choose = (from: Element, child: string | undefined) => {
    const found = formatOf(from, child);
    if (found === undefined && child === undefined) return;
    if (found === undefined || found === "other") {
      const inside = child === undefined ? "" : ` with ${quote(child)} inside`;
      const kind = `XML with the root element ${quote(from.name)}${inside}`;
      throw new NotCoverageError({ ...place(), found: kind });
    }
    format = found;
    reader = new READERS[found](map);
    reader.open(from.name, from.attributes);
  };

  parser.on("error", (error) => {
    // saxes puts the position before its message.
    const problem = error.message.replace(/^\d+:\d+: /, "").replace(/\.$/, "");
    throw new Refusal(`found broken XML (${problem}), expected a well-formed document`);
  });
  parser.on("attribute", () => {
    attributeCount++;
    if (attributeCount > limits.attributeCount) {
      throw new Refusal(
        `found an element with more than ${limits.attributeCount} attributes, expected fewer`,
        "limit",
      );
    }
  });
  parser.on("opentag", ({ name, attributes }) => {
    lastEventAt = parser.position;
    attributeCount = 0;
    depth++;
    if (depth > limits.depth) {
      throw new Refusal(
        `found elements more than ${limits.depth} levels deep, expected fewer`,
        "limit",
      );
    }
    if (root === undefined) {
      root = { name, attributes };
      choose(root, undefined);
      return;
    }
    if (reader === undefined) choose(root, name);
    reader?.open(name, attributes);
  });
  parser.on("closetag", ({ name }) => {
    lastEventAt = parser.position;
    depth--;
    // Without any element inside, an empty report of its format.
    if (depth === 0 && reader === undefined) {
      format = name === "report" ? "jacoco" : "cobertura";
      return;
    }
    reader?.close(name);
  });

  for await (const piece of text) {
    located(place, () => {
      parser.write(piece);
      if (parser.position - lastEventAt > limits.tokenCharacters + piece.length) {
        throw new Refusal(
          `found more than ${limits.tokenCharacters} characters between two tags, expected fewer`,
          "limit",
        );
      }
    });
  }
  located(place, () => {
    parser.close();
  });
  if (format === undefined) {
    throw new ReportError({ ...place(), kind: "malformed", problem: "found no element" });
  }
  return { format };
}
