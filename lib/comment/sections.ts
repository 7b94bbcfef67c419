/**
 * The comment on a pull request: a section for each job, as Markdown between hidden markers, under a
 * first line that adds them up. Jobs that know nothing of each other write it: each reads the comment,
 * replaces its own section and keeps the others.
 *
 * {@linkcode mergeSections} is commutative, associative and idempotent, so that the order in which jobs
 * merge what they have read does not matter.
 */
import * as v from "valibot";
import { compareTexts, plural } from "../base/text.ts";
import { sayBlameCounts } from "../evidence/said.ts";
import { decodeHidden, encodeHidden } from "./hidden_json.ts";
import {
  countTests,
  cutKeys,
  failedKeys,
  MAX_KEYS,
  maxKeys,
  ownLines,
  shareLines,
} from "./shared_tests.ts";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

const META = v.object({
  job: v.string(),
  /** Its workflow, where the name of the job does not have it: another one may give it to a job, too. */
  workflow: v.optional(v.pipe(v.string(), v.maxLength(500))),
  /** Number of the run, and of its attempt: the last run of a job counts. */
  run: v.strictTuple([count, count]),
  /** Distinguishes jobs of one name in one run, such as the jobs of a matrix; `""` when unknown. */
  runner: v.string(),
  /** Seconds since 1970. */
  writtenAt: count,
  failed: count,
  /** Failed tests that are probably due to the change. */
  yours: count,
  /** Failed tests whose cause is unclear. */
  unclear: v.optional(count, 0),
  /** Failed tests without a verdict, because the service did not answer. */
  unknown: count,
  /** Tests that failed and passed on a retry. */
  flaky: count,
  /** Reports that cannot be read, and failures outside of tests. */
  broken: count,
  /** Keys of its tests; of an earlier version without. */
  tests: v.optional(v.pipe(v.string(), v.maxLength(1_000))),
  /** Whether not all tests ran. */
  isPart: v.optional(v.boolean()),
  /** Whether it ended red without a failed test. */
  isRed: v.optional(v.boolean()),
  /** Keys of tests that failed in earlier runs of the job, and have not passed since. */
  missed: v.optional(v.pipe(v.string(), v.maxLength(1_000))),
  /** Whether more tests failed in earlier runs of the job than there are keys of. */
  hasMore: v.optional(v.boolean()),
});

/** The section of one job. */
export interface Section extends v.InferOutput<typeof META> {
  /** Markdown in which every untrusted text is inert. */
  text: string;
  /** Whether a test passed, by its key: known of this very run only, and not written. */
  hasPassed?: (key: string) => boolean;
  /** Whether it only replaces what an earlier run said; not written either. */
  onlyReplaces?: boolean;
}

/** The comment's first line, by which it is found again. Untrusted text cannot contain it. */
export const COMMENT_MARK = "<!-- test-analytics -->";

const SECTION_END = "<!-- test-analytics end -->";
const SECTION = new RegExp(
  `<!-- test-analytics section ([A-Za-z0-9_-]+) -->\n([^]*?)\n${SECTION_END}`,
  "g",
);

/** GitHub accepts 65,536 characters, GitLab and Forgejo more. */
export const MAX_COMMENT_CHARACTERS = 60_000;

// Each takes about 300 characters even if its text is cut.
const MAX_SECTIONS = 100;

const CUT = "\n- and more, which did not fit";

/** Whether a job has anything to report; the section of one that has not only replaces an earlier one. */
export function isNoteworthy({ failed, flaky, broken, isRed }: Section): boolean {
  return failed + flaky + broken > 0 || isRed === true;
}

/** Keys of tests that failed in sections which one replaces, and that have not passed in its run. */
export function missedTests(
  { hasPassed = () => false }: Section,
  replaced: readonly Section[],
): string {
  const failed = replaced.flatMap(({ tests = "", missed = "" }) => [
    ...failedKeys(tests),
    ...failedKeys(missed),
  ]);
  return cutKeys([...new Set(failed)].filter((key) => !hasPassed(key)).sort().join(""), MAX_KEYS);
}

/** Whether sections which one replaces had more failed tests than they have keys of. */
export function hasMoreFailed(replaced: readonly Section[]): boolean {
  return replaced.some(({ failed, tests, hasMore }) =>
    hasMore || tests !== undefined && failed > failedKeys(tests).length
  );
}

/** The sections of a comment. What is not as this module writes it is left out. */
export function parseComment(body: string): Section[] {
  const sections: Section[] = [];
  // Editing a comment in a browser changes its line ends.
  for (const [, meta = "", text = ""] of body.replaceAll("\r\n", "\n").matchAll(SECTION)) {
    const parsed = v.safeParse(META, decodeHidden(meta));
    if (parsed.success) sections.push({ ...parsed.output, text: ownLines(text) });
  }
  return sections;
}

/** The sections of the last run of each job, one for each runner; sorted. */
export function mergeSections(sections: readonly Section[]): Section[] {
  const kept = sections.filter((section) => !sections.some((other) => replaces(other, section)));
  const distinct = new Map(kept.map((section) => [keyOf(section), section]));
  return [...distinct.values()].sort((a, b) => compareTexts(keyOf(a), keyOf(b)));
}

/** Whether a section takes the place of another: of a later run, or a later one of the same run. */
export function replaces(section: Section, other: Section): boolean {
  if (section.job !== other.job || section.workflow !== other.workflow) return false;
  const order = compareRuns(section.run, other.run);
  if (order !== 0) return order > 0;
  if (section.runner !== other.runner) return false;
  if (section.writtenAt !== other.writtenAt) return section.writtenAt > other.writtenAt;
  // Which of the two does not matter, but every job has to choose the same.
  return section.text > other.text;
}

function compareRuns([aRun, aAttempt]: Section["run"], [bRun, bAttempt]: Section["run"]): number {
  return aRun - bRun || aAttempt - bAttempt;
}

function keyOf({ job, workflow = "", runner }: Section): string {
  return JSON.stringify([job, workflow, runner]);
}

/** Whether two lists of merged sections belong to the same runs. */
export function areSameRuns(a: readonly Section[], b: readonly Section[]): boolean {
  const runsOf = (sections: readonly Section[]) =>
    JSON.stringify(
      sections.map(({ job, workflow, run, runner, writtenAt }) => [
        job,
        workflow,
        run,
        runner,
        writtenAt,
      ]),
    );
  return runsOf(a) === runsOf(b);
}

/** The comment with these sections, which are merged already; at most 60,000 characters. */
export function commentBody(sections: readonly Section[]): string {
  const shown = mostImportant(sections);
  const texts = shareLines(shown);
  const head = `${COMMENT_MARK}\n**${headline(sections, RESOLVED)}**`;
  const frames = shown.map((section) => {
    const { text: _, hasPassed: _unknown, onlyReplaces: _own, ...meta } = section;
    if (meta.tests !== undefined) meta.tests = cutKeys(meta.tests, maxKeys(shown.length));
    return `\n\n<!-- test-analytics section ${encodeHidden(meta)} -->\n\n${SECTION_END}`;
  });
  const room = MAX_COMMENT_CHARACTERS - head.length - frames.join("").length;
  const limit = equalLimit(texts.map(({ length }) => length), room);
  const parts = texts.map((text, index) =>
    frames[index]!.replace("-->\n", () => `-->\n${cutLines(text, limit)}`)
  );
  return head + parts.join("");
}

/** A comment is written only if something failed, so one whose jobs are all green had failures before. */
const RESOLVED = "Resolved: the tests that failed here pass.";

/**
 * `4 tests failed: 1 is probably yours, 1 is unclear, 2 are not.` A test of several jobs counts once.
 *
 * @param green what is said if all tests passed
 */
export function headline(sections: readonly Section[], green = "No test failed."): string {
  const where = (count: number) => sections.length === 1 ? "" : ` in ${plural(count, "job")}`;
  const red = sections.filter(({ isRed }) => isRed).length;
  const partial = sections.filter(({ isPart }) => isPart).length;
  return [
    ...red === 0 ? [] : [`Ended red without a failed test${where(red)}.`],
    ...partial === 0 ? [] : [`Not all tests ran${where(partial)}.`],
    countsOf(sections, green),
  ].join(" ");
}

function countsOf(sections: readonly Section[], green: string): string {
  const { flaky, unknown, notYours, ...blamed } = countTests(sections.map((section) => {
    const { failed, yours, unclear, unknown, flaky, tests } = section;
    const notYours = failed - yours - unclear - unknown;
    return { counts: { yours, unclear, unknown, notYours, flaky }, tests };
  }));
  const broken = sections.reduce((total, section) => total + section.broken, 0);
  const incomplete = broken === 0 ? "" : ` ${plural(broken, "problem")} of the reports.`;
  if (blamed.yours + blamed.unclear + unknown + notYours === 0) {
    const isDoubtful = sections.some(({ isRed, isPart, hasMore }) => isRed || isPart || hasMore);
    const missed = new Set(sections.flatMap(({ missed = "" }) => failedKeys(missed))).size;
    if (flaky === 0 && missed > 0) {
      return `No test failed. ${
        plural(missed, "test")
      } that failed before did not run.${incomplete}`;
    }
    if (flaky === 0 && isDoubtful) return `No test failed.${incomplete}`;
    if (flaky === 0) return incomplete.trim() || green;
    return `No test failed. ${plural(flaky, "test")} passed only on a retry.${incomplete}`;
  }
  return sayBlameCounts({ ...blamed, not_yours: notYours }, { unknown }) + incomplete;
}

/** If there are too many sections: first the ones that still report something, then the last runs'. */
function mostImportant(sections: readonly Section[]): Section[] {
  if (sections.length <= MAX_SECTIONS) return [...sections];
  const chosen = sections
    .toSorted((a, b) =>
      Number(isNoteworthy(b)) - Number(isNoteworthy(a)) || compareRuns(b.run, a.run)
    )
    .slice(0, MAX_SECTIONS);
  return sections.filter((section) => chosen.includes(section));
}

/** The largest length to which texts can be cut so that they fit together. */
function equalLimit(lengths: readonly number[], room: number): number {
  let rest = room;
  for (const [index, length] of lengths.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(rest / (lengths.length - index));
    if (length > share) return share;
    rest -= length;
  }
  return Infinity;
}

/** The first lines of a text: a line that is cut could end inside of code. */
function cutLines(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = text.lastIndexOf("\n", limit - CUT.length);
  return end === -1 ? "" : text.slice(0, end) + CUT;
}
