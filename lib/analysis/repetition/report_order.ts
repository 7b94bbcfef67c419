// Tests: tests/lib/analysis/repetition/reports_test.ts
/** What the paths of reports say about the order of attempts. */
import { compareTexts } from "../../base/text.ts";

/** Where a report stands among the attempts. */
interface AttemptSign {
  /**
   * 0 without a sign, which is the first attempt. Otherwise the number of its sign, or `Infinity` for the
   * final report next to a folder of earlier attempts.
   */
  rank: number;
  /** The path without its sign: equal for the attempts of one series. */
  series: string;
  /** The folder of the report, less the part that is its sign. */
  folder: string;
  /**
   * Whether it repeats those of other series in its folder too: not one with a folder of its earlier
   * attempts, which has its own.
   */
  repeatsFolder: boolean;
}

/** Where one of several reports stands, and what it repeats if it is a rerun of what failed. */
export interface ReportSign extends AttemptSign {
  /** The folder whose reports it repeats: its own, or the one that the folder of reruns is for. */
  home: string;
  /** The series of the report that it is named after, as in `junit-rerun.xml`; its own without a word for reruns. */
  namedAfter: string;
}

/** Whether a report says by its path that it repeats another. */
export function saysToRepeat(one: AttemptSign, other: AttemptSign): boolean {
  if (one.rank <= other.rank) return false;
  const { folder } = one;
  return one.series === other.series || one.repeatsFolder &&
      (folder === "" || `${other.folder}/`.startsWith(`${folder}/`));
}

// A number after one of these words; "run" only as `run_2_of_3`.
const SIGN =
  /(?<![a-z])(?:(?:attempts?|retry|retries|reruns?)[-_. ]?0*(\d{1,6})(?!\d)|run[-_. ]?0*(\d{1,6})[-_. ]of[-_. ]?\d{1,6}(?!\d))/gi;
// Folders of earlier attempts next to the report of the last one, as Bazel writes them.
const EARLIER_FOLDER = /(?:^|\/)(?:test_attempts|Retries)\//g;

// Which part of a run a report is of: `shard_2_of_8`, `node1`, `2-of-8`.
const PART =
  /(?<![a-z])(?:shard|node|part|partition|group|worker|split|chunk|batch)[-_. ]?0*(\d{1,6})(?!\d)|(?<![a-z\d])0*(\d{1,6})[-_. ]of[-_. ]\d{1,6}(?!\d)/gi;

// Of a rerun without a number, in the names of its folders or its own.
const RERUN_WORD = /(?<![a-z])(?:re-?runs?|retry|retries|repeats?|again)(?![a-z])/gi;

/**
 * Whether the paths of two reports say that they ran different things: other parts of a run, as in
 * `shard_2_of_8/test.xml`. An archive loses the folders of two reports with one path.
 */
export function areOtherParts(earlier: string, later: string): boolean {
  if (earlier === later) return true;
  const paths = [earlier, later].map((path) => path.replaceAll("\\", "/"));
  const start = commonFolder(paths).length;
  const [part, other] = paths.map((path) => partsOf(path.slice(start))) as [number[], number[]];
  return part.length > 0 && other.length > 0 && part.join() !== other.join();
}

/** The signs in the paths of an upload's reports, by path. */
export function signsOf(given: readonly string[]): Map<string, ReportSign> {
  const paths = given.map((path) => path.replaceAll("\\", "/"));
  const start = commonFolder(paths).length;
  const rests = paths.map((path) => path.slice(start));
  // The folders that have one of earlier attempts in them.
  const finals = new Set(
    rests.flatMap((rest) =>
      lastMatch(EARLIER_FOLDER, rest).map(({ index }) =>
        rest.slice(0, index + (rest[index] === "/" ? 1 : 0))
      )
    ),
  );
  const signs = rests.map((rest) => signOf(rest, finals));
  const folders = new Set(signs.map(({ folder }) => folder));
  return new Map(signs.map((sign, index) => [given[index]!, {
    ...sign,
    home: homeOf(sign.folder, folders),
    namedAfter: withoutRerunWord(sign.series),
  }]));
}

/** The folder that a folder of reruns is for: the one it is named after, or the nearest around it with reports. */
function homeOf(folder: string, folders: ReadonlySet<string>): string {
  const named = withoutRerunWord(folder);
  if (named === folder) return folder;
  let home = folders.has(named) ? named : folder;
  while (home !== "" && (home === folder || !folders.has(home))) home = tidied(folderOf(home));
  return home;
}

function withoutRerunWord(path: string): string {
  return tidied(path.replaceAll(RERUN_WORD, ""));
}

function signOf(path: string, finals: ReadonlySet<string>): AttemptSign {
  const rest = withoutExtension(path);
  const [earlier] = lastMatch(EARLIER_FOLDER, rest);
  const [sign] = lastMatch(SIGN, rest);
  if (earlier) {
    const inside = rest.slice(earlier.index + earlier[0].length);
    const number = sign && Number(sign[1] ?? sign[2]);
    const series = tidied(path.slice(0, earlier.index));
    return {
      rank: number ?? firstNumber(inside) ?? 1,
      series,
      folder: series,
      repeatsFolder: false,
    };
  }
  const folder = folderOf(path);
  if (finals.has(folder)) {
    const series = tidied(folder);
    return { rank: Infinity, series, folder: series, repeatsFolder: false };
  }
  if (!sign) return { rank: 0, series: tidied(rest), folder: tidied(folder), repeatsFolder: true };
  const without = rest.slice(0, sign.index) + rest.slice(sign.index + sign[0].length);
  return {
    rank: Number(sign[1] ?? sign[2]),
    series: tidied(without),
    folder: tidied(folderOf(without)),
    repeatsFolder: true,
  };
}

/** The numbers of the parts that a path names. */
function partsOf(path: string): number[] {
  return Array.from(path.matchAll(PART), ([, named, counted]) => Number(named ?? counted));
}

/** The folder of a path, with its slash at the end. */
function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

function firstNumber(text: string): number | undefined {
  const digits = /\d{1,6}/.exec(text)?.[0];
  return digits === undefined ? undefined : Number(digits);
}

/** A path that lost a part: without empty segments, and separators at the end of a name. */
function tidied(path: string): string {
  return path.split("/").map((segment) => segment.replace(/^[-_. ]+|[-_. ]+$/g, ""))
    .filter((segment) => segment !== "").join("/");
}

function lastMatch(pattern: RegExp, text: string): RegExpExecArray[] {
  return [...text.matchAll(pattern)].slice(-1);
}

/** The folder that all paths are in, with its slash at the end. */
function commonFolder(paths: readonly string[]): string {
  const [first = "", ...others] = paths;
  let end = first.lastIndexOf("/") + 1;
  for (const path of others) {
    while (end > 0 && !path.startsWith(first.slice(0, end))) {
      end = first.lastIndexOf("/", end - 2) + 1;
    }
  }
  return first.slice(0, end);
}

/** Sorts reports in the order of attempts, otherwise in natural order of their paths. */
export function inOrderOfAttempts<Report extends { path: string }>(
  reports: readonly Report[],
): Report[] {
  const signs = signsOf(reports.map(({ path }) => path));
  return reports.toSorted((a, b) => {
    const [{ rank }, { rank: other }] = [signs.get(a.path)!, signs.get(b.path)!];
    if (rank !== other) return rank < other ? -1 : 1;
    return comparePaths(a.path, b.path);
  });
}

/**
 * Compares paths in natural order: by their segments, without extension, and numbers by value, so that
 * `junit.xml` comes before `junit-rerun.xml`, and `attempt_2.xml` before `attempt_10.xml`. Zero only for
 * equal paths.
 */
export function comparePaths(a: string, b: string): number {
  return compareTexts(naturalKey(withoutExtension(a)), naturalKey(withoutExtension(b))) ||
    compareTexts(naturalKey(a), naturalKey(b)) || compareTexts(a, b);
}

// A slash sorts before everything else, then numbers: the one with more digits is greater.
function naturalKey(path: string): string {
  return path.replaceAll("/", "\0").replaceAll(
    /0*(\d+)/g,
    (_, digits: string) => `\x01${String(digits.length).padStart(5, "0")}${digits}`,
  );
}

/** Without the last extension: `junit.rerun.xml` comes after `junit.xml`. */
function withoutExtension(path: string): string {
  return path.replace(/\.[a-z\d]{1,10}$/i, "");
}
