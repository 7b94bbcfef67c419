/** Tests that reports name sometimes with a file and sometimes without one: which of them are one test. */
import { testHash, type TestIdentity } from "../base/identity.ts";
import { quote } from "../base/quote.ts";
import { SECONDS_PER_DAY } from "../base/time.ts";
import { type SubmissionContent, withTestHashes } from "./submission_content.ts";

/** A test of an upload that is one of the repository, except that one of the two has no file. */
export interface FileMatch {
  name: string;
  /** File of the one that has it. */
  file: string;
  /** Hash of the test of the upload. */
  aliasHash: number;
  /** Hash of the repository's test. */
  testHash: number;
  /** Whether the upload has the file. */
  isFileAdded: boolean;
  /** Whether it was found before. */
  isKnown: boolean;
}

/**
 * A test that was known without a file and got one by mistake: another file has a test of its names, too, or
 * an upload has both the test without a file and that of the file.
 */
export interface MistakenMatch {
  name: string;
  /** The file that it got. */
  file: string;
  testHash: number;
  /** When it got the file, in seconds since 1970; `null` when an import settled it. */
  matchedAt: number | null;
}

/**
 * For how long a test in another file shows that a match was a mistake. Shards of one run arrive one after the
 * other, and jobs that run weekly, or for what changed, later still. Afterwards it is probably a copy, which
 * takes no history from the test that it was copied from.
 */
const SECONDS_IN_DOUBT = 14 * SECONDS_PER_DAY;

/** Whether a test in another file, recorded at a time, shows that a match was a mistake. Order of arrival does not matter. */
export function isMistaken(matchedAt: number | null, recordedAt: number): boolean {
  return matchedAt !== null && recordedAt <= matchedAt + SECONDS_IN_DOUBT;
}

/** The hash that a test would have without its file. */
export function hashWithoutFile(test: TestIdentity): number {
  return testHash({ ...test, file: "" });
}

/** Whether two tests have the same suite, class and name. */
export function hasSameNames(a: TestIdentity, b: TestIdentity): boolean {
  return a.suite === b.suite && a.class === b.class && a.name === b.name;
}

/** The match of a test of the upload with a stored one. */
export function fileMatch(
  aliasHash: number,
  test: TestIdentity,
  stored: { testHash: number; file: string },
  { isKnown }: { isKnown: boolean },
): FileMatch {
  const { testHash } = stored;
  const isFileAdded = test.file !== "";
  const file = isFileAdded ? test.file : stored.file;
  return { name: test.name, file, aliasHash, testHash, isFileAdded, isKnown };
}

/**
 * Without the matches of tests whose suite, class and name the upload has several times, so that it would
 * be open which of them is meant. A file that a test was found in before is not open.
 */
export function unambiguous(
  found: readonly FileMatch[],
  { testHashes, identityAt }: Pick<SubmissionContent, "testHashes" | "identityAt">,
): FileMatch[] {
  const own = new Set(testHashes);
  const counts = new Map<number, number>();
  testHashes.forEach((_, index) => {
    const hash = hashWithoutFile(identityAt(index));
    counts.set(hash, (counts.get(hash) ?? 0) + 1);
  });
  return found.filter(({ aliasHash, testHash, isFileAdded, isKnown }) => {
    const isOnly = counts.get(isFileAdded ? testHash : aliasHash) === 1;
    return !own.has(testHash) && (isOnly || isFileAdded && isKnown);
  });
}

/** The content with matched tests as the repository has them, and its groups of tags in their order. */
export function withFileMatches(
  content: SubmissionContent,
  matches: readonly FileMatch[],
  groupOf?: number[],
): { content: SubmissionContent; groupOf: number[] | undefined } {
  if (matches.length === 0) return { content, groupOf };
  const hashes = new Map(matches.map(({ aliasHash, testHash }) => [aliasHash, testHash]));
  return withTestHashes(content, hashes, groupOf);
}

const NAMED_TESTS = 3;

export function fileMatchNotes(
  matches: readonly FileMatch[],
  mistaken: readonly MistakenMatch[] = [],
): string[] {
  const added = matches.filter(({ isFileAdded, isKnown }) => isFileAdded && !isKnown);
  const missing = matches.filter(({ isFileAdded }) => !isFileAdded);
  return [
    ...added.length === 0
      ? []
      : [`tests with a file count as those that were known without one: ${named(added)}`],
    ...missing.length === 0
      ? []
      : [`tests without a file count as those that are known with one: ${named(missing)}`],
    ...mistaken.length === 0 ? [] : [
      "tests that were known without a file have none again, as another file has a test of the same " +
      `name: ${named(mistaken)}`,
    ],
  ];
}

/** Of the mistaken matches whose tests were quarantined since. */
export function endedEntriesNote(mistaken: readonly MistakenMatch[]): string {
  return "a quarantine that was added since tests had a file by mistake has ended: " +
    named(mistaken);
}

function named(matches: readonly Pick<FileMatch, "name" | "file">[]): string {
  const shown = matches.slice(0, NAMED_TESTS).map(({ name, file }) => `${quote(name)} (${file})`);
  const more = matches.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
