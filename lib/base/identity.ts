/**
 * Ids derived from content: the same data gets the same ids after a re-import.
 *
 * A test id has 24 hex digits: 11 (44 bits) identify the repository, 13 (52 bits) the test in it. Both
 * parts fit a JavaScript number and a PostgreSQL bigint exactly. A submission id has 24 hex digits:
 * 8 of seconds, so that ids sort like time, and 16 of a hash of the upload.
 */
import { createHash } from "node:crypto";

const PREFIX_DIGITS = 11;
const HASH_DIGITS = 13;

/** Identifies a test within its repository. */
export interface TestIdentity {
  suite: string;
  class: string;
  name: string;
  file: string;
}

/** The key by which names compare: Unicode's lower case, independent of the database's locale. */
export function caseKey(name: string): string {
  return name.toLowerCase();
}

/** The first 44 bits of the ids of a repository's tests; `attempt` grows if another has them. */
export function repositoryIdPrefix(
  repository: { organization: string; owner: string; name: string },
  attempt = 0,
): number {
  const parts = [repository.organization, repository.owner, repository.name].map(caseKey);
  if (attempt > 0) parts.push(String(attempt));
  return parseInt(sha256Hex(parts).slice(0, PREFIX_DIGITS), 16);
}

/**
 * The last 52 bits of the id of a test: two 32-bit lanes of multiply and xor over the names and their
 * lengths (cyrb53). 100,000 take 30 ms; SHA-256 of the platform takes 200, half of an upload.
 *
 * Not collision resistant, and no 52 bits of any hash would be: 2^26 tries find a collision. Two names
 * made to collide become one test, which gains nothing: an uploader can report any result of any test
 * of its repository anyway. By chance, half a million tests collide with a probability of 3e-5.
 */
export function testHash({ suite, class: className, name, file }: TestIdentity): number {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (const text of [suite, className, name, file]) {
    // The length marks the end of each name: "a" + "bc" differs from "ab" + "c".
    a = Math.imul(a ^ text.length, 0x9e3779b1);
    b = Math.imul(b ^ text.length, 0x5f356495);
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index);
      a = Math.imul(a ^ unit, 0x9e3779b1);
      b = Math.imul(b ^ unit, 0x5f356495);
    }
  }
  const high = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  const low = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  return (high >>> 0) * 2 ** 20 + (low >>> 12);
}

/** The public id of a test: 24 lower-case hex digits. */
export function testId(idPrefix: number, hash: number): string {
  return hexDigits(idPrefix, PREFIX_DIGITS) + hexDigits(hash, HASH_DIGITS);
}

/** The digits that the ids of a repository's tests begin with. */
export function testIdPrefix(idPrefix: number): string {
  return hexDigits(idPrefix, PREFIX_DIGITS);
}

/** As a BigInt, which is printed in a fifth of the time of a large number. */
function hexDigits(number: number, count: number): string {
  return BigInt(number).toString(16).padStart(count, "0");
}

/** The part of a test's id that is the same in every repository: 13 lower-case hex digits. */
export function shortTestId(test: TestIdentity): string {
  return hexDigits(testHash(test), HASH_DIGITS);
}

/** The hash of a test from its id or the last 13 digits of it; `null` for any other text. */
export function parseShortTestId(id: string): number | null {
  return /^(?:[0-9a-f]{11})?[0-9a-f]{13}$/i.test(id) ? parseInt(id.slice(-HASH_DIGITS), 16) : null;
}

/** The namespace of organizations' UUIDs: a random one. */
const ORGANIZATION_NAMESPACE = "3f1d6c58-94b2-4e07-8a61-d0c7b25e9f13";

/** The public id of an organization: a name-based UUID (version 5) of its number, lower case. */
export function organizationUuid(organizationId: number): string {
  const namespace = Uint8Array.fromHex(ORGANIZATION_NAMESPACE.replaceAll("-", ""));
  const hash = createHash("sha1").update(namespace).update(String(organizationId)).digest();
  hash[6] = (hash[6]! & 0x0f) | 0x50;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  const hex = hash.toString("hex", 0, 16);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Whether a text is an id of a test, submission or event, in either case: 24 hex digits. */
export function isObjectId(id: string): boolean {
  return /^[0-9a-f]{24}$/i.test(id);
}

/** Splits a test id (in either case); `null` when the text is not 24 hex digits. */
export function parseTestId(id: string): { idPrefix: number; testHash: number } | null {
  if (!isObjectId(id)) return null;
  return {
    idPrefix: parseInt(id.slice(0, PREFIX_DIGITS), 16),
    testHash: parseInt(id.slice(PREFIX_DIGITS), 16),
  };
}

/** A submission's id: 24 hex digits, 8 of seconds since 1970 and 16 that distinguish it. */
export function submissionId(recordedAt: number, distinction: string[]): string {
  return secondsHex(recordedAt) + sha256Hex(distinction).slice(0, 16);
}

/** The id of a submission from a bucket or folder: known before its reports are read. */
export function keyedSubmissionId(
  { recordedAt, idPrefix, key }: { recordedAt: number; idPrefix: number; key: string },
): string {
  return submissionId(recordedAt, [String(idPrefix), "key", key]);
}

/** The seconds since 1970 that a submission or event id begins with. */
export function recordedAtOf(id: string): number {
  return parseInt(id.slice(0, 8), 16);
}

/** The smallest submission id of a second: the lower bound of the submissions since then. */
export function firstSubmissionId(recordedAt: number): string {
  return secondsHex(recordedAt).padEnd(24, "0");
}

/**
 * The id of a disruption event: 24 lower-case hex digits, the first 8 its seconds since 1970. Negative
 * results have the first numbers of a submission; other attempts get ids from the numbers after them.
 */
export function eventId(submissionId: string, resultNo: number): string {
  return submissionId.slice(0, 8) + sha256Hex([submissionId, String(resultNo)]).slice(0, 16);
}

function secondsHex(seconds: number): string {
  return Math.min(Math.max(seconds, 0), 0xffff_ffff).toString(16).padStart(8, "0");
}

function sha256Hex(parts: string[]): string {
  // With lengths, because names may contain any separator.
  const joined = parts.map((part) => `${part.length}:${part}`).join("");
  return createHash("sha256").update(joined).digest("hex");
}
