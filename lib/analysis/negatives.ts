// Tests: tests/lib/analysis/repetition/merge_results_test.ts tests/lib/analysis/submission_content_test.ts
/** The failures and errors of an upload. */
import { enlarge } from "./columns.ts";

/** A failure or error. */
export interface CollectedNegative {
  testHash: number;
  /** Position of the result in its submission. */
  resultNo: number;
  conclusion: "failure" | "error";
  textNo: number;
  /** Fingerprints of its causes other than its text's, sorted; absent without any. */
  otherFingerprints?: string[];
}

/**
 * Failures and errors by column, ascending by `resultNo`, as plain data: there may be a million, which take
 * 90 MB as objects.
 */
export interface Negatives {
  length: number;
  testHashes: Float64Array<ArrayBuffer>;
  resultNos: Uint32Array<ArrayBuffer>;
  textNos: Uint32Array<ArrayBuffer>;
  /** 1 for an error, 0 for a failure. */
  errors: Uint8Array<ArrayBuffer>;
  /** By index, of the few that have any. */
  otherFingerprints: Map<number, string[]>;
}

/** Collects failures and errors. */
export class NegativeCollector {
  readonly #columns: Negatives = {
    length: 0,
    testHashes: new Float64Array(16),
    resultNos: new Uint32Array(16),
    textNos: new Uint32Array(16),
    errors: new Uint8Array(16),
    otherFingerprints: new Map(),
  };

  /** Adds one with a greater `resultNo` than those before it. */
  push({ testHash, resultNo, conclusion, textNo, otherFingerprints }: CollectedNegative): void {
    const columns = this.#columns;
    const index = columns.length++;
    if (index === columns.resultNos.length) this.#grow(2 * index);
    columns.testHashes[index] = testHash;
    columns.resultNos[index] = resultNo;
    columns.textNos[index] = textNo;
    columns.errors[index] = conclusion === "error" ? 1 : 0;
    if (otherFingerprints) columns.otherFingerprints.set(index, otherFingerprints);
  }

  /** Forgets the negatives from a position on. */
  truncate(resultNo: number): void {
    const columns = this.#columns;
    while (columns.length > 0 && columns.resultNos[columns.length - 1]! >= resultNo) {
      columns.otherFingerprints.delete(--columns.length);
    }
  }

  /** Everything that was added; nothing is added afterwards. */
  finish(): Negatives {
    const { length, testHashes, resultNos, textNos, errors, otherFingerprints } = this.#columns;
    return {
      length,
      testHashes: testHashes.slice(0, length),
      resultNos: resultNos.slice(0, length),
      textNos: textNos.slice(0, length),
      errors: errors.slice(0, length),
      otherFingerprints,
    };
  }

  #grow(length: number): void {
    const columns = this.#columns;
    columns.testHashes = enlarge(columns.testHashes, new Float64Array(length));
    columns.resultNos = enlarge(columns.resultNos, new Uint32Array(length));
    columns.textNos = enlarge(columns.textNos, new Uint32Array(length));
    columns.errors = enlarge(columns.errors, new Uint8Array(length));
  }
}

/** The failure or error at an index. */
export function negativeAt(negatives: Negatives, index: number): CollectedNegative {
  const otherFingerprints = negatives.otherFingerprints.get(index);
  return {
    testHash: negatives.testHashes[index]!,
    resultNo: negatives.resultNos[index]!,
    conclusion: negatives.errors[index] === 1 ? "error" : "failure",
    textNo: negatives.textNos[index]!,
    ...otherFingerprints && { otherFingerprints },
  };
}

/** All of them, in order. */
export function* eachNegative(negatives: Negatives): Generator<CollectedNegative, void> {
  for (let index = 0; index < negatives.length; index++) yield negativeAt(negatives, index);
}

/** The failure or error of a result; `undefined` if it is none. */
export function negativeOf(negatives: Negatives, resultNo: number): CollectedNegative | undefined {
  const index = indexOfNegative(negatives, resultNo);
  return index === -1 ? undefined : negativeAt(negatives, index);
}

/** The index of the failure or error of a result; -1 if it is none. */
export function indexOfNegative({ resultNos }: Negatives, resultNo: number): number {
  let low = 0;
  let high = resultNos.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (resultNos[middle]! < resultNo) low = middle + 1;
    else high = middle;
  }
  return resultNos[low] === resultNo ? low : -1;
}
