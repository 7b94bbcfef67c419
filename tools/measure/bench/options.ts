/** What the benchmark is asked for. */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Results } from "./markdown.ts";

/** Parts of the benchmark, in their order. */
export const SECTIONS = [
  ...[
    "api",
    "crowd",
    "growth",
    "storage",
    "after_upload",
    "uncached",
    "histories",
    "pages",
    "startup",
    "ingest",
    "door",
    "uploads",
    "export",
  ],
];

/** How it is called. */
export const USAGE = `
Usage: deno task measure bench [--quick] [--json] [--only SECTIONS] [--data FOLDER]
       deno task measure bench --markdown RESULT.json

  --quick          within ten minutes on two cores, with less data
  --json           one object instead of tables
  --only SECTIONS  some of ${SECTIONS.join(",")}
  --data FOLDER    keeps the filled databases for the next run
  --markdown FILE  the tables of an earlier run with --json
`;

/** A call that works. */
export const EXAMPLE = "deno task measure bench --quick --only startup";

/**
 * The options out of the arguments.
 *
 * @throws {Error} when they make no sense, or there is no such result
 */
export function readOptions(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      only: { type: "string", default: SECTIONS.join(",") },
      data: { type: "string" },
      markdown: { type: "string" },
    },
  });
  const { quick, json, data } = values;
  const only = new Set(values.only.split(","));
  for (const name of only) {
    if (!SECTIONS.includes(name)) {
      throw new RangeError(
        `--only: ${JSON.stringify(name)} is not a section, expected some of ${SECTIONS.join(",")}`,
      );
    }
  }
  return { quick, json, only, data, earlier: earlierResults(values.markdown) };
}

function earlierResults(file: string | undefined): Results | null {
  if (file === undefined) return null;
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new Error(`--markdown: ${JSON.stringify(file)} cannot be read: ${error}`);
  }
}
