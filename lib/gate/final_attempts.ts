import { finalOutcome, forEachTest } from "../analysis/columns.ts";
import { countTests, type TestCounts } from "../analysis/test_counts.ts";
import {
  type ContentData,
  indexOfTest,
  type SubmissionContent,
} from "../analysis/submission_content.ts";
import { failureCause, fingerprint } from "../analysis/failure_groups.ts";
import { decodeBody, type FailureText } from "../analysis/failure_texts.ts";
import { testHash, type TestIdentity } from "../base/identity.ts";
import { isNegative, type TestResult } from "../report/result.ts";
import type { FailedTest } from "./rule.ts";
import { isEmptyLine, saysNothing } from "../analysis/subtests.ts";

/** Tests by the outcome of their final attempt. */
export interface FinalAttempts {
  /** Tests whose final attempt failed, in the order of the reports. */
  failed: FailedTest[];
  /** Tests whose final attempt has no known outcome. */
  unclear: TestIdentity[];
  /** Tests that failed and passed on a retry, in the order of the reports. */
  flaky: TestIdentity[];
  /** The last failure of a test that has one. */
  failureOf(test: TestIdentity): FailureText | null;
  /** Whether the final attempt of a test passed. */
  hasPassed(test: TestIdentity): boolean;
  counts: TestCounts;
}

/**
 * The causes of all failures of each test, before equal cases are merged: of earlier attempts, of
 * several failures in one attempt, and of several tests with one name.
 */
export class CauseCollector {
  readonly #fingerprints = new Map<number, Set<string>>();

  add(result: TestResult): void {
    if (!isNegative(result.conclusion)) return;
    const hash = testHash(result);
    const own = this.#fingerprints.get(hash) ?? new Set();
    this.#fingerprints.set(hash, own);
    const { message, body, otherMessages = [] } = result;
    // pytest writes a failed subtest, and that its test contains one, as two failures.
    for (const text of [message, ...otherMessages.filter((line) => !isEmptyLine(line))]) {
      const cause = failureCause(text, text === message ? body : "");
      // Some plugins report attempts without any text: another attempt has the cause.
      if (cause !== "") own.add(fingerprint(cause));
    }
  }

  /** The fingerprints of the failures of a test. */
  of(test: TestIdentity): ReadonlySet<string> {
    return this.#fingerprints.get(testHash(test)) ?? new Set();
  }
}

/**
 * The outcome of each test's final attempt. Skips are ignored, and an unknown outcome does not replace
 * a failure.
 */
export function finalAttempts(
  content: ContentData & SubmissionContent,
  causes: CauseCollector,
): FinalAttempts {
  const { testHashes, firstResults } = content;
  const failed: number[] = [];
  const unclear: number[] = [];
  const flaky: number[] = [];
  const passed = new Uint8Array(testHashes.length);
  forEachTest(content, (index, attempts) => {
    const kinds = attempts.map(({ kind }) => kind);
    const outcome = finalOutcome(kinds);
    if (outcome === "positive" && kinds.includes("negative")) flaky.push(index);
    if (outcome === "negative") failed.push(index);
    else if (outcome === "unknown") unclear.push(index);
    else if (outcome === "positive") passed[index] = 1;
  });
  const identities = (indexes: number[]) =>
    indexes.sort((a, b) => firstResults[a]! - firstResults[b]!).map(content.identityAt);
  const lastTexts = new Map(
    content.negatives.map(({ testHash, textNo }) => [testHash, content.texts[textNo]!]),
  );
  return {
    failed: identities(failed).map((test): FailedTest => {
      const text = lastTexts.get(testHash(test))!;
      const { fingerprint } = text;
      const others = [...causes.of(test)].filter((one) => one !== fingerprint);
      return {
        ...test,
        fingerprint,
        ...others.length > 0 && { otherFingerprints: others },
        ...saysNothing(text) && { saysNothing: true },
      };
    }),
    unclear: identities(unclear),
    flaky: identities(flaky),
    failureOf(test) {
      const text = lastTexts.get(testHash(test));
      return text ? { message: text.message, body: decodeBody(text.body) } : null;
    },
    hasPassed: (test) => passed[indexOfTest(testHashes, testHash(test))] === 1,
    counts: countTests(content.exceptions, testHashes.length),
  };
}
