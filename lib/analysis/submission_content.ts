/** Makes the columns of a submission from results as they are read. */
import { createHash } from "node:crypto";
import { testHash, type TestIdentity } from "../base/identity.ts";
import { quote } from "../base/quote.ts";
import type { ReportedTool } from "../report/report_tool.ts";
import { isNegative, PLAIN_CASE, type Reported, type TestResult } from "../report/result.ts";
import {
  ATTEMPT_KINDS,
  attemptsOfTests,
  encodeResults,
  enlarge,
  kindOf,
  type ResultColumns,
  type TestOverhead,
} from "./columns.ts";
import { causesOfOtherMessages, otherCauses } from "./failure_causes.ts";
import { type FailureTexts, TextCollector } from "./failure_texts.ts";
import { VarintReader } from "./varint.ts";
import type { SuiteOverhead } from "../report/report_reader.ts";
import { identityIn, IdentityStore, type StoredIdentities } from "./identity_store.ts";
import { NegativeCollector, type Negatives } from "./negatives.ts";
import { CaseFlag, type CollectedReport } from "./repetition/collected_results.ts";
import { mergeResults } from "./repetition/merge_results.ts";

export interface SubmissionContent extends ResultColumns {
  resultCount: number;
  /** The tests that ran, each once, ascending: the order of all columns. */
  testHashes: Float64Array;
  /** SHA-256 of `testHashes`, hex: equal for submissions that ran the same tests. */
  listHash: string;
  /** The identity of the test at an index of `testHashes`. */
  identityAt(index: number): TestIdentity;
  /** Frees the memory of the identities, of which there may be a million: they cannot be read any more. */
  forgetIdentities?(): void;
  /** Hashes of the tests that stand for several tests of one name. */
  ambiguousTestHashes: number[];
  /** The time of suites beyond their tests. */
  overheads: TestOverhead[];
  /** The machine that all reports name; absent without one. */
  hostname?: string | undefined;
  /** The failures and errors, in the order of the report. */
  negatives: Negatives;
  /** The texts of the negative results, each once. */
  texts: FailureTexts;
}

/**
 * Reports with the durations of this many tests are never equal by chance, even if a clock has two values only: once
 * in a million.
 */
const MIN_TIMED_TESTS = 20;

/** Whether the reports of two runs may be equal by chance: few of their tests took time. */
export function mayBeEqual({ durations }: SubmissionContent): boolean {
  const reader = new VarintReader(durations);
  let count = 0;
  while (count < MIN_TIMED_TESTS && !reader.done) if (reader.read() > 0) count++;
  return count < MIN_TIMED_TESTS;
}

/** The content as plain data, which can be sent to another thread. */
export interface ContentData extends Omit<SubmissionContent, "identityAt" | "forgetIdentities"> {
  identities: StoredIdentities;
  firstResults: Uint32Array;
  /** Bytes of the names of tests, and of the texts of failures as they are stored. */
  textBytes: number;
}

export function contentOf(data: ContentData): ContentData & SubmissionContent {
  const { identities, firstResults } = data;
  return {
    ...data,
    identityAt: (index) => identityIn(identities, firstResults[index]!),
    forgetIdentities() {
      identities.chunks = [];
      identities.positions = new Uint32Array();
    },
  };
}

/**
 * Collects results. Keeps numbers and UTF-8 instead of the results: half a million of them must fit
 * in memory, and strings cut from a report would keep the whole report alive.
 */
export class SubmissionBuilder {
  #count = 0;
  #hashes = new Float64Array(1024);
  #durations = new Float64Array(1024);
  /** Indexes of `ATTEMPT_KINDS`. */
  #kinds = new Uint8Array(1024);
  #flags = new Uint8Array(1024);
  /** Only if a report has them. */
  #variants: Int32Array | null = null;
  /** Only if a report has several suites. */
  #suiteNos: Uint32Array | null = null;
  readonly #identities = new IdentityStore();
  readonly #negatives = new NegativeCollector();
  readonly #texts = new TextCollector();
  readonly #reports: CollectedReport[] = [];
  readonly #overheads: TestOverhead[] = [];
  /** Numbers of texts and of overheads at the end of the last report. */
  #textCount = 0;
  #overheadCount = 0;

  add(
    result: TestResult,
    { isNewCase, isBare, isRetry, variant, suiteNo }: Reported = PLAIN_CASE,
  ): void {
    const resultNo = this.#count++;
    if (resultNo === this.#hashes.length) this.#grow(resultNo * 2);
    const hash = testHash(result);
    this.#hashes[resultNo] = hash;
    this.#durations[resultNo] = result.durationMicroseconds;
    this.#kinds[resultNo] = ATTEMPT_KINDS.indexOf(kindOf(result.conclusion));
    this.#flags[resultNo] = (isNewCase ? CaseFlag.isNewCase : 0) | (isBare ? CaseFlag.isBare : 0) |
      (isRetry ? CaseFlag.isRetry : 0);
    if (variant !== 0) {
      (this.#variants ??= new Int32Array(this.#hashes.length))[resultNo] = variant;
    }
    if (suiteNo !== 0) {
      (this.#suiteNos ??= new Uint32Array(this.#hashes.length))[resultNo] = suiteNo;
    }
    this.#identities.push(result);
    const { conclusion } = result;
    if (isNegative(conclusion)) {
      const textNo = this.#texts.add(result, result);
      const otherFingerprints = result.otherMessages &&
        otherCauses(this.#texts.fingerprintAt(textNo), causesOfOtherMessages(result));
      this.#negatives.push({
        testHash: hash,
        resultNo,
        conclusion,
        textNo,
        ...otherFingerprints && { otherFingerprints },
      });
    }
  }

  /** Bytes of names and texts so far. */
  get textBytes(): number {
    return this.#identities.byteCount + this.#texts.byteCount;
  }

  /** Adds what a suite took beyond its tests, of which `test` is the first. */
  addOverhead(test: TestIdentity, overhead: SuiteOverhead): void {
    this.#overheads.push({ testHash: testHash(test), ...overhead });
  }

  /** Ends a report: from its results on, equal cases are judged by the rule of its tool. */
  endReport(report: ReportedTool): void {
    this.#reports.push({ ...report, end: this.#count });
    this.#textCount = this.#texts.count;
    this.#overheadCount = this.#overheads.length;
  }

  /** Forgets what was added since the end of the last report. */
  discardReport(): void {
    const end = this.#reports.at(-1)?.end ?? 0;
    this.#variants?.fill(0, end, this.#count);
    this.#suiteNos?.fill(0, end, this.#count);
    this.#count = end;
    this.#identities.truncate(end);
    this.#texts.truncate(this.#textCount);
    this.#overheads.splice(this.#overheadCount);
    this.#negatives.truncate(end);
  }

  finish({ onNote }: { onNote?: (note: string) => void } = {}): ContentData & SubmissionContent {
    const hashes = this.#hashes.subarray(0, this.#count);
    const testHashes = distinct(hashes.slice().sort());
    const testIndexes = new Uint32Array(this.#count);
    const firstResults = new Uint32Array(testHashes.length);
    for (let resultNo = this.#count - 1; resultNo >= 0; resultNo--) {
      const index = indexOfTest(testHashes, hashes[resultNo]!);
      testIndexes[resultNo] = index;
      firstResults[index] = resultNo;
    }
    const identities = this.#identities.finish();
    const impossible = removeImpossibleTimes(this.#durations.subarray(0, this.#count));
    if (impossible) {
      const { name } = identityIn(identities, impossible.first.resultNo);
      onNote?.(impossibleTimesNote(name, impossible));
    }
    const collected = {
      testIndexes,
      kinds: this.#kinds.subarray(0, this.#count),
      durations: this.#durations.subarray(0, this.#count),
      flags: this.#flags.subarray(0, this.#count),
      variants: this.#variants,
      suiteNos: this.#suiteNos,
      negatives: this.#negatives.finish(),
    };
    const ambiguous = new Set<number>();
    // Nearly every report has each test once.
    const identityOf = (testIndex: number) => identityIn(identities, firstResults[testIndex]!);
    const isPlain = this.#count === testHashes.length &&
      (this.#reports.length < 2 || collected.negatives.length === 0);
    const results = isPlain ? collected : mergeResults(collected, {
      testHashes,
      identityOf,
      reports: this.#reports,
      emptyText: () => this.#texts.add({ message: "", body: "" }),
      fingerprintOf: (textNo) => this.#texts.fingerprintAt(textNo),
      onAmbiguous: (testIndex) => ambiguous.add(testHashes[testIndex]!),
      onMerged: (report, { count, first }) =>
        onNote?.(sharedNamesNote(
          report,
          count,
          first.map(({ testIndex, caseCount }) => ({
            name: identityOf(testIndex).name,
            caseCount,
          })),
        )),
      onConfigurations: ({ count, first: { testIndex, files } }) =>
        onNote?.(configurationsNote(identityOf(testIndex).name, count, files)),
      onRepeatedReport: (report, other) =>
        onNote?.(`${report.file}: all its results stand in ${other.file} as well: counted once`),
    });
    return contentOf({
      resultCount: results.testIndexes.length,
      textBytes: this.textBytes,
      testHashes,
      listHash: listHashOf(testHashes),
      identities,
      firstResults,
      ...encodeResults(testHashes.length, results),
      ambiguousTestHashes: [...ambiguous],
      overheads: this.#overheads,
      hostname: commonHostname(this.#reports),
      negatives: results.negatives,
      texts: this.#texts.finish(),
    });
  }

  #grow(length: number): void {
    this.#hashes = enlarge(this.#hashes, new Float64Array(length));
    this.#durations = enlarge(this.#durations, new Float64Array(length));
    this.#kinds = enlarge(this.#kinds, new Uint8Array(length));
    this.#flags = enlarge(this.#flags, new Uint8Array(length));
    this.#variants &&= enlarge(this.#variants, new Int32Array(length));
    this.#suiteNos &&= enlarge(this.#suiteNos, new Uint32Array(length));
  }
}

/**
 * The same content with some tests under other hashes, which none of its tests has, and the groups of tags
 * of its tests in their new order.
 */
export function withTestHashes(
  content: SubmissionContent,
  newHashes: ReadonlyMap<number, number>,
  groupOf?: number[],
): { content: SubmissionContent; groupOf: number[] | undefined } {
  const newHash = (hash: number) => newHashes.get(hash) ?? hash;
  const hashes = content.testHashes.map(newHash);
  /** Positions before, in the new order. */
  const order = Uint32Array.from(hashes.keys()).sort((a, b) => hashes[a]! - hashes[b]!);
  const positions = new Uint32Array(order.length);
  order.forEach((before, index) => positions[before] = index);
  const testHashes = hashes.sort();
  const testIndexes: number[] = [];
  const kinds: number[] = [];
  const durations: number[] = [];
  attemptsOfTests(content).forEach((attempts, index) => {
    for (const { kind, durationMicroseconds } of attempts) {
      testIndexes.push(positions[index]!);
      kinds.push(ATTEMPT_KINDS.indexOf(kind));
      durations.push(durationMicroseconds);
    }
  });
  return {
    content: {
      ...content,
      testHashes,
      listHash: listHashOf(testHashes),
      identityAt: (index) => content.identityAt(order[index]!),
      ambiguousTestHashes: content.ambiguousTestHashes.map(newHash),
      negatives: {
        ...content.negatives,
        testHashes: content.negatives.testHashes.map(newHash),
      },
      overheads: content.overheads.map((one) => ({ ...one, testHash: newHash(one.testHash) })),
      ...encodeResults(testHashes.length, {
        testIndexes: Uint32Array.from(testIndexes),
        kinds: Uint8Array.from(kinds),
        durations: Float64Array.from(durations),
      }),
    },
    groupOf: groupOf && Array.from(order, (before) => groupOf[before]!),
  };
}

function commonHostname(reports: readonly CollectedReport[]): string | undefined {
  const names = new Set(reports.flatMap(({ hostname = [] }) => hostname));
  return names.size === 1 ? names.values().next().value : undefined;
}

const DAY_MICROSECONDS = 24 * 60 * 60 * 1e6;

/** Most tests take less: 548,392,417 are nanoseconds, not 9 minutes in microseconds. */
const ORDINARY_SECONDS = 300;

interface ImpossibleTimes {
  count: number;
  first: { resultNo: number; microseconds: number };
}

/** Sets times that cannot be to 0: above 30 days, or above one day and ten times all others together. */
function removeImpossibleTimes(durations: Float64Array): ImpossibleTimes | null {
  let found: ImpossibleTimes | null = null;
  let total = 0;
  for (const microseconds of durations) total += microseconds;
  durations.forEach((microseconds, resultNo) => {
    const others = total - microseconds;
    if (microseconds <= DAY_MICROSECONDS) return;
    if (microseconds <= 30 * DAY_MICROSECONDS && microseconds <= 10 * others) return;
    found ??= { count: 0, first: { resultNo, microseconds } };
    found.count++;
    durations[resultNo] = 0;
  });
  return found;
}

function impossibleTimesNote(
  name: string,
  { count, first: { microseconds } }: ImpossibleTimes,
): string {
  const seconds = Math.round(microseconds / 1e6);
  // The first unit in which it would be an ordinary time.
  const [unit] = ([["milliseconds", 1e3], ["microseconds", 1e6], ["nanoseconds", 1e9]] as const)
    .find(([, parts]) => seconds / parts < ORDINARY_SECONDS) ?? ["nanoseconds"];
  const others = count === 1 ? "" : `, and ${count - 1} more results`;
  return `the test ${
    quote(name)
  } took ${seconds} s by its report${others}, which cannot be: counted ` +
    `as 0. The time was probably in ${unit}; expected seconds`;
}

function configurationsNote(name: string, count: number, files: [string, string]): string {
  const which = count === 1
    ? `the test ${quote(name)} stands`
    : `${count} tests stand in several reports, such as ${quote(name)}`;
  return `${which} in ${files.join(" and ")}, which do not say that one repeats the other: they ` +
    "count as one result, which failed if any of them did. To distinguish them, upload each with its " +
    "own --environment or --job, or have the tool write the file of each test; --attempts says that " +
    "the reports are attempts in this order";
}

function sharedNamesNote(
  { file, tool }: CollectedReport,
  count: number,
  first: { name: string; caseCount: number }[],
): string {
  const names = first.map(({ name, caseCount }) => `${quote(name)} (${caseCount} cases)`);
  const rest = count > names.length ? ` and ${count - names.length} more` : "";
  return `${file}: tests with the same name${
    tool && ` in a report of ${tool}`
  } count as one test, ` +
    `which failed if any of them did: ${names.join(", ")}${rest}`;
}

/** SHA-256 (hex) of the hashes of tests. */
export function listHashOf({ buffer, byteOffset, byteLength }: Float64Array): string {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  return createHash("sha256").update(bytes).digest("hex");
}

/** The index of a test in ascending hashes; -1 when it is not among them. */
export function indexOfTest(testHashes: Float64Array, testHash: number): number {
  let low = 0;
  let high = testHashes.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (testHashes[middle]! < testHash) low = middle + 1;
    else high = middle;
  }
  return testHashes[low] === testHash ? low : -1;
}

function distinct(ascending: Float64Array): Float64Array {
  let count = 0;
  for (const value of ascending) {
    if (count === 0 || ascending[count - 1] !== value) ascending[count++] = value;
  }
  return ascending.slice(0, count);
}
