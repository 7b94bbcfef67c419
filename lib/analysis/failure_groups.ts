/** Groups failures by cause: their messages are equal except for values that vary from run to run. */
import { sha256 } from "../base/sha256.ts";
import type { TestIdentity } from "../base/identity.ts";
import { compareTexts } from "../base/text.ts";
import { firstLine } from "../report/bounded_text.ts";
import { isNoCause, isTitle } from "../report/says_nothing.ts";
import { causeDetails, saysLittle } from "./cause_details.ts";
import { CAUSE_RULES } from "./cause_rules.ts";
import type { FailureColumns } from "./failure_columns.ts";

const ANY_RULE = new RegExp(
  CAUSE_RULES.map(({ pattern }) => `(${pattern.source})`).join("|"),
  "gi",
);

// Frames of the stack of Java that are neither the language's nor a tool's.
const OWN_FRAME =
  /^\s{0,20}at (?!(?:java|javax|jdk|sun|com\.sun|kotlin|scala|groovy|org\.(?:junit|testng|gradle|opentest4j|assertj|hamcrest|codehaus|apache\.maven)|junit)[.$])([\w.$]{1,500})\(/m;

// Twice the longest message: the rules take about a microsecond for each.
const MAX_CHARACTERS = 2_000;

/**
 * The message of a failure, otherwise the first line of its body, with varying text replaced. A message
 * that only names an exception has the place that threw it, and a heading what it announces. `""` if the
 * cause is unknown, as where the message is only the title of the test, if that is given.
 */
export function failureCause(
  message: string,
  body: string,
  test?: Pick<TestIdentity, "class" | "name">,
): string {
  const line = message || firstLine(body);
  if (test && isTitle(line, test.class, test.name)) return "";
  const frame = isNoCause(line) || saysLittle(line) ? OWN_FRAME.exec(body)?.[1] : undefined;
  if (isNoCause(line) && frame === undefined) return "";
  const text = [frame === undefined ? line : `${line} at ${frame}`, ...causeDetails(line, body)]
    .join("\n").slice(0, MAX_CHARACTERS);
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

/** The causes without unknown ones, which are equal to no other. */
export function knownCauses(causes: readonly string[]): string[] {
  return causes.filter((cause) => cause !== UNKNOWN_CAUSE);
}

/** A run as its failures show it. */
interface FailedRun {
  /** Seconds since 1970. */
  recordedAt: number;
  /** `null` or `""` when unknown. */
  branch: string | null;
}

/** Failures of one cause. */
export interface FailureGroup {
  fingerprint: string;
  /** Index of its latest failure, whose message and body represent the group. */
  latest: number;
  count: number;
  disruptionCount: number;
  /** Seconds since 1970. */
  firstRecordedAt: number;
  lastRecordedAt: number;
  /** Sorted, without unknown ones. */
  branches: string[];
  /** Ids of the tests that failed most often, at most 20. */
  tests: string[];
  testCount: number;
}

const MAX_GROUPS = 50;
const MAX_TESTS = 20;

/**
 * Groups failures by cause: the 50 largest groups, the largest first, and the number of all. Ties go to the latest
 * failure, then to the smaller fingerprint. A group is summarized when it is read: a page shows a few.
 *
 * @param options.runs of the failures, oldest first
 * @param options.idOf the id of a test, by its number
 * @param options.withUnknown includes failures of an unknown cause, each in a group of its own
 */
export function groupFailures(
  failures: FailureColumns,
  { runs, idOf, withUnknown }: {
    runs: readonly FailedRun[];
    idOf: (test: number) => string;
    withUnknown: boolean;
  },
): { count: number; groups: IteratorObject<FailureGroup> } {
  const groups = groupsOf(failures, withUnknown);
  const recordedAt = ({ latest }: Group) => runs[failures.runs[latest]!]!.recordedAt;
  const largest = groups.toSorted((a, b) =>
    b.count - a.count || recordedAt(b) - recordedAt(a) ||
    compareTexts(a.fingerprint, b.fingerprint) || (failures.isLater(b.latest, a.latest) ? 1 : -1)
  ).slice(0, MAX_GROUPS);
  const members = membersOf(failures, largest);
  return {
    count: groups.length,
    groups: largest.values().map((group, place) => ({
      ...summarize(group, { failures, members: members[place]!, runs }),
      ...testsOf({ failures, members: members[place]!, idOf }),
    })),
  };
}

interface Group {
  fingerprint: string;
  /** -1 for a single failure of an unknown cause. */
  cause: number;
  count: number;
  /** Index of its latest failure. */
  latest: number;
}

function groupsOf(failures: FailureColumns, withUnknown: boolean): Group[] {
  const { causes, fingerprints, length } = failures;
  const unknown = fingerprints.indexOf(UNKNOWN_CAUSE);
  const counts = new Int32Array(fingerprints.length);
  const latest = new Int32Array(fingerprints.length).fill(-1);
  const alone: Group[] = [];
  for (let index = 0; index < length; index++) {
    const cause = causes[index]!;
    if (cause !== unknown) {
      counts[cause]!++;
      if (latest[cause] === -1 || failures.isLater(index, latest[cause]!)) latest[cause] = index;
    } else if (withUnknown) {
      alone.push({ fingerprint: UNKNOWN_CAUSE, cause: -1, count: 1, latest: index });
    }
  }
  const known = fingerprints.flatMap((fingerprint, cause) =>
    cause === unknown ? [] : [{ fingerprint, cause, count: counts[cause]!, latest: latest[cause]! }]
  );
  return [...known, ...alone];
}

/** The failures of each group, oldest run first. */
function membersOf(failures: FailureColumns, groups: readonly Group[]): Int32Array[] {
  const members = groups.map(({ count, latest }) => new Int32Array(count).fill(latest));
  const placeOf = new Int32Array(failures.fingerprints.length).fill(-1);
  for (const [place, { cause }] of groups.entries()) if (cause >= 0) placeOf[cause] = place;
  const next = new Int32Array(groups.length);
  for (let index = 0; index < failures.length; index++) {
    const place = placeOf[failures.causes[index]!]!;
    if (place >= 0) members[place]![next[place]!++] = index;
  }
  return members;
}

function summarize(
  { fingerprint, count, latest }: Group,
  { failures, members, runs }: {
    failures: FailureColumns;
    members: Int32Array;
    runs: readonly FailedRun[];
  },
) {
  const branches = new Set<string>();
  let disruptionCount = 0;
  let run = -1;
  for (const index of members) {
    disruptionCount += failures.disruptions[index]!;
    if (failures.runs[index] === run) continue;
    run = failures.runs[index]!;
    const { branch } = runs[run]!;
    if (branch) branches.add(branch);
  }
  return {
    fingerprint,
    latest,
    count,
    disruptionCount,
    firstRecordedAt: runs[failures.runs[members[0]!]!]!.recordedAt,
    lastRecordedAt: runs[failures.runs[latest]!]!.recordedAt,
    branches: [...branches].sort(),
  };
}

function testsOf(
  { failures, members, idOf }: {
    failures: FailureColumns;
    members: Int32Array;
    idOf: (test: number) => string;
  },
) {
  const counts = new Uint32Array(failures.testNos.length);
  const failed: number[] = [];
  for (const index of members) {
    const test = failures.tests[index]!;
    if (counts[test]!++ === 0) failed.push(test);
  }
  // Leaves few ids to compare.
  const least = Uint32Array.from(failed, (test) => counts[test]!).sort().at(-MAX_TESTS) ?? 0;
  const tests = failed.filter((test) => counts[test]! >= least)
    .map((test) => ({ id: idOf(test), count: counts[test]! }))
    .sort((a, b) => b.count - a.count || (a.id < b.id ? -1 : 1));
  return { tests: tests.slice(0, MAX_TESTS).map(({ id }) => id), testCount: failed.length };
}
