/**
 * Ids that are made from what they name, so that the same data gets the same ids wherever it is
 * imported.
 *
 * A test id is 24 hex digits: 11 (44 bits) lead to the repository, 13 (52 bits) to the test inside
 * it. Both parts fit a JavaScript number and a PostgreSQL bigint exactly. A submission id is 24 hex
 * digits too: 8 of seconds, so that ids sort like time, and 16 of what was uploaded.
 */
import { createHash } from "node:crypto";
import { sha256Start, Sha256Starts } from "./sha256/mod.ts";

const PREFIX_DIGITS = 11;
const HASH_DIGITS = 13;

/** What makes two results results of the same test, within one repository. */
export interface TestIdentity {
  suite: string;
  class: string;
  name: string;
  file: string;
}

/** Names compare by this: Unicode's lower case, made here and never by the database's locale. */
export function caseKey(name: string): string {
  return name.toLowerCase();
}

/**
 * The first 44 bits of the id of every test of a repository.
 *
 * @param attempt 0, and one more for each time that the prefix was taken by another repository
 */
export function repositoryIdPrefix(
  repository: { organization: string; owner: string; name: string },
  attempt = 0,
): number {
  const parts = [repository.organization, repository.owner, repository.name].map(caseKey);
  if (attempt > 0) parts.push(String(attempt));
  return parseInt(sha256Hex(parts).slice(0, PREFIX_DIGITS), 16);
}

/** The last 52 bits of the id of a test. */
export function testHash(test: TestIdentity): number {
  const { suite, class: className, name, file } = test;
  return sha256Start(joined([suite, className, name, file]));
}

/** The same of many tests, told in their order, but not at once: a third of the time for each. */
export class TestHashes {
  readonly #starts: Sha256Starts;
  // Of the test before, whose neighbours mostly have the same.
  #suite = "";
  #class = "";
  #file = "";
  #head = joined(["", ""]);
  #tail = joined([""]);

  /** @param take called for each test, when it or a later one is added, or with `finish` */
  constructor(take: (testHash: number) => void) {
    this.#starts = new Sha256Starts(take);
  }

  add({ suite, class: className, name, file }: TestIdentity): void {
    if (suite !== this.#suite || className !== this.#class) {
      this.#suite = suite;
      this.#class = className;
      this.#head = joined([suite, className]);
    }
    if (file !== this.#file) {
      this.#file = file;
      this.#tail = joined([file]);
    }
    this.#starts.add(`${this.#head}${name.length}:${name}${this.#tail}`);
  }

  /** Tells of all that were added. */
  finish(): void {
    this.#starts.finish();
  }
}

/** The public id of a test: 24 lower-case hex digits. */
export function testId(idPrefix: number, hash: number): string {
  return idPrefix.toString(16).padStart(PREFIX_DIGITS, "0") +
    hash.toString(16).padStart(HASH_DIGITS, "0");
}

/** The two parts of a test id in either case, or `null` when the text is not 24 hex digits. */
export function parseTestId(id: string): { idPrefix: number; testHash: number } | null {
  if (!/^[0-9a-f]{24}$/i.test(id)) return null;
  return {
    idPrefix: parseInt(id.slice(0, PREFIX_DIGITS), 16),
    testHash: parseInt(id.slice(PREFIX_DIGITS), 16),
  };
}

/**
 * The id of a submission: 24 lower-case hex digits, the first 8 its seconds since 1970.
 *
 * @param distinction what tells it from other submissions of the second: names and digests of what
 * was uploaded, or something random
 */
export function submissionId(recordedAt: number, distinction: string[]): string {
  return secondsHex(recordedAt) + sha256Hex(distinction).slice(0, 16);
}

/** The id of a submission that came from a bucket or folder: known before its reports are read. */
export function keyedSubmissionId(
  { recordedAt, idPrefix, key }: { recordedAt: number; idPrefix: number; key: string },
): string {
  return submissionId(recordedAt, [String(idPrefix), "key", key]);
}

/** The seconds since 1970 that a submission or event id begins with. */
export function recordedAtOf(id: string): number {
  return parseInt(id.slice(0, 8), 16);
}

/** The least submission id of a second: where the submissions since then begin. */
export function firstSubmissionId(recordedAt: number): string {
  return secondsHex(recordedAt).padEnd(24, "0");
}

/** The id of a disruption event: 24 lower-case hex digits, the first 8 its seconds since 1970. */
export function eventId(submissionId: string, resultNo: number): string {
  return submissionId.slice(0, 8) + sha256Hex([submissionId, String(resultNo)]).slice(0, 16);
}

function secondsHex(seconds: number): string {
  return Math.min(Math.max(seconds, 0), 0xffff_ffff).toString(16).padStart(8, "0");
}

function sha256Hex(parts: string[]): string {
  return createHash("sha256").update(joined(parts)).digest("hex");
}

// Parts are told apart by their lengths, because names may contain any separator.
function joined(parts: string[]): string {
  return parts.map((part) => `${part.length}:${part}`).join("");
}
