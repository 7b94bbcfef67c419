/**
 * Parsers for the facts of an upload: from options, the environment of a CI job, or the metadata of an
 * archive. They throw a SyntaxError or RangeError that quotes the value.
 */
import { isGitId } from "../base/commit.ts";
import { DEFAULT_BASE } from "../evidence/base_branch.ts";
import { branchNamed } from "../ci/git_ref.ts";
import { MAX_NAME_CHARACTERS } from "../ci/mod.ts";
import type { RepositoryName } from "../base/repository_name.ts";
import { formatTimestamp } from "../base/time.ts";
import { TAG_LIMITS } from "../report/limits.ts";
import { parsePatterns } from "../query/submission_filter.ts";
import { excerpt } from "../report/report_error.ts";

/** The facts of a run that its uploader gave, by options or parameters. */
export interface RunValues {
  repo?: RepositoryName | undefined;
  commit?: string | undefined;
  tree?: string | undefined;
  /** As given: {@linkcode branchGiven} says what it names. */
  branch?: string | undefined;
  environment?: string | undefined;
  job?: string | undefined;
  shard?: string | undefined;
  attempt?: string | undefined;
  exitCode?: number | undefined;
  buildUrl?: string | undefined;
  /** The folder of the checkout that relative paths in reports begin at. */
  pathPrefix?: string | undefined;
  /** Seconds since 1970. */
  recordedAt?: number | undefined;
  tags?: string[] | undefined;
}

// A clock may be wrong by a time zone. Anything later would stay on top of every list.
const MAX_SECONDS_AHEAD = 24 * 60 * 60;
// In UTF-8: an index of PostgreSQL holds at most 2,704 bytes with a branch and the keys next to it.
const MAX_TEXT_BYTES = 2_000;
// Submission ids begin with 32 bits of seconds.
const LAST_RECORDED_AT = 0xffff_ffff;

/** One line of text, which may be empty. */
export function readText(text: string): string {
  if (/\p{Cc}/u.test(text)) {
    throw new SyntaxError(`"${text}" has control characters: expected one line of text`);
  }
  const value = text.trim();
  const bytes = new TextEncoder().encode(value).length;
  if (bytes <= MAX_TEXT_BYTES) return value;
  throw new RangeError(`${bytes} bytes: expected at most ${MAX_TEXT_BYTES}`);
}

/** An environment, job, shard or attempt, which may be empty. */
export function readName(given: string): string {
  const text = readText(given);
  const length = [...text].length;
  if (length <= MAX_NAME_CHARACTERS) return text;
  throw new RangeError(`${length} characters: expected at most ${MAX_NAME_CHARACTERS}`);
}

/** Patterns of environments, as the filter `environment` takes them; `null` for all. */
export function readEnvironments(text: string): string | null {
  return parsePatterns(readText(text), "environment")?.join() ?? null;
}

/** How the command that ran the tests ended, as shells count it. */
export function readExitCode(text: string): number {
  if (/^\d{1,3}$/.test(text) && Number(text) <= 255) return Number(text);
  throw new SyntaxError(`invalid exit code ${excerpt(text)}: expected 0 to 255`);
}

/** What `git check-ref-format --branch` refuses, as far as {@linkcode readText} accepts it. */
const NOT_IN_GIT = /[~^:?[\\]|\.\.|@\{|\/\/|^@$|^[-/]|(?:^|\/)\.|[/.]$|\.lock(?:\/|$)/;

/** The name of one branch, which may be empty. */
export function readBranch(given: string): string {
  const text = readText(given);
  const branch = branchNamed(text);
  const problem = text.includes("*")
    ? "is a pattern"
    : text && !branch
    ? "names no branch"
    : /[,\s]/.test(text)
    ? "has a comma or white space"
    : NOT_IN_GIT.test(text)
    ? "is not a valid branch name for git"
    : null;
  if (problem === null) return branch;
  throw new SyntaxError(
    `${excerpt(text)} ${problem}: expected the name of one branch, such as ${DEFAULT_BASE}`,
  );
}

/**
 * A URL of http or https, which may be empty: pages and clients make a link of it. Without its user and
 * password, because links are public to all readers.
 */
export function readBuildUrl(text: string): string {
  const url = readText(text).replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, "$1");
  if (url === "" || /^https?:\/\/[^/?#]/i.test(url) && URL.canParse(url)) return url;
  const expected = "expected one that begins with https:// or http://";
  throw new SyntaxError(`invalid build URL ${excerpt(url)}: ${expected}`);
}

/** A build URL from an option: one with a user or password is refused, not shortened. */
export function readGivenBuildUrl(text: string): string {
  const url = readBuildUrl(text);
  if (url === text.trim()) return url;
  throw new SyntaxError(
    // Its query may be a secret as well, and messages are logged.
    `invalid build URL ${excerpt(url.replace(/[?#].*$/s, ""))} with a user or password: expected ` +
      "one without, because all readers see it",
  );
}

/** A git id in lower case. Any other text, such as `HEAD`, would join the results of different code. */
export function readGitId(text: string, what: "commit" | "tree"): string {
  if (isGitId(text)) return text.toLowerCase();
  throw new SyntaxError(`invalid ${what} ${excerpt(text)}: expected 7 to 64 hex digits`);
}

/** The commit of an archive, which may also be `HEAD` or the name of a branch: that is kept as text. */
export function readCommit(text: string): string {
  if (isGitId(text)) return text.toLowerCase();
  if (/^[^\s\p{Cc}]{1,255}$/u.test(text)) return text;
  throw new SyntaxError(
    `invalid commit ${excerpt(text)}: expected 1 to 255 characters without white space`,
  );
}

/** Splits the tags of an archive at white space and commas, which a tag cannot contain. */
export function splitTags(tags: readonly string[]): string[] {
  return tags.flatMap((tag) => tag.split(/[\s,]+/)).filter((tag) => tag !== "");
}

/** Tags, without empty ones and duplicates. */
export function readTags(list: string[]): string[] {
  const tags = list.map((tag) => tag.trim()).filter((tag) => tag !== "");
  for (const tag of tags) {
    if (/[\s,\p{Cc}]/u.test(tag)) {
      throw new SyntaxError(`invalid tag "${tag}": expected no white space and no comma`);
    }
    if (tag.length > TAG_LIMITS.characters) {
      throw new RangeError(
        `tag ${excerpt(tag)}: expected at most ${TAG_LIMITS.characters} characters`,
      );
    }
  }
  const distinct = [...new Set(tags)];
  if (distinct.length > TAG_LIMITS.perUpload) {
    throw new RangeError(`${distinct.length} tags: expected at most ${TAG_LIMITS.perUpload}`);
  }
  return distinct;
}

/** When the tests ran, in whole seconds since 1970. */
export function readRecordedAt(seconds: number, now: number): number {
  if (!(seconds >= 0 && seconds <= LAST_RECORDED_AT)) {
    throw new RangeError("expected a time from 1970 to 2106");
  }
  if (seconds > now + MAX_SECONDS_AHEAD) {
    throw new RangeError(
      `"${formatTimestamp(seconds)}": expected a time at most 24 hours ahead of now`,
    );
  }
  return seconds;
}
