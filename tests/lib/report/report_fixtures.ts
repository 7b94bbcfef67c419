/** Reports as files, with what is read from them; run as a program, writes what is read. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ReportError } from "../../../lib/report/report_error.ts";
import { readReport } from "../../../lib/report/read_report.ts";
import type { TestResult } from "../../../lib/report/result.ts";
import { inChunks } from "./reading.ts";

const ROOT = fileURLToPath(new URL("../../../fixtures/reports/", import.meta.url));

/** What is read from a report; what is empty is left out. */
export interface Expected {
  tool?: string;
  /** Names, conclusion, and what else a result has. */
  results?: Partial<TestResult>[];
  notes?: string[];
  failuresOutside?: string[];
  unlisted?: string[];
  /** Of a report that is refused. */
  error?: { kind: string; message: string };
}

/** The fixtures, by the names of their folders. */
export function reportFixtures(): { title: string; folder: string; file: string }[] {
  return readdirSync(ROOT, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.startsWith("report."))
    .map((entry) => {
      const folder = `${entry.parentPath}/`;
      const title = folder.slice(ROOT.length, -1).replace("/", ": ").replaceAll("_", " ");
      return { title, folder, file: entry.name };
    }).sort((one, other) => one.title < other.title ? -1 : 1);
}

/** Reads `expected.json` of a fixture. */
export async function readExpected(folder: string): Promise<Expected> {
  return JSON.parse(await Deno.readTextFile(`${folder}expected.json`));
}

/** Reads the report at a path. */
export async function readFixture(path: string, chunkBytes: number): Promise<Expected> {
  const results: Partial<TestResult>[] = [];
  const notes: string[] = [];
  const failuresOutside: string[] = [];
  const unlisted: string[] = [];
  let tool = "";
  let error: Expected["error"];
  try {
    ({ tool: { tool } } = await readReport(inChunks(readFileSync(path), chunkBytes), {
      file: "report",
      checkoutFolder: "/srv/shop",
      onResult: (result) => results.push(shown(result)),
      onNote: (note) => notes.push(note),
      onFailureOutside: (failure) => failuresOutside.push(failure),
      onUnlisted: (suite) => unlisted.push(suite),
    }));
  } catch (thrown) {
    if (!(thrown instanceof ReportError)) throw thrown;
    error = { kind: thrown.kind, message: thrown.message };
  }
  const lists = Object.entries({ results, notes, failuresOutside, unlisted });
  return {
    ...tool !== "" && { tool },
    ...Object.fromEntries(lists.filter(([, list]) => list.length > 0)),
    ...error && { error },
  };
}

/** Without what a result does not have. */
function shown(result: TestResult): Partial<TestResult> {
  const entries = Object.entries(result).filter(([, value]) => value !== "" && value !== 0);
  return Object.fromEntries(entries);
}

if (import.meta.main) {
  for (const { folder, file } of reportFixtures()) {
    const text = JSON.stringify(await readFixture(folder + file, 65_536), null, 2);
    await Deno.writeTextFile(`${folder}expected.json`, `${text}\n`);
  }
}
