// Tests: tests/db/write/evidence_test.ts tests/db/write/store_submission_test.ts
/** The negative results of a submission that is being stored. */
import { MORE_CAUSES } from "./failure_causes.ts";
import type { NegativeResult } from "./disruptions.ts";
import { failureText } from "./failure_texts.ts";
import { indexOfNegative, negativeAt } from "./negatives.ts";
import type { SubmissionContent } from "./submission_content.ts";
import { failedAndPassed } from "./test_counts.ts";

/** A failure or error of the submission. */
export interface NewNegative extends NegativeResult {
  conclusion: "failure" | "error";
  textId: string;
  fingerprint: string;
  /** Hex; `null` without any. */
  otherFingerprints: string | null;
}

/** From the first to the last test_no. */
export interface TestRange {
  first: number;
  last: number;
}

/** The test_no of tests, by test_hash. */
interface TestNumbers {
  get(testHash: number): number | undefined;
}

/** Tests whose failures are handled together. */
export const TESTS_AT_ONCE = 2_000;

/** Splits ascending test_no into ranges of a given number each. */
export function rangesOfTests(testNos: Int32Array): TestRange[] {
  const count = Math.ceil(testNos.length / TESTS_AT_ONCE);
  return Array.from({ length: count }, (_, index) => {
    const range = testNos.subarray(index * TESTS_AT_ONCE, (index + 1) * TESTS_AT_ONCE);
    return { first: range[0]!, last: range.at(-1)! };
  });
}

/** More than the results of an upload: a test_no and an index in one number, to be sorted. */
const INDEX_RANGE = 2 ** 21;

/** Makes objects only of what is read: there may be a million, which take 400 MB. */
export class NewNegatives {
  readonly length: number;
  /** Each test that failed once, ascending. */
  readonly testNos: Int32Array;
  readonly #content: SubmissionContent;
  readonly #submissionId: string;
  readonly #failedTestNos: TestNumbers;
  // The negatives of the content are numbered by their index.
  readonly #testNos: Int32Array;
  /** 1 for a disruption. */
  readonly #disruptions: Uint8Array;
  /** Indexes by test_no, and in the order of the report. */
  readonly #order: Uint32Array;

  constructor({ submissionId, content, failedTestNos }: {
    submissionId: string;
    content: SubmissionContent;
    /** Of the tests with failures. */
    failedTestNos: TestNumbers;
  }) {
    const { testHashes, length } = content.negatives;
    this.length = length;
    this.#content = content;
    this.#submissionId = submissionId;
    this.#failedTestNos = failedTestNos;
    this.#disruptions = new Uint8Array(length);
    // Loops, because requests wait meanwhile: with callbacks a million take a second longer.
    this.#testNos = new Int32Array(length);
    const keys = new Float64Array(length);
    for (let index = 0; index < length; index++) {
      const testNo = failedTestNos.get(testHashes[index]!)!;
      this.#testNos[index] = testNo;
      keys[index] = testNo * INDEX_RANGE + index;
    }
    keys.sort();
    this.#order = new Uint32Array(length);
    const testNos = new Int32Array(length);
    let testCount = 0;
    for (let place = 0; place < length; place++) {
      const testNo = Math.floor(keys[place]! / INDEX_RANGE);
      this.#order[place] = keys[place]! - testNo * INDEX_RANGE;
      if (testCount === 0 || testNos[testCount - 1] !== testNo) testNos[testCount++] = testNo;
    }
    this.testNos = testNos.subarray(0, testCount);
  }

  get disruptionCount(): number {
    return this.#disruptions.reduce((sum, one) => sum + one, 0);
  }

  /** The failures of some tests, in the order of the report. */
  ofTests({ first, last }: TestRange): NewNegative[] {
    const indexes = this.#order.slice(this.#placeOf(first), this.#placeOf(last + 1)).sort();
    return Array.from(indexes, (index) => this.#at(index));
  }

  /** All, by test and in the order of the report: first what is no disruption, then the disruptions. */
  *inOrder(): Generator<NewNegative, void> {
    for (const isDisruption of [0, 1]) {
      for (const index of this.#order) {
        if (this.#disruptions[index] === isDisruption) yield this.#at(index);
      }
    }
  }

  /** The tests of which another attempt passed. */
  passedTestNos(): Set<number> {
    const { exceptions, testHashes } = this.#content;
    return new Set(
      failedAndPassed(exceptions).map((index) => this.#failedTestNos.get(testHashes[index]!)!),
    );
  }

  markDisruption({ resultNo }: Pick<NewNegative, "resultNo">): void {
    this.#disruptions[indexOfNegative(this.#content.negatives, resultNo)] = 1;
  }

  /** How many are of tests before this one. */
  #placeOf(testNo: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#testNos[this.#order[middle]!]! < testNo) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #at(index: number): NewNegative {
    const { negatives, texts } = this.#content;
    const { resultNo, conclusion, textNo, otherFingerprints } = negativeAt(negatives, index);
    const { textId, fingerprint, message } = failureText(texts, textNo);
    return {
      submissionId: this.#submissionId,
      testNo: this.#testNos[index]!,
      resultNo,
      conclusion,
      textId,
      fingerprint,
      message,
      otherFingerprints: otherFingerprints?.filter((one) => one !== MORE_CAUSES).join("") || null,
      isDisruption: this.#disruptions[index] === 1,
    };
  }
}
