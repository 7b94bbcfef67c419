// Tests: tests/lib/cli/commands/import_test.ts
import { ATTEMPT_KINDS, encodeResults, kindOf } from "../analysis/columns.ts";
import { otherCauses } from "../analysis/failure_causes.ts";
import { TextCollector } from "../analysis/failure_texts.ts";
import { type CollectedNegative, NegativeCollector } from "../analysis/negatives.ts";
import { listHashOf, type SubmissionContent } from "../analysis/submission_content.ts";
import type { TestTags } from "../analysis/test_tags.ts";
import { parseShortTestId, type TestIdentity } from "../base/identity.ts";
import { isNegative } from "../report/result.ts";
import type { ExportRecord } from "./records.ts";

type ResultRecord = ExportRecord<"result">;

/** Twice the limit of an upload: texts that were within it come in another order. */
const MAX_TEXT_BYTES = 128 << 20;

/** A message that only repeats these says nothing of a cause. */
export type TestTitle = Pick<TestIdentity, "class" | "name">;

/** Makes the content of a submission from the records of its results. */
export class SubmissionResults {
  readonly #titleOf: (testHash: number) => TestTitle | undefined;
  /** One for each test, ascending. */
  readonly #testHashes: number[] = [];
  // One for each result, in the order of the file.
  readonly #testIndexes: number[] = [];
  readonly #kinds: number[] = [];
  readonly #durations: number[] = [];
  readonly #negatives: CollectedNegative[] = [];
  readonly #texts = new TextCollector({ maxBytes: MAX_TEXT_BYTES });
  /** Distinct tags of single tests, and the group of each test: 0 for none, otherwise 1 + its index. */
  readonly #groups: string[][] = [];
  readonly #groupNos = new Map<string, number>();
  readonly #groupOf: number[] = [];
  #last = { testId: "", attempt: 0, tags: "", resultNo: -1 };

  /** `titleOf` knows the tests that came before. */
  constructor(titleOf: (testHash: number) => TestTitle | undefined) {
    this.#titleOf = titleOf;
  }

  /** @throws {SyntaxError} when a result does not fit those before it */
  add(record: ResultRecord): void {
    this.#addTest(record);
    const { conclusion, message, body, result_no: resultNo } = record;
    this.#testIndexes.push(this.#testHashes.length - 1);
    this.#kinds.push(ATTEMPT_KINDS.indexOf(kindOf(conclusion)));
    this.#durations.push(record.duration_us);
    if (isNegative(conclusion)) {
      if (resultNo === null) throw new SyntaxError(`${conclusion} without "result_no"`);
      if (resultNo <= this.#last.resultNo) {
        throw new SyntaxError(`result_no ${resultNo} after ${this.#last.resultNo} of the test`);
      }
      this.#last.resultNo = resultNo;
      const testHash = this.#testHashes.at(-1)!;
      const text = { message: message ?? "", body: body ?? "" };
      const textNo = this.#texts.add(text, this.#titleOf(testHash));
      const otherFingerprints = record.other_fingerprints &&
        otherCauses(this.#texts.fingerprintAt(textNo), record.other_fingerprints);
      this.#negatives.push({
        testHash,
        resultNo,
        conclusion,
        textNo,
        ...otherFingerprints && { otherFingerprints },
      });
    } else if (
      [resultNo, message, body, record.other_fingerprints].some((field) => field !== null) ||
      record.is_disruption
    ) {
      throw new SyntaxError(
        `"${conclusion}" with fields of a failure: expected no result_no, message, body, ` +
          "is_disruption and other_fingerprints",
      );
    }
  }

  #addTest({ test_id: testId, attempt, tags }: ResultRecord): void {
    const last = this.#last;
    const json = tags === null ? "" : JSON.stringify(tags);
    const expected = last.testId === testId ? last.attempt + 1 : 1;
    if (testId < last.testId) {
      throw new SyntaxError(`test_id ${testId} after ${last.testId}, expected ascending ids`);
    }
    if ((attempt ?? 1) !== expected) {
      throw new SyntaxError(`attempt ${attempt ?? 1} of test ${testId}, expected ${expected}`);
    }
    if (expected > 1) {
      if (json !== last.tags) throw new SyntaxError(`other tags than attempt ${last.attempt}`);
      last.attempt = expected;
      return;
    }
    this.#testHashes.push(parseShortTestId(testId)!);
    this.#groupOf.push(tags === null ? 0 : this.#groupNo(json, tags));
    this.#last = { testId, attempt: 1, tags: json, resultNo: -1 };
  }

  #groupNo(json: string, tags: string[]): number {
    const known = this.#groupNos.get(json);
    if (known !== undefined) return known;
    const groupNo = this.#groups.push(tags);
    this.#groupNos.set(json, groupNo);
    return groupNo;
  }

  /** @throws {SyntaxError} when there are not as many as the submission had, or two with one number */
  finish(
    { test_result_count: expected, ambiguous_tests: ambiguous, overheads }: ExportRecord<
      "submission"
    >,
  ): { content: SubmissionContent; testTags: TestTags | null } {
    const resultCount = this.#kinds.length;
    if (resultCount !== expected) {
      throw new SyntaxError(`${resultCount} results follow, expected ${expected}`);
    }
    const negatives = this.#negatives.toSorted((a, b) => a.resultNo - b.resultNo);
    const last = negatives.at(-1)?.resultNo ?? 0;
    if (negatives.length > 0 && last >= resultCount) {
      throw new SyntaxError(`result_no ${last} of ${resultCount} results, expected less`);
    }
    if (negatives.some(({ resultNo }, index) => resultNo === negatives[index - 1]?.resultNo)) {
      throw new SyntaxError("two of its results have the same result_no");
    }
    const collected = new NegativeCollector();
    for (const negative of negatives) collected.push(negative);
    const testHashes = Float64Array.from(this.#testHashes);
    const content: SubmissionContent = {
      resultCount,
      testHashes,
      listHash: listHashOf(testHashes),
      identityAt() {
        throw new Error("the tests of an import are stored before its submissions");
      },
      ...encodeResults(testHashes.length, {
        testIndexes: Uint32Array.from(this.#testIndexes),
        kinds: Uint8Array.from(this.#kinds),
        durations: Float64Array.from(this.#durations),
      }),
      ambiguousTestHashes: (ambiguous ?? []).map((testId) => parseShortTestId(testId)!),
      overheads: (overheads ?? []).map(({ test_id, overhead_us, is_one_class }) => ({
        testHash: parseShortTestId(test_id)!,
        microseconds: overhead_us,
        isOneClass: is_one_class,
      })),
      negatives: collected.finish(),
      texts: this.#texts.finish(),
    };
    const hasTags = this.#groups.length > 0;
    return { content, testTags: hasTags ? { groups: this.#groups, groupOf: this.#groupOf } : null };
  }
}
