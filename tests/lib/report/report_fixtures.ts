/** Reports as files, with what is read from them; run as a program, writes what is read. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ReportError } from "../../../lib/report/report_error.ts";
import { readReport } from "../../../lib/report/read_report.ts";
import type { TestResult } from "../../../lib/report/result.ts";
import { inChunks } from "./reading.ts";

const REPORTS = fileURLToPath(new URL("../../../fixtures/reports/", import.meta.url));
/** Several reports of each tool. */
const DIALECTS = fileURLToPath(new URL("../../../fixtures/junit/dialects/", import.meta.url));

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

/** A report, and the file with what is read from it. */
interface ReportFixture {
  title: string;
  report: string;
  expected: string;
}

/** The fixtures by title, which is made of the names of folders and files. */
export function reportFixtures(): ReportFixture[] {
  const reports = filesIn(REPORTS).filter((path) => /\/report\.\w+$/.test(path)).map((report) => {
    const folder = report.slice(0, report.lastIndexOf("/"));
    const title = folder.slice(REPORTS.length).replace("/", ": ").replaceAll("_", " ");
    return { title, report, expected: `${folder}/expected.json` };
  });
  // A second run in another folder is compared with the first one.
  const dialects = filesIn(DIALECTS).filter((path) => /(?<!_again)\.xml$/.test(path));
  return [
    ...reports,
    ...dialects.map((report) => ({
      title: report.slice(DIALECTS.length),
      report,
      expected: report.replace(/xml$/, "json"),
    })),
  ].sort((one, other) => one.title < other.title ? -1 : 1);
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile()).map(({ parentPath, name }) => `${parentPath}/${name}`);
}

/** Reads what is expected of a report. */
export async function readExpected({ expected }: ReportFixture): Promise<Expected> {
  return JSON.parse(await Deno.readTextFile(expected));
}

/** Reads a report. */
export async function readFixture(
  { report }: ReportFixture,
  chunkBytes: number,
): Promise<Expected> {
  const results: Partial<TestResult>[] = [];
  const notes: string[] = [];
  const failuresOutside: string[] = [];
  const unlisted: string[] = [];
  let tool = "";
  let error: Expected["error"];
  try {
    const read = await readReport(inChunks(readFileSync(report), chunkBytes), {
      file: "report",
      checkoutFolder: "/srv/shop",
      onResult: (result) => results.push(shown(result)),
      onNote: (note) => notes.push(note),
      onFailureOutside: (failure) => failuresOutside.push(failure),
      onUnlisted: (suite) => unlisted.push(suite),
    });
    assert.equal(read.resultCount, results.length);
    tool = read.tool.tool;
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
  for (const fixture of reportFixtures()) {
    const text = JSON.stringify(await readFixture(fixture, 65_536), null, 2);
    await Deno.writeTextFile(fixture.expected, `${text}\n`);
  }
}
