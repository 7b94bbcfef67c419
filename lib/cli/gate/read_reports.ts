/** The reports of one run of tests, as the gate reads them. */
import { stat } from "node:fs/promises";
import { FinalAttempts } from "../../gate/final_attempts.ts";
import type { GateReport } from "../../gate/rule.ts";
import { readFileChunks } from "../../report/file_chunks.ts";
import { readJUnit } from "../../report/junit/read_junit.ts";
import { ReportError } from "../../report/report_error.ts";
import { findReports, type ReportFile } from "../../report/report_files.ts";
import { isNegative } from "../../report/result.ts";

// Some file systems keep times in units of two seconds.
const TIME_UNIT_MS = 2_000;

/** The files that were there before the tests started, by path, with what changes when one is written. */
export interface FilesBefore {
  startedAtMs: number;
  versions: ReadonlyMap<string, string>;
}

/** The contents of a run's reports. */
export interface RunReports {
  reports: GateReport[];
  attempts: FinalAttempts;
  /** Whether all reports were read and no attempt failed, not even one that was repeated. */
  isPassed: boolean;
}

/** Remembers the files that REPORT arguments mean before the tests start. */
export async function filesBefore(reportArguments: readonly string[]): Promise<FilesBefore> {
  const startedAtMs = Date.now();
  const { files } = await findAll(reportArguments);
  const versions = new Map<string, string>();
  for (const { path } of files) versions.set(path, (await versionOf(path)).version);
  return { startedAtMs, versions };
}

/**
 * Reads reports. One that is older than the tests, or cannot be read, is listed as such; XML of
 * another kind is passed over unless it is named.
 *
 * @param options.before `null` when the tests ran before the gate started: every report is fresh
 */
export async function readRunReports(
  reportArguments: readonly string[],
  { before, checkoutFolder }: { before: FilesBefore | null; checkoutFolder: string },
): Promise<RunReports> {
  const { files, missing } = await findAll(reportArguments);
  const reports: GateReport[] = [...missing];
  const attempts = new FinalAttempts();
  let hasNegative = false;
  for (const { path, isNamed } of files) {
    const outside: string[] = [];
    let problem: string | null = null;
    const isFresh = before === null || await isNewer(path, before);
    try {
      await readJUnit(readFileChunks(path), {
        file: path,
        checkoutFolder,
        onFailureOutside: (failure) => outside.push(failure),
        onResult(result) {
          if (!isFresh) return;
          hasNegative ||= isNegative(result.conclusion);
          attempts.add(result);
        },
      });
    } catch (error) {
      if (!(error instanceof ReportError)) throw error;
      if (error.kind === "not-junit" && !isNamed) continue;
      problem = error.message;
    }
    reports.push({ path, isFresh, problem, outside });
  }
  const isClean = reports.every(({ problem, outside }) => problem === null && outside.length === 0);
  return { reports, attempts, isPassed: isClean && reports.length > 0 && !hasNegative };
}

/** The files that arguments mean; an argument that means none is a report that cannot be read. */
async function findAll(
  reportArguments: readonly string[],
): Promise<{ files: ReportFile[]; missing: GateReport[] }> {
  const present: string[] = [];
  const missing: GateReport[] = [];
  for (const argument of reportArguments) {
    try {
      await findReports([argument]);
      present.push(argument);
    } catch (error) {
      if (!(error instanceof ReportError)) throw error;
      missing.push({ path: argument, isFresh: true, problem: error.message, outside: [] });
    }
  }
  return { files: await findReports(present), missing };
}

async function isNewer(path: string, { startedAtMs, versions }: FilesBefore): Promise<boolean> {
  const { version, modifiedAtMs } = await versionOf(path);
  return version !== versions.get(path) && modifiedAtMs > startedAtMs - TIME_UNIT_MS;
}

async function versionOf(path: string): Promise<{ version: string; modifiedAtMs: number }> {
  const { ino, size, mtimeNs, mtimeMs } = await stat(path, { bigint: true });
  return { version: `${ino} ${size} ${mtimeNs}`, modifiedAtMs: Number(mtimeMs) };
}
