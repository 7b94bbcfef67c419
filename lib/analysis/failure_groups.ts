/** Groups failures by cause: their messages are equal except for values that vary from run to run. */
import { sha256 } from "../base/sha256.ts";
import type { TestIdentity } from "../base/identity.ts";
import { compareTexts } from "../base/text.ts";
import { firstLine } from "../report/bounded_text.ts";
import { isNoCause, isTitle } from "../report/says_nothing.ts";
import { CAUSE_RULES } from "./cause_rules.ts";

const ANY_RULE = new RegExp(
  CAUSE_RULES.map(({ pattern }) => `(${pattern.source})`).join("|"),
  "gi",
);

// Frames of the stack of Java that are neither the language's nor a tool's.
const OWN_FRAME =
  /^\s{0,20}at (?!(?:java|javax|jdk|sun|com\.sun|kotlin|scala|groovy|org\.(?:junit|testng|gradle|opentest4j|assertj|hamcrest|codehaus|apache\.maven)|junit)[.$])([\w.$]{1,500})\(/m;

/**
 * The message of a failure, otherwise the first line of its body, with varying text replaced. A message
 * that only names an exception has the place that threw it. `""` if the cause is unknown, as where the
 * message is only the title of the test, if that is given.
 */
export function failureCause(
  message: string,
  body: string,
  test?: Pick<TestIdentity, "class" | "name">,
): string {
  const line = message || firstLine(body);
  if (test && isTitle(line, test.class, test.name)) return "";
  const frame = isNoCause(line) ? OWN_FRAME.exec(body)?.[1] : undefined;
  if (isNoCause(line) && frame === undefined) return "";
  const text = frame === undefined ? line : `${line} at ${frame}`;
  let cause = "";
  let at = 0;
  for (const match of text.matchAll(ANY_RULE)) {
    const { replacement } = CAUSE_RULES[match.indexOf(match[0], 1) - 1]!;
    const replaced = typeof replacement === "function" ? replacement(match[0]) : replacement;
    cause += text.slice(at, match.index) + (replaced ?? match[0]);
    at = match.index + match[0].length;
  }
  return cause + text.slice(at);
}

/** The public name of a cause: 16 hex digits. */
export function fingerprint(cause: string): string {
  return sha256(cause).toHex().slice(0, 16);
}

/** The fingerprint of an unknown cause, which is equal to no other: no text of the failure says anything. */
export const UNKNOWN_CAUSE = fingerprint("");

/** The fingerprints that stand one after the other. */
export function splitFingerprints(joined: string): string[] {
  return joined.match(/.{16}/g) ?? [];
}

export interface FailedAttempt {
  /** Fingerprint of its cause. */
  fingerprint: string;
  /** Number of its test: an index of their ids. */
  test: number;
  /** `""` when unknown. */
  branch: string;
  /** Seconds since 1970. */
  recordedAt: number;
  /** Greater than the positions of all earlier failures. */
  position: number;
  isDisruption: boolean;
}

export type FailureGroup<T extends FailedAttempt> = ReturnType<typeof summarize<T>>;

const MAX_GROUPS = 50;
const MAX_TESTS = 20;

/**
 * Groups failures, in any order, by cause: the 50 largest groups, the largest first, and the number of
 * all. A failure of an unknown cause is alone. Ties go to the latest failure, then to the smaller fingerprint.
 * One pass, as there may be 100,000. Each may be the same object, written to again: only the latest of a group is
 * copied, and there are fewest copies where the latest failures come first.
 */
export function groupFailures<T extends FailedAttempt>(
  attempts: Iterable<T>,
  testIds: readonly string[],
): { count: number; groups: FailureGroup<T>[] } {
  const groups = new Map<string, Group<T>>();
  for (const attempt of attempts) {
    const { fingerprint, test, branch, recordedAt, isDisruption } = attempt;
    const key = fingerprint === UNKNOWN_CAUSE ? `unknown ${attempt.position}` : fingerprint;
    let group = groups.get(key);
    if (!group) {
      group = {
        fingerprint,
        latest: { ...attempt },
        count: 0,
        disruptionCount: 0,
        firstRecordedAt: recordedAt,
        branches: new Set(),
        tests: [],
      };
      groups.set(key, group);
    }
    group.count++;
    if (isDisruption) group.disruptionCount++;
    if (attempt.position > group.latest.position) group.latest = { ...attempt };
    if (recordedAt < group.firstRecordedAt) group.firstRecordedAt = recordedAt;
    if (branch !== "") group.branches.add(branch);
    group.tests.push(test);
  }
  const largest = [...groups.values()].sort((a, b) =>
    b.count - a.count || b.latest.recordedAt - a.latest.recordedAt ||
    compareTexts(a.fingerprint, b.fingerprint) || b.latest.position - a.latest.position
  ).slice(0, MAX_GROUPS);
  return { count: groups.size, groups: largest.map((group) => summarize(group, testIds)) };
}

interface Group<T> {
  fingerprint: string;
  /** Its message and body represent the group. */
  latest: T;
  count: number;
  disruptionCount: number;
  /** Seconds since 1970. */
  firstRecordedAt: number;
  /** Without unknown ones. */
  branches: Set<string>;
  /** The test of each failure. */
  tests: number[];
}

function summarize<T extends FailedAttempt>(group: Group<T>, testIds: readonly string[]) {
  const counts = new Uint32Array(testIds.length);
  const failed = group.tests.filter((test) => counts[test]!++ === 0);
  // Leaves few ids to compare.
  const least = Uint32Array.from(failed, (test) => counts[test]!).sort().at(-MAX_TESTS) ?? 0;
  const tests = failed.filter((test) => counts[test]! >= least).sort((a, b) =>
    counts[b]! - counts[a]! || (testIds[a]! < testIds[b]! ? -1 : 1)
  );
  return {
    ...group,
    lastRecordedAt: group.latest.recordedAt,
    /** Sorted. */
    branches: [...group.branches].sort(),
    /** Ids of the tests that failed most often, at most 20. */
    tests: tests.slice(0, MAX_TESTS).map((test) => testIds[test]!),
    testCount: failed.length,
  };
}
