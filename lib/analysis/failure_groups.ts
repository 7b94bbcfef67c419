/** Groups failures by cause: their messages are equal except for values that vary from run to run. */
import { createHash } from "node:crypto";
import { firstLine } from "../report/junit/bounded_text.ts";

/** Text that is replaced because it varies, or kept although a later rule would match it. */
interface CauseRule {
  /** As in the reference. */
  name: string;
  /** Has no capturing groups; the case is ignored. Takes linear time: any text comes here. */
  pattern: RegExp;
  /** `null` when the text stays. */
  replacement: string | null;
}

const { raw } = String;

// Text between the two numbers of a comparison: " == ", "> but was: <".
const GAP = raw`[^\w]{1,5}(?:(?:actual|be|but|code|deeply|equal|expected|got|instead|is|not|of|` +
  raw`received|returned|status|than|to|vs|want|was)[^\w]{1,5}){0,5}`;
const HTTP_STATUS = raw`[1-5]\d\d(?!\w|[.,]\d)`;
const COMMON_HTTP_STATUS = raw`(?:20[0-6]|30[1-478]|4[01]\d|42[2-9]|50[0-4])(?!\w|[.,]\d)`;

const CLOCK = raw`\d\d:\d\d:\d\d(?:[.,]\d+)?`;
const ZONE = raw`(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)(?!\w)){0,2}`;
const DAY = raw`(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? `;
const MONTH = raw`(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)`;

const FILE_NAME = raw`[a-z_-]+(?:\.[a-z]+)+(?![\w.\\/-])`;
const TEMPORARY_FOLDER = raw`(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)|` +
  raw`[a-z]:[\\/]Users[\\/][^\s\\/]{1,64}[\\/]AppData[\\/]Local[\\/]Temp|` +
  raw`[a-z]:[\\/](?:Windows[\\/])?Temp`;

const IP_V6 = raw`(?:[\da-f]{1,4}(?::[\da-f]{1,4}){0,6})?::(?=[a-f:]*\d)` +
  raw`[\da-f]{1,5}(?::[\da-f]{1,5}){0,7}(?!\w)`;

// Digits on both sides of letters, or many characters without a separator.
const RANDOM_LOOKING = raw`(?:(?=[\w.+=~-]{0,99}?\d[a-z]{1,30}\d)[\w.+=~-]{8,128}|` +
  raw`(?=[a-z]*\d)[a-z\d]{20,128})`;

/** In the order in which they are tried at each place of a text, which only one rule matches. */
export const CAUSE_RULES: readonly CauseRule[] = [
  {
    name: "HTTP status",
    pattern: new RegExp(
      raw`(?<![a-z])(?:HTTP(?:/\d(?:\.\d)?)?|status(?:[ _-]?code)?|response[ _-]?code|<Response)${GAP}` +
        raw`${HTTP_STATUS}(?:${GAP}${HTTP_STATUS})?|` +
        raw`(?<![\w.,])${COMMON_HTTP_STATUS}${GAP}${COMMON_HTTP_STATUS}`,
    ),
    replacement: null,
  },
  {
    name: "exit or error code",
    pattern: new RegExp(
      raw`(?<![a-z])(?:exit(?:ed)?(?: with)?(?:[ _-]?(?:code|status))?|return[ _-]?code|error[ _-]?code|` +
        raw`errno|os error|signal|SQLSTATE|HRESULT)[ :=#([]{1,4}-?(?:0x[\da-f]+|` +
        raw`(?=[a-z]{0,4}\d)[a-z\d]{1,11})(?!\w)|(?<!\w)(?:CS\d{4}|E\d{4,5}|ORA-\d{5}|TS\d{4,5})(?!\w)`,
    ),
    replacement: null,
  },
  {
    name: "name with a number",
    pattern: new RegExp(
      raw`(?<![a-z\d])(?:u?int(?:8|16|32|64)|float(?:32|64)|[fiu](?:8|16|32|64|128)|utf-?(?:8|16|32)|` +
        raw`sha-?(?:1|256|384|512)|md5|base(?:32|64)|(?:aarch|amd|arm|x86_)64|x(?:64|86)|ipv[46]|` +
        raw`http/[123]|oauth2|s3)(?![a-z\d])`,
    ),
    replacement: null,
  },
  {
    name: "time stamp",
    pattern: new RegExp(
      raw`\d{4}(?:-\d\d-|/\d\d/)\d\d` +
        raw`(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?${ZONE})?(?!\w)|` +
        raw`\d{8}T\d{6}Z?(?!\w)|${CLOCK}${ZONE}(?!\w)|` +
        raw`(?<!\w)(?:${DAY})?(?:\d\d? ${MONTH}|${MONTH} \d\d?),? ` +
        raw`(?:\d{4}(?:,? ${CLOCK})?|${CLOCK} \d{4})${ZONE}(?!\w)`,
    ),
    replacement: "<time>",
  },
  {
    name: "UUID",
    pattern: /(?<![a-z\d])[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}(?![a-z\d])/,
    replacement: "<uuid>",
  },
  {
    name: "temporary path",
    pattern: new RegExp(
      raw`(?<![\w.-])(?:${TEMPORARY_FOLDER})(?![\w.-])` +
        raw`(?:[\\/](?!${FILE_NAME})[^\s\\/"'\x60:;,()<>|*?[\]{}]+)*`,
    ),
    replacement: "<tmp>",
  },
  {
    name: "quoted random-looking value",
    pattern: new RegExp(
      [`"`, `'`, "`"].map((quote) => quote + RANDOM_LOOKING + quote).join("|"),
    ),
    replacement: `"<value>"`,
  },
  {
    name: "address",
    pattern: new RegExp(
      raw`(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)(?::\d{1,5}(?!\w))?|` +
        raw`\[(?:[\da-f]{0,4}:){2,7}[\da-f.]{0,15}\](?::\d{1,5}(?!\w))?|(?<![\w:])${IP_V6}`,
    ),
    replacement: "<address>",
  },
  {
    name: "hexadecimal number",
    pattern: new RegExp(
      raw`(?<![a-z\d])(?:0x[\da-f]+|(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{8,})(?![a-z\d])|` +
        raw`(?<=[\w$;\])]@)(?=[a-f]*\d)[\da-f]{1,16}(?![\w.])`,
    ),
    replacement: "<n>",
  },
  {
    name: "duration",
    pattern: new RegExp(
      raw`(?<!\w)(?:\d+(?:,\d{3}(?!\d))*(?:\.\d+)?(?: ?(?:nanoseconds?|microseconds?|milliseconds?|` +
        raw`seconds?|minutes?|hours?|days?|msecs?|secs?|mins?|hrs?|ns|us|\xb5s|\u03bcs|ms)|[smhd]))+(?!\w)`,
    ),
    replacement: "<duration>",
  },
  {
    name: "number",
    pattern: /(?:(?<=^|[\s([{<=:,])[+-])?\d+(?:,\d{3}(?!\d))*(?:\.\d+)*(?:e[+-]?\d+(?!\w))?/,
    replacement: "<n>",
  },
  { name: "white space", pattern: /\s{2,}|[^\S ]/, replacement: " " },
];

const ANY_RULE = new RegExp(
  CAUSE_RULES.map(({ pattern }) => `(${pattern.source})`).join("|"),
  "gi",
);

/** The message of a failure, otherwise the first line of its body, with varying text replaced. */
export function failureCause(message: string, body: string): string {
  const text = message || firstLine(body);
  let cause = "";
  let at = 0;
  for (const match of text.matchAll(ANY_RULE)) {
    const rule = CAUSE_RULES[match.indexOf(match[0], 1) - 1]!;
    cause += text.slice(at, match.index) + (rule.replacement ?? match[0]);
    at = match.index + match[0].length;
  }
  return cause + text.slice(at);
}

/** The public name of a cause: 16 hex digits. */
export function fingerprint(cause: string): string {
  return createHash("sha256").update(cause).digest("hex").slice(0, 16);
}

export interface FailedAttempt {
  /** Of its cause. */
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
 * all. Ties go to the latest failure, then to the smaller fingerprint. One pass, as there may be 100,000.
 */
export function groupFailures<T extends FailedAttempt>(
  attempts: Iterable<T>,
  testIds: readonly string[],
): { count: number; groups: FailureGroup<T>[] } {
  const groups = new Map<string, Group<T>>();
  for (const attempt of attempts) {
    const { fingerprint, test, branch, recordedAt, isDisruption } = attempt;
    let group = groups.get(fingerprint);
    if (!group) {
      group = {
        fingerprint,
        latest: attempt,
        count: 0,
        disruptionCount: 0,
        firstRecordedAt: recordedAt,
        branches: new Set(),
        tests: [],
      };
      groups.set(fingerprint, group);
    }
    group.count++;
    if (isDisruption) group.disruptionCount++;
    if (attempt.position > group.latest.position) group.latest = attempt;
    if (recordedAt < group.firstRecordedAt) group.firstRecordedAt = recordedAt;
    if (branch !== "") group.branches.add(branch);
    group.tests.push(test);
  }
  const largest = [...groups.values()].sort((a, b) =>
    b.count - a.count || b.latest.recordedAt - a.latest.recordedAt ||
    (a.fingerprint < b.fingerprint ? -1 : 1)
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
  /** Of each failure. */
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
