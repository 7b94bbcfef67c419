import { attemptsOfTests, finalOutcome } from "../analysis/columns.ts";
import { countTests, type TestCounts } from "../analysis/test_counts.ts";
import {
  type ContentData,
  indexOfTest,
  type SubmissionContent,
} from "../analysis/submission_content.ts";
import { otherCauses } from "../analysis/failure_causes.ts";
import {
  decodeBody,
  type FailureText,
  failureText,
  fingerprintAt,
} from "../analysis/failure_texts.ts";
import { eachNegative } from "../analysis/negatives.ts";
import { testHash, type TestIdentity } from "../base/identity.ts";
import type { CauseCount } from "../evidence/mass_failure.ts";
import type { FailedTest } from "./rule.ts";
import { failedWithSubtest } from "../analysis/subtests.ts";

/** Tests by the outcome of their final attempt. */
export interface FinalAttempts {
  /** Tests whose final attempt failed, in the order of the reports. */
  failed: FailedTest[];
  /** Tests whose final attempt has no known outcome. */
  unclear: TestIdentity[];
  /** Tests that failed and passed on a retry, in the order of the reports. */
  flaky: FailedTest[];
  /** The last failure of a test that has one. */
  failureOf(test: TestIdentity): FailureText | null;
  /** Whether the final attempt of a test passed. */
  hasPassed(test: TestIdentity): boolean;
  /** `testHash` of the tests whose final attempt passed. */
  passedHashes(): number[];
  counts: TestCounts;
  /** The first test of the reports; `null` without any. */
  firstTest: TestIdentity | null;
  /** Tests that failed at least once, by their causes. */
  causeCounts: CauseCount[];
}

/**
 * The outcome of each test's final attempt. Skips are ignored, and an unknown outcome does not replace
 * a failure.
 */
export function finalAttempts(content: ContentData & SubmissionContent): FinalAttempts {
  const { testHashes, firstResults } = content;
  const failed: number[] = [];
  const unclear: number[] = [];
  const flaky: number[] = [];
  const passed = new Uint8Array(testHashes.length);
  const passedBefore = new Set<number>();
  attemptsOfTests(content).forEach((attempts, index) => {
    const kinds = attempts.map(({ kind }) => kind);
    const outcome = finalOutcome(kinds);
    if (outcome === "positive" && kinds.includes("negative")) flaky.push(index);
    if (outcome === "negative" && kinds.includes("positive")) passedBefore.add(testHashes[index]!);
    if (outcome === "negative") failed.push(index);
    else if (outcome === "unknown") unclear.push(index);
    else if (outcome === "positive") passed[index] = 1;
  });
  const identities = (indexes: number[]) =>
    indexes.sort((a, b) => firstResults[a]! - firstResults[b]!).map(content.identityAt);
  const negatives = Map.groupBy(eachNegative(content.negatives), ({ testHash }) => testHash);
  const lastText = (test: TestIdentity) => {
    const last = negatives.get(testHash(test))?.at(-1);
    return last && failureText(content.texts, last.textNo);
  };
  const causesOf = (hash: number) =>
    negatives.get(hash)!.flatMap(({ textNo, otherFingerprints = [] }) => [
      fingerprintAt(content.texts, textNo),
      ...otherFingerprints,
    ]);
  const withCauses = (test: TestIdentity): FailedTest => {
    const { fingerprint } = lastText(test)!;
    const otherFingerprints = otherCauses(fingerprint, causesOf(testHash(test)));
    return { ...test, fingerprint, ...otherFingerprints && { otherFingerprints } };
  };
  const sets = Map.groupBy(
    negatives.keys().map((hash) => [...new Set(causesOf(hash))].sort()),
    (causes) => causes.join(),
  );
  return {
    failed: identities(failed).map((test): FailedTest => {
      return {
        ...withCauses(test),
        ...passedBefore.has(testHash(test)) && { hasPassed: true },
        ...failedWithSubtest(test, lastText(test)!) && { bySubtest: true },
      };
    }),
    unclear: identities(unclear),
    flaky: identities(flaky).map((test) => ({ ...withCauses(test), hasPassed: true })),
    causeCounts: [...sets.values()].map((same) => ({ causes: same[0]!, testCount: same.length })),
    failureOf(test) {
      const text = lastText(test);
      return text ? { message: text.message, body: decodeBody(text.body) } : null;
    },
    hasPassed: (test) => passed[indexOfTest(testHashes, testHash(test))] === 1,
    passedHashes: () => Array.from(testHashes).filter((_, index) => passed[index] === 1),
    counts: countTests(content.exceptions, testHashes.length),
    firstTest: testHashes.length === 0 ? null : content.identityAt(0),
  };
}
