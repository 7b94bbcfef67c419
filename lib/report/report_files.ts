/** The files that the REPORT arguments of a command name. */
import { glob, lstat, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { inOrderOfAttempts } from "../analysis/repetition/report_order.ts";
import { ReportError } from "./report_error.ts";
import { type FileBelow, mayBeReport, unreadReports } from "./unread_reports.ts";

export interface ReportFile {
  /** As it was given, or as it was found below what was given. */
  path: string;
  /** True when an argument names this very file: it has to be a report. */
  isNamed: boolean;
  /** Whether it is left out when it is empty or cut off; by default, unless it is named. */
  mayBeIncomplete?: boolean;
  /** Which attempt it is, from 1, if the arguments are given in the order of attempts. */
  attempt?: number | undefined;
  /** The folder of the checkout that its relative paths begin at; `""` for the root. */
  pathPrefix?: string;
}

/** With the next step, as one test framework has it. */
const EXPECTED_REPORT =
  "expected at least one: have the tests write it, such as `pytest --junitxml=reports/junit.xml -o junit_family=xunit1`";

const XML_FILE = /\.xml$/i;
const GLOB = /[*?[{]/;

/** What was found below a folder or by a glob, and is not read: it may hold results. */
export interface SkippedEntry {
  path: string;
  /** Such as "is a link, which is not followed". */
  reason: string;
  isLink: boolean;
  /** Whether it is a report of another name than `*.xml`. */
  isReport?: true;
}

/**
 * The files that arguments mean, in the order of attempts: a file itself, all `*.xml` below
 * a folder (case-insensitive; symbolic links below it are not followed), or what a glob matches (of
 * folders again all `*.xml` below them). A file that is reached twice is listed once.
 *
 * @param onSkipped called with each link that is not followed, to a folder or an XML file, with what has the
 * name of an XML file and is a named pipe, a socket or a device, and with each report below a folder that is no
 * `*.xml` file and that no argument names
 * @param options.areAttempts whether the arguments are given in the order of attempts
 * @throws {ReportError}
 */
export async function findReports(
  reportArguments: readonly string[],
  onSkipped?: OnSkipped,
  { areAttempts = false }: { areAttempts?: boolean | undefined } = {},
): Promise<ReportFile[]> {
  const files = new Map<string, ReportFile>();
  const others: FileBelow[] = [];
  for (const [index, argument] of reportArguments.entries()) {
    for (const found of await filesOf(argument, others, onSkipped)) {
      const file = areAttempts ? { ...found, attempt: index + 1 } : found;
      const key = await realPathOf(file.path);
      const known = files.get(key);
      // Under the name that was given, otherwise under the one that sorts first: the order of the
      // arguments makes no difference.
      const isBetter = !known ||
        (known.isNamed === file.isNamed ? file.path < known.path : file.isNamed);
      if (isBetter) files.set(key, file);
    }
  }
  for (const { path, reason } of onSkipped ? await unreadReports(others) : []) {
    const isNamed = files.has(await realPathOf(path));
    if (!isNamed) onSkipped!({ path, reason, isLink: false, isReport: true });
  }
  const sorted = inOrderOfAttempts([...files.values()]);
  return sorted.sort((a, b) => (a.attempt ?? 0) - (b.attempt ?? 0));
}

/** The paths of the files that exist of those that arguments mean. */
export async function presentReports(reportArguments: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    reportArguments.map((argument) => findReports([argument]).catch(() => [])),
  );
  return found.flat().map(({ path }) => path);
}

type OnSkipped = (entry: SkippedEntry) => void;

function skippedLink(path: string): SkippedEntry {
  return { path, reason: "is a link, which is not followed", isLink: true };
}

function skippedPipe(path: string): SkippedEntry {
  return {
    path,
    reason: "is a named pipe, a socket or a device, which is not read",
    isLink: false,
  };
}

/** @param others takes the files below folders that may be reports of another name than `*.xml` */
async function filesOf(
  argument: string,
  others: FileBelow[],
  onSkipped?: OnSkipped,
): Promise<ReportFile[]> {
  if (argument === "") {
    throw notFound('""', "found an empty name, expected a file, a folder or a glob");
  }
  const found = await statOf(argument);
  // A file whose name contains a bracket is that file.
  if (!found && GLOB.test(argument)) return await filesOfGlob(argument, others, onSkipped);
  if (!found) throw notFound(argument, "found nothing there, expected a file, a folder or a glob");
  if (!found.isDirectory()) return [{ path: argument, isNamed: true }];
  const paths = await filesBelow(argument, others, onSkipped);
  if (paths.length === 0 && /\.xcresult\/*$/i.test(argument)) {
    throw notFound(
      argument,
      "found Xcode's result bundle, expected JUnit: xcresultparser -o junit FOLDER > report.xml",
    );
  }
  if (paths.length === 0) {
    const [report] = await unreadReports(others.filter(({ folder }) => folder === argument));
    const problem = "found no *.xml file in this folder";
    throw notFound(
      argument,
      report ? `${problem}: ${report.path} ${report.reason}` : `${problem}, ${EXPECTED_REPORT}`,
    );
  }
  return paths.map((path) => ({ path, isNamed: false }));
}

async function filesOfGlob(
  pattern: string,
  others: FileBelow[],
  onSkipped?: OnSkipped,
): Promise<ReportFile[]> {
  const paths: string[] = [];
  try {
    for await (const path of glob(pattern)) {
      const info = await lstat(path);
      if (info.isDirectory()) paths.push(...await filesBelow(path, others, onSkipped));
      // A link to a file counts as the file. A link to a folder may lead back: not followed.
      else if ((await statOf(path))?.isFile()) paths.push(path);
      else onSkipped?.(info.isSymbolicLink() ? skippedLink(path) : skippedPipe(path));
    }
  } catch (error) {
    throw unreadable(pattern, error);
  }
  if (paths.length === 0) {
    throw notFound(pattern, `found no file that matches this glob, ${EXPECTED_REPORT}`);
  }
  return paths.map((path) => ({ path, isNamed: false }));
}

async function filesBelow(
  folder: string,
  others: FileBelow[],
  onSkipped?: OnSkipped,
): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    .catch((error) => {
      throw unreadable(folder, error);
    });
  for (const entry of onSkipped ? entries : []) {
    if (entry.isFile() || entry.isDirectory()) continue;
    const path = join(entry.parentPath, entry.name);
    const isXml = XML_FILE.test(entry.name);
    if (entry.isSymbolicLink()) {
      if (isXml || (await statOf(path))?.isDirectory()) onSkipped!(skippedLink(path));
    } else if (isXml) onSkipped!(skippedPipe(path));
  }
  const paths: string[] = [];
  for (const { parentPath, name } of entries.filter((entry) => entry.isFile())) {
    const path = join(parentPath, name);
    if (XML_FILE.test(name)) paths.push(path);
    else if (mayBeReport(name)) others.push({ path, folder });
  }
  return paths;
}

async function statOf(path: string): Promise<Awaited<ReturnType<typeof stat>> | null> {
  try {
    return await stat(path);
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw unreadable(path, error);
  }
}

async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    // A shell passes <(command) as a file without a path.
    return path;
  }
}

function notFound(file: string, problem: string): ReportError {
  return new ReportError({ file, kind: "not-found", problem });
}

export function unreadable(file: string, error: unknown): ReportError {
  if (error instanceof ReportError) return error;
  const code = (error as { code?: string }).code ?? String(error);
  return new ReportError({
    file,
    kind: code === "ENOENT" ? "not-found" : "unreadable",
    problem: `could not be read (${code}), expected a file or folder that this user may read`,
  });
}
