/** Reports that are older than the job: a workspace that is kept may contain reports of an earlier build. */
import { realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { CiJob } from "../ci/mod.ts";
import { formatTimestamp } from "../base/time.ts";
import { readHead } from "../report/file_head.ts";
import type { ReportFile } from "../report/report_files.ts";
import type { Git } from "./checkout/git.ts";

/** When a job began, in seconds since 1970; `null` each when unknown. */
export interface JobStart {
  /** As its service says. */
  startedAt: number | null;
  /** When its commit was checked out, and where to. */
  checkout: { folder: string; at: number } | null;
}

// Clocks of containers and devices, and file systems, are less exact.
const TOLERANCE_SECONDS = 60;
/** Earlier times come from tests that set the clock, or from reproducible builds. */
const FIRST_YEAR = 2010;

/** When a job began; of its checkout only if that has the commit. `null` outside of CI. */
export async function readJobStart(
  job: CiJob | null,
  { commit, git }: { commit: string; git: Git },
): Promise<JobStart | null> {
  if (!job) return null;
  const { startedAt } = job;
  const head = await git(["rev-parse", "--verify", "--quiet", "HEAD"]);
  if (head === "" || head !== commit) return { startedAt, checkout: null };
  const folder = await git(["rev-parse", "--show-toplevel"]);
  // Written by a checkout, not by a commit on a branch.
  const file = await stat(`${await git(["rev-parse", "--absolute-git-dir"])}/HEAD`)
    .catch(() => null);
  const at = file && Math.floor(file.mtimeMs / 1000);
  return { startedAt, checkout: folder === "" || at === null ? null : { folder, at } };
}

/**
 * Leaves out what is older than the job. Where the service does not say when it began, a report may have come
 * from an earlier job of the build as an artifact: then only one is old that lay in the checkout before.
 */
export async function withoutStale(
  reports: readonly ReportFile[],
  start: JobStart,
  note: (text: string) => void,
): Promise<ReportFile[]> {
  const fresh: ReportFile[] = [];
  for (const report of reports) {
    const age = await sayOlder(report.path, start);
    if (age === null) fresh.push(report);
    else note(`${report.path}: ${age}: left out`);
  }
  return fresh;
}

/** What says that a report is older than the job: `is of 2026-11-27T09:00:00Z, before the job began (...)`; `null` if not. */
export async function sayOlder(
  path: string,
  { startedAt, checkout }: JobStart,
): Promise<string | null> {
  const times = await timesOf(path);
  const modified = times?.modified ?? Infinity;
  const written = times?.reported ?? modified;
  const isStale = startedAt !== null
    ? isBefore(written, startedAt)
    : checkout !== null && isBefore(Math.max(written, modified), checkout.at) &&
      await isBelow(path, checkout.folder);
  if (!isStale) return null;
  const time = formatTimestamp(Math.floor(written));
  return `is of ${time}, before the job began (${formatTimestamp(startedAt ?? checkout!.at)})`;
}

async function isBelow(path: string, folder: string): Promise<boolean> {
  const [real, top] = await Promise.all([realpath(path), realpath(folder)]);
  return real.startsWith(join(top, "/"));
}

function isBefore(seconds: number, start: number): boolean {
  return seconds < start - TOLERANCE_SECONDS;
}

/** The latest time that the first suites of a report have, and when the file was written. */
async function timesOf(
  path: string,
): Promise<{ reported: number | undefined; modified: number } | null> {
  const file = await stat(path).catch(() => null);
  // A pipe is written now.
  if (!file?.isFile()) return null;
  const text = new TextDecoder().decode(await readHead(path));
  const times = [...text.matchAll(/\stimestamp="([^"]{1,40})"/g)]
    .flatMap(([, time = ""]) => secondsOf(time) ?? []);
  const reported = times.length === 0 ? undefined : Math.max(...times);
  return { reported, modified: file.mtimeMs / 1000 };
}

/** Without a zone it may be UTC or local time: the later one. */
function secondsOf(text: string): number | null {
  const [, moment, zone] = /^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?)\s*(Z|[+-]\d\d:?\d\d)?$/
    .exec(text.trim()) ?? [];
  if (moment === undefined) return null;
  const plain = moment.replace(" ", "T").replace(",", ".").replace(/(\.\d{3})\d+$/, "$1");
  const zones = zone === undefined ? ["Z", ""] : [zone.replace(/(\d\d)(\d\d)$/, "$1:$2")];
  const times = zones.map((zone) => Date.parse(plain + zone) / 1000).filter(Number.isFinite);
  const seconds = Math.max(...times);
  return new Date(seconds * 1000).getUTCFullYear() >= FIRST_YEAR ? seconds : null;
}
