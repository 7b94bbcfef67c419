import type { Conclusion } from "../result.ts";

/**
 * What the words in the `status` and `result` attributes of a `testcase` mean. They count only where
 * no child element says how the test ended; a word that is not here means `unknown`.
 */
const WORDS: ReadonlyMap<string, Conclusion> = new Map(
  ([
    // googletest writes status="run" result="completed", others only one of the two.
    ["passing", ["run", "completed", "complete", "executed", "finished"]],
    ["passing", ["passed", "pass", "passing", "success", "successful", "succeeded", "ok"]],
    ["skipped", ["notrun", "disabled", "ignored", "skipped"]],
    ["failure", ["failure", "failed", "fail"]],
    ["error", ["error", "errored"]],
  ] as const).flatMap(([conclusion, words]) => words.map((word) => [word, conclusion] as const)),
);

// googletest's disabled tests have status="notrun" result="suppressed": a known word wins over
// an unknown one, except that an unknown word with "run" leaves the outcome open.
const PRECEDENCE: readonly Conclusion[] = ["error", "failure", "skipped", "unknown", "passing"];

/**
 * The conclusion of a test without a child element that decides it, by its `status` and `result` attributes;
 * `passing` when it has neither. Case, blanks, hyphens and underscores make no difference.
 */
export function conclusionOfStatus(
  status: string | undefined,
  result: string | undefined,
): Conclusion {
  // As in nearly every report.
  if (status === undefined && result === undefined) return "passing";
  const conclusions = [status, result]
    .map((word) => word?.toLowerCase().replace(/[\s_-]/g, ""))
    .filter((word) => word !== undefined && word !== "")
    .map((word) => WORDS.get(word!) ?? "unknown");
  return PRECEDENCE.find((conclusion) => conclusions.includes(conclusion)) ?? "passing";
}
