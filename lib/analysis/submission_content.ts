/** Makes the columns of a submission from results as they are read. */
import { createHash } from "node:crypto";
import { testHash, type TestIdentity } from "../base/identity.ts";
import { type Conclusion, isNegative, type TestResult } from "../report/result.ts";
import {
  ATTEMPT_KINDS,
  type AttemptKind,
  encodeResults,
  grown,
  type ResultColumns,
} from "./columns.ts";
import { type CompressedText, TextCollector } from "./failure_texts.ts";
import { identityIn, IdentityStore, type StoredIdentities } from "./identity_store.ts";

export interface SubmissionContent extends ResultColumns {
  resultCount: number;
  /** The tests that ran, each once, ascending: the order of all columns. */
  testHashes: Float64Array;
  /** SHA-256 of `testHashes`, hex: equal for submissions that ran the same tests. */
  listHash: string;
  /** The identity of the test at an index of `testHashes`. */
  identityAt(index: number): TestIdentity;
  /** The failures and errors, in the order of the report. */
  negatives: {
    testHash: number;
    /** Position of the result in its submission. */
    resultNo: number;
    conclusion: "failure" | "error";
    /** Index of its text in `texts`. */
    textNo: number;
  }[];
  /** The texts of the negative results, each once. */
  texts: CompressedText[];
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
  readonly #identities = new IdentityStore();
  readonly #negatives: SubmissionContent["negatives"] = [];
  readonly #texts = new TextCollector();

  add(result: TestResult): void {
    const resultNo = this.#count++;
    if (resultNo === this.#hashes.length) {
      this.#hashes = grown(this.#hashes, new Float64Array(resultNo * 2));
      this.#durations = grown(this.#durations, new Float64Array(resultNo * 2));
      this.#kinds = grown(this.#kinds, new Uint8Array(resultNo * 2));
    }
    const hash = testHash(result);
    this.#hashes[resultNo] = hash;
    this.#durations[resultNo] = result.durationMicroseconds;
    this.#kinds[resultNo] = ATTEMPT_KINDS.indexOf(kindOf(result.conclusion));
    this.#identities.push(result);
    const { conclusion } = result;
    if (isNegative(conclusion)) {
      this.#negatives.push({
        testHash: hash,
        resultNo,
        conclusion,
        textNo: this.#texts.add(result),
      });
    }
  }

  finish(): ContentData & SubmissionContent {
    const testHashes = distinct(this.#hashes.slice(0, this.#count).sort());
    const testIndexes = new Uint32Array(this.#count);
    const firstResults = new Uint32Array(testHashes.length);
    for (let resultNo = this.#count - 1; resultNo >= 0; resultNo--) {
      const index = indexOfTest(testHashes, this.#hashes[resultNo]!);
      testIndexes[resultNo] = index;
      firstResults[index] = resultNo;
    }
    return contentOf({
      resultCount: this.#count,
      testHashes,
      listHash: createHash("sha256").update(new Uint8Array(testHashes.buffer)).digest("hex"),
      identities: this.#identities.finish(),
      firstResults,
      ...encodeResults(testHashes.length, {
        testIndexes,
        kinds: this.#kinds.subarray(0, this.#count),
        durations: this.#durations.subarray(0, this.#count),
      }),
      negatives: this.#negatives,
      texts: this.#texts.texts,
    });
  }
}

/** How an attempt with this conclusion counts. */
export function kindOf(conclusion: Conclusion): AttemptKind {
  if (conclusion === "passing") return "positive";
  return isNegative(conclusion) ? "negative" : conclusion;
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
