/** Makes the columns of a submission from results as they are read. */
import { createHash } from "node:crypto";
import { testHash, type TestIdentity } from "../base/identity.ts";
import { isNegative, type TestResult } from "../report/result.ts";
import { encodeDurations, ExceptionWriter } from "./columns.ts";
import { identityIn, IdentityStore, type StoredIdentities } from "./identity_store.ts";

/** A failure or error, as it is stored. */
export interface NegativeResult {
  testHash: number;
  /** Position of the result in its submission. */
  resultNo: number;
  conclusion: "failure" | "error";
  message: string;
  /** An index of `bodies`. */
  bodyNo: number;
}

/** Everything that is stored of a submission's results. */
export interface SubmissionContent {
  resultCount: number;
  /** The tests that ran, each once, ascending: the order of all columns. */
  testHashes: Float64Array;
  /** SHA-256 of `testHashes`, hex: equal for submissions that ran the same tests. */
  listHash: string;
  /** The identity of the test at an index of `testHashes`. */
  identityAt(index: number): TestIdentity;
  durations: Uint8Array;
  /** Microseconds in one unit of `durations`. */
  durationUnit: number;
  exceptions: Uint8Array;
  /** In the order of the report. */
  negatives: NegativeResult[];
  /** Texts of failures, each once. */
  bodies: string[];
}

/** The content as plain data, which can be sent to another thread. */
export interface ContentData extends Omit<SubmissionContent, "identityAt"> {
  identities: StoredIdentities;
  /** The first result of each test. */
  firstResults: Uint32Array;
}

/** The content that data describes. */
export function contentOf(data: ContentData): ContentData & SubmissionContent {
  const { identities, firstResults } = data;
  return { ...data, identityAt: (index) => identityIn(identities, firstResults[index]!) };
}

const CONCLUSIONS = ["passing", "failure", "error", "skipped", "unknown"] as const;
/** The counter of each conclusion: positive, negative, skipped, unknown. */
const COUNTERS = [0, 1, 1, 2, 3] as const;

/**
 * Collects results. Keeps numbers and UTF-8 instead of the results: half a million of them must fit
 * in memory, and strings cut from a report would keep the whole report alive.
 */
export class SubmissionBuilder {
  #count = 0;
  #hashes = new Float64Array(1024);
  #durations = new Float64Array(1024);
  /** Indexes of `CONCLUSIONS`. */
  #conclusions = new Uint8Array(1024);
  readonly #identities = new IdentityStore();
  readonly #negatives: NegativeResult[] = [];
  readonly #bodies = new BodyTable();

  add(result: TestResult): void {
    const resultNo = this.#count++;
    if (resultNo === this.#hashes.length) {
      this.#hashes = grown(this.#hashes, new Float64Array(resultNo * 2));
      this.#durations = grown(this.#durations, new Float64Array(resultNo * 2));
      this.#conclusions = grown(this.#conclusions, new Uint8Array(resultNo * 2));
    }
    const hash = testHash(result);
    this.#hashes[resultNo] = hash;
    this.#durations[resultNo] = result.durationMicroseconds;
    this.#conclusions[resultNo] = CONCLUSIONS.indexOf(result.conclusion);
    this.#identities.push(result);
    const { conclusion } = result;
    if (isNegative(conclusion)) {
      this.#negatives.push({
        testHash: hash,
        resultNo,
        conclusion,
        message: copyOf(result.message),
        bodyNo: this.#bodies.add(result.body),
      });
    }
  }

  /** The columns of everything added so far. */
  finish(): ContentData & SubmissionContent {
    const testHashes = distinct(this.#hashes.slice(0, this.#count).sort());
    const durations = new Float64Array(testHashes.length);
    const outcomes = new Uint32Array(testHashes.length * 4);
    const firstResults = new Uint32Array(testHashes.length);
    for (let resultNo = this.#count - 1; resultNo >= 0; resultNo--) {
      const index = indexOfTest(testHashes, this.#hashes[resultNo]!);
      durations[index]! += this.#durations[resultNo]!;
      outcomes[index * 4 + COUNTERS[this.#conclusions[resultNo]!]!]!++;
      firstResults[index] = resultNo;
    }

    const exceptions = new ExceptionWriter();
    const outcome = { positive: 0, negative: 0, skipped: 0, unknown: 0 };
    for (let index = 0; index < testHashes.length; index++) {
      durations[index] = Math.min(durations[index]!, Number.MAX_SAFE_INTEGER);
      outcome.positive = outcomes[index * 4]!;
      outcome.negative = outcomes[index * 4 + 1]!;
      outcome.skipped = outcomes[index * 4 + 2]!;
      outcome.unknown = outcomes[index * 4 + 3]!;
      exceptions.add(index, outcome);
    }
    return contentOf({
      resultCount: this.#count,
      testHashes,
      listHash: createHash("sha256").update(new Uint8Array(testHashes.buffer)).digest("hex"),
      identities: this.#identities.finish(),
      firstResults,
      ...encodeDurations(durations),
      exceptions: exceptions.finish(),
      negatives: this.#negatives,
      bodies: this.#bodies.bodies,
    });
  }
}

/** Characters of all bodies of a submission; a real one with 10,000 failures has about 30 million. */
const MAX_BODY_CHARACTERS = 64 * 1024 * 1024;
const LEFT_OUT = "(left out: the failures of this upload have too much text)";
// V8 hashes longer strings by their length alone, so that many of the same length would be slow.
const MAX_KEY_CHARACTERS = 16_000;

/** Texts without duplicates. */
export class BodyTable {
  readonly bodies: string[] = [];
  readonly #places = new Map<string, number>();
  #characterCount = 0;

  /** The index of a text, which is added if it is new. */
  add(body: string): number {
    const key = keyOf(body);
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    if (body !== LEFT_OUT && this.#characterCount + body.length > MAX_BODY_CHARACTERS) {
      return this.add(LEFT_OUT);
    }
    this.#characterCount += body.length;
    const copy = copyOf(body);
    this.#places.set(keyOf(copy), this.bodies.length);
    return this.bodies.push(copy) - 1;
  }
}

function keyOf(body: string): string {
  if (body.length <= MAX_KEY_CHARACTERS) return body;
  return createHash("sha256").update(body).digest("hex");
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

function grown<T extends Float64Array | Uint8Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

const encoder = new TextEncoder();
// A byte order mark at the beginning of a text belongs to the text.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A copy that shares no memory with the report that the text was cut from. */
function copyOf(text: string): string {
  return decoder.decode(encoder.encode(text));
}
