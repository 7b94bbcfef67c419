import { createHash } from "node:crypto";
import { TestHashes, type TestIdentity } from "../base/identity.ts";
import { isNegative, type TestResult } from "../report/result.ts";
import { encodeDurations, ExceptionWriter, type Outcome } from "./columns.ts";
import { identityIn, type IdentityPage, IdentityPages } from "./identity_pages.ts";
import { resultsByTest } from "./results_by_test.ts";

/** A failure or error, as it is stored. */
export interface NegativeResult {
  testHash: number;
  /** Position of the result in its submission. */
  resultNo: number;
  conclusion: "failure" | "error";
  message: string;
}

/** All that is stored of a submission's results. */
export interface SubmissionContent {
  resultCount: number;
  /** The tests that ran, each once, ascending. */
  testHashes: Float64Array;
  /** SHA-256 over `testHashes`, hex: equal for submissions that ran the same tests. */
  listHash: string;
  /** The identity of the test at a place of `testHashes`. */
  identityAt(index: number): TestIdentity;
  durations: Uint8Array;
  /** Microseconds in one unit of `durations`. */
  durationUnit: number;
  exceptions: Uint8Array;
  /** In the order of the report. */
  negatives: NegativeResult[];
}

/** The content as plain data, which can be sent to another thread. */
export interface ContentData extends Omit<SubmissionContent, "identityAt"> {
  identityPages: IdentityPage[];
  /** For each place of `testHashes`, the first result of its test. */
  firstResults: Uint32Array;
}

/** The content that data describes. */
export function contentOf(data: ContentData): ContentData & SubmissionContent {
  const { identityPages, firstResults } = data;
  return { ...data, identityAt: (index) => identityIn(identityPages, firstResults[index]!) };
}

/**
 * Takes results as they are read and makes columns of them.
 *
 * What is kept of a result is a few numbers and the bytes of its identity, because a report of half
 * a million results must fit in memory, and because strings cut from a report would keep the whole
 * of it alive.
 */
export class SubmissionBuilder {
  #count = 0;
  /** How many hashes have come; the others are still to be told. */
  #hashCount = 0;
  #hashes = new Float64Array(1024);
  #durations = new Float64Array(1024);
  #conclusions = new Uint8Array(1024);
  #identities = new IdentityPages();
  #negatives: Omit<NegativeResult, "testHash">[] = [];
  readonly #testHashes = new TestHashes((hash) => this.#hashes[this.#hashCount++] = hash);

  add(result: TestResult): void {
    const resultNo = this.#count++;
    if (resultNo === this.#hashes.length) {
      this.#hashes = grown(this.#hashes, new Float64Array(resultNo * 2));
      this.#durations = grown(this.#durations, new Float64Array(resultNo * 2));
      this.#conclusions = grown(this.#conclusions, new Uint8Array(resultNo * 2));
    }
    this.#testHashes.add(result);
    this.#durations[resultNo] = result.durationMicroseconds;
    this.#conclusions[resultNo] = CONCLUSIONS.indexOf(result.conclusion);
    this.#identities.push(result);
    if (isNegative(result.conclusion)) {
      this.#negatives.push({
        resultNo,
        conclusion: result.conclusion,
        message: copied(result.message),
      });
    }
  }

  /** The columns of everything added so far. */
  finish(): ContentData & SubmissionContent {
    this.#testHashes.finish();
    const hashes = this.#hashes.subarray(0, this.#count);
    const { testHashes, order, ends } = resultsByTest(hashes);

    const durations = new Float64Array(testHashes.length);
    const exceptions = new ExceptionWriter();
    const outcome: Outcome = { positive: 0, negative: 0, skipped: 0, unknown: 0 };
    for (let test = 0, next = 0; test < testHashes.length; test++) {
      const only = order[next]!;
      if (ends[test] === next + 1 && this.#conclusions[only] === PASSING) {
        // As nearly all of them: no exception.
        durations[test] = this.#durations[only]!;
        next++;
        continue;
      }
      outcome.positive =
        outcome.negative =
        outcome.skipped =
        outcome.unknown =
          0;
      let duration = 0;
      for (; next < ends[test]!; next++) {
        outcome[SIDES[this.#conclusions[order[next]!]!]!]++;
        duration += this.#durations[order[next]!]!;
      }
      exceptions.add(test, outcome);
      durations[test] = Math.min(duration, Number.MAX_SAFE_INTEGER);
    }

    const firstResults = new Uint32Array(testHashes.length);
    for (let test = 0; test < testHashes.length; test++) {
      firstResults[test] = order[test === 0 ? 0 : ends[test - 1]!]!;
    }
    return contentOf({
      resultCount: this.#count,
      testHashes,
      listHash: createHash("sha256").update(new Uint8Array(testHashes.buffer)).digest("hex"),
      identityPages: this.#identities.finish(),
      firstResults,
      ...encodeDurations(durations),
      exceptions: exceptions.finish(),
      negatives: this.#negatives.map((negative) => ({
        ...negative,
        testHash: hashes[negative.resultNo]!,
      })),
    });
  }
}

const CONCLUSIONS = ["passing", "failure", "error", "skipped", "unknown"] as const;
const PASSING = CONCLUSIONS.indexOf("passing");
const SIDES = ["positive", "negative", "negative", "skipped", "unknown"] as const;

function grown<T extends Float64Array | Uint8Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

const encoder = new TextEncoder();
// A mark at the beginning of a text belongs to it.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A copy that shares no memory with the text it was cut from. */
function copied(text: string): string {
  return decoder.decode(encoder.encode(text));
}
