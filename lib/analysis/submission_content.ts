import { createHash } from "node:crypto";
import { testHash, type TestIdentity } from "../identity.ts";
import { isNegative, type TestResult } from "../report/result.ts";
import { encodeDurations, ExceptionWriter, type Outcome } from "./columns.ts";

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

/**
 * Takes results as they are read and makes columns of them.
 *
 * What is kept of a result is a few numbers and the bytes of its identity, because a report of half
 * a million results must fit in memory, and because strings cut from a report would keep the whole
 * of it alive.
 */
export class SubmissionBuilder {
  #count = 0;
  #hashes = new Float64Array(1024);
  #durations = new Float64Array(1024);
  #conclusions = new Uint8Array(1024);
  #identities = new IdentityBytes();
  #negatives: NegativeResult[] = [];

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
    if (isNegative(result.conclusion)) {
      this.#negatives.push({
        testHash: hash,
        resultNo,
        conclusion: result.conclusion,
        message: copied(result.message),
      });
    }
  }

  /** The columns of everything added so far. */
  finish(): SubmissionContent {
    const hashes = this.#hashes;
    const order = new Uint32Array(this.#count).map((_, index) => index);
    order.sort((a, b) => hashes[a]! - hashes[b]! || a - b);

    const testHashes: number[] = [];
    const firstResults: number[] = [];
    const durations: number[] = [];
    const exceptions = new ExceptionWriter();
    for (let start = 0, end = 0; start < order.length; start = end) {
      const hash = hashes[order[start]!]!;
      const outcome: Outcome = { positive: 0, negative: 0, skipped: 0, unknown: 0 };
      let duration = 0;
      for (; end < order.length && hashes[order[end]!] === hash; end++) {
        outcome[SIDES[this.#conclusions[order[end]!]!]!]++;
        duration += this.#durations[order[end]!]!;
      }
      exceptions.add(testHashes.length, outcome);
      testHashes.push(hash);
      firstResults.push(order[start]!);
      durations.push(Math.min(duration, Number.MAX_SAFE_INTEGER));
    }

    const list = Float64Array.from(testHashes);
    return {
      resultCount: this.#count,
      testHashes: list,
      listHash: createHash("sha256").update(new Uint8Array(list.buffer)).digest("hex"),
      identityAt: (index) => this.#identities.at(firstResults[index]!),
      ...encodeDurations(Float64Array.from(durations)),
      exceptions: exceptions.finish(),
      negatives: this.#negatives,
    };
  }
}

const CONCLUSIONS = ["passing", "failure", "error", "skipped", "unknown"] as const;
const SIDES = ["positive", "negative", "negative", "skipped", "unknown"] as const;

function grown<T extends Float64Array | Uint8Array | Uint32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A copy that shares no memory with the text it was cut from. */
function copied(text: string): string {
  return decoder.decode(encoder.encode(text));
}

/** Identities as bytes, one after the other. */
class IdentityBytes {
  #bytes = new Uint8Array(1 << 16);
  #length = 0;
  #count = 0;
  /** Where the four fields of an identity end. */
  #ends = new Uint32Array(4 * 1024);

  push(test: TestIdentity): void {
    if (this.#count === this.#ends.length) {
      this.#ends = grown(this.#ends, new Uint32Array(this.#ends.length * 2));
    }
    for (const field of [test.suite, test.class, test.name, test.file]) {
      // A UTF-16 unit takes at most three bytes.
      while (this.#length + field.length * 3 > this.#bytes.length) {
        this.#bytes = grown(this.#bytes, new Uint8Array(this.#bytes.length * 2));
      }
      this.#length += encoder.encodeInto(field, this.#bytes.subarray(this.#length)).written;
      this.#ends[this.#count++] = this.#length;
    }
  }

  at(index: number): TestIdentity {
    const field = (offset: number) => {
      const place = index * 4 + offset;
      const start = place === 0 ? 0 : this.#ends[place - 1];
      return decoder.decode(this.#bytes.subarray(start, this.#ends[place]));
    };
    return { suite: field(0), class: field(1), name: field(2), file: field(3) };
  }
}
