// Tests: tests/lib/cli/commands/comment_test.ts tests/lib/cli/commands/gate_test.ts
/** The output of the gate: the failed tests with their verdicts, what was excused, the exit code. */
import * as v from "valibot";
import { compareVerdicts, NEW_CAUSE, VERDICTS } from "../analysis/verdict.ts";
import type { TestIdentity } from "../base/identity.ts";
import { isMassFailure, type TestCounts } from "../analysis/test_counts.ts";
import { cutText, fullTestName, markdownCode, markdownLink, plural } from "../base/text.ts";
import { formatTimestamp, parseTimestamp, SECONDS_PER_DAY } from "../base/time.ts";
import { type TimeZone, UTC } from "../base/time_zone.ts";
import { EVIDENCE, type MassFailure } from "../evidence/evidence.ts";
import { sayBlames, sayConclusion, sayDay } from "../evidence/said.ts";
import { BLAMES, SHARE_SOURCES } from "../evidence/shares.ts";
import {
  type decideExitCode,
  type GateInput,
  hasNewCause,
  IDENTITY,
  identityKey,
  isExcusable,
  notWhole,
  type QuarantinedTest,
  quarantineOf,
} from "./rule.ts";
import { compareWithEarlier } from "./whole_run.ts";

/** Limit of the Markdown. GitHub allows 1 MiB for a job summary and 65,536 for a comment. */
const MAX_MARKDOWN_CHARACTERS = 64_000;

/** Longer names are cut in the Markdown. */
const NAME_CHARACTERS = 200;

/** Limit of each list of tests, except the failed ones. */
const MAX_NAMED = 20;

const FAILURE = v.nullable(v.object({ recorded_at: v.string(), build_url: v.string() }));

/** The service's verdict on a failed test. */
export const SERVICE_VERDICT = v.object({
  id: v.string(),
  ...IDENTITY,
  verdict: v.picklist(VERDICTS),
  disruptiveness_ratio: v.number(),
  recent_nondeterministic_negative_result: FAILURE,
  recent_base_negative_result: FAILURE,
  causes: v.array(v.string()),
  // A service of an earlier version has none of these.
  owners: v.optional(v.array(v.string()), []),
  evidence: v.optional(v.picklist(EVIDENCE)),
  blame: v.optional(v.picklist(BLAMES)),
  share: v.nullish(v.number()),
  share_of: v.nullish(v.number()),
  share_not_the_change: v.nullish(v.number()),
  share_from: v.nullish(v.picklist(SHARE_SOURCES)),
  evidence_url: v.optional(v.string(), ""),
  evidence_recorded_at: v.nullish(v.string()),
  base_run_count: v.optional(v.number(), 0),
  base_failed_count: v.optional(v.number(), 0),
});
export type ServiceVerdict = v.InferOutput<typeof SERVICE_VERDICT>;

/** Another run in which many tests failed: an outage, or one change alone. */
export const MASS_FAILURE_RUN = v.object({
  recorded_at: v.string(),
  build_url: v.string(),
  branch: v.string(),
  failed_test_count: v.number(),
  ran_test_count: v.number(),
});
export type MassFailureRun = v.InferOutput<typeof MASS_FAILURE_RUN>;

/** The outcome of a run, with the field names of the JSON. */
export type GateSummary = ReturnType<typeof summarize>;

type FailedTest = GateSummary["failed"][number];

const ENDS_SOON_SECONDS = 7 * SECONDS_PER_DAY;

/**
 * Composes the outcome.
 *
 * @param options.repository `""` when unknown
 * @param options.verdicts by `identityKey`; `null` when the request failed
 * @param options.problem why a request failed; `null` when none did
 */
export function summarize(
  input: GateInput,
  decision: ReturnType<typeof decideExitCode>,
  { repository, base, verdicts, otherMassFailures, problem, dryRun, hasPassed }: {
    repository: string;
    /** The base branch; `""` where no upload names its branch. */
    base: string;
    verdicts: ReadonlyMap<string, ServiceVerdict> | null;
    /** Of the last two hours. */
    otherMassFailures: readonly MassFailureRun[];
    problem: string | null;
    dryRun: boolean;
    hasPassed(test: TestIdentity): boolean;
  },
) {
  const { testsExitCode, failed, now } = input;
  const quarantined = [...input.quarantined?.values() ?? []]
    .filter((test) => quarantineOf(test, input) !== undefined);
  const soon = formatTimestamp(now + ENDS_SOON_SECONDS);
  return {
    repository,
    exit_code: dryRun ? testsExitCode : decision.exitCode,
    tests_exit_code: testsExitCode,
    is_excused: decision.isExcused,
    dry_run: dryRun,
    reason: decision.reason,
    expected_test_count: input.earlier?.expectedTestCount ?? null,
    not_whole: notWhole(input),
    failed_without_test: !input.isCodeFromReports && testsExitCode !== 0 && isWithoutFailure(input),
    headline: headlineOf(failed, verdicts),
    mass_failure: input.massFailure,
    outage: isMassFailure(input.counts)
      ? {
        kind: input.massFailure,
        failed_test_count: input.counts.failed,
        ran_test_count: input.counts.ran,
        other_runs: otherMassFailures,
      }
      : null,
    note: decision.isExcused ? compareWithEarlier(input).unchecked : null,
    failed: failed.map(({ bySubtest, hasPassed: _, fingerprint, otherFingerprints, ...test }) => {
      const quarantine = quarantineOf(test, input);
      const known = verdicts?.get(identityKey(test));
      // The list of quarantined tests decides; it may be older than the verdict.
      const verdict = known?.verdict === "quarantined" ? "known" : known?.verdict;
      const failedTest = {
        ...test,
        fingerprint,
        ...otherFingerprints && { otherFingerprints },
        ...bySubtest && { bySubtest },
      };
      return {
        ...test,
        id: idOf(known),
        // A test that failed only with its quarantined subtests counts as one of them.
        verdict: isExcusable(failedTest, input)
          ? "quarantined"
          : hasNewCause(failedTest, input)
          ? NEW_CAUSE
          : verdict ?? (verdicts ? "new" : "unknown"),
        fingerprint,
        ...conclusionOf(known, base),
        disruptiveness_ratio: known && known.verdict !== "new" ? known.disruptiveness_ratio : null,
        recent_nondeterministic_negative_result: known?.recent_nondeterministic_negative_result ??
          null,
        recent_base_negative_result: known?.recent_base_negative_result ?? null,
        quarantine_owner: quarantine?.quarantine_owner ?? null,
        owners: known?.owners ?? [],
      };
    }),
    passed: quarantined.filter(hasPassed),
    ending: quarantined.filter(({ quarantine_expires_at: end }) => end !== null && end <= soon),
    problem,
  };
}

/** Tab-separated cells. */
type Line = (string | number | null)[];

/** The outcome as lines of text. */
export function summaryLines(summary: GateSummary): Line[] {
  const { failed, passed, ending, outage, note } = summary;
  return [
    ...incomplete(summary),
    ...failed.some(({ blame }) => blame !== null) ? [[summary.headline]] : [],
    ...outage ? [[outage.kind ?? "many failed", massFailureText(outage)]] : [],
    ...outage?.other_runs.slice(0, MAX_NAMED).map((run): Line => [
      "many failed elsewhere",
      `${run.failed_test_count} of ${run.ran_test_count} tests`,
      run.branch,
      run.recorded_at,
      run.build_url,
    ]) ?? [],
    ...failed.map((test): Line => {
      const last = lastFailure(test);
      const when = [last?.recorded_at ?? "", last?.build_url ?? ""];
      return [
        test.verdict,
        fullTestName(test),
        percentage(test),
        ...when,
        ...test.said === "" ? [] : [test.said],
      ];
    }),
    ...named("passed", passed, () => "quarantined"),
    ...named("ends", ending, (test) => test.quarantine_expires_at),
    ...summary.is_excused ? [["excused", failed.length]] : [],
    ...note === null ? [] : [["note", note]],
    [`exit code ${summary.exit_code}`, conclusion(summary)],
  ];
}

/** Whether no report has a failure, neither of a test nor outside of one. */
export function isWithoutFailure(
  { counts, reports }: Pick<GateInput, "counts"> & {
    reports: readonly Pick<GateInput["reports"][number], "failuresOutsideTests">[];
  },
): boolean {
  return counts.failed === 0 &&
    reports.every(({ failuresOutsideTests }) => failuresOutsideTests.length === 0);
}

/** What is known to be missing from the reports: said before everything else. */
function incomplete(
  { failed_without_test, not_whole, tests_exit_code }: Pick<
    GateSummary,
    "failed_without_test" | "not_whole" | "tests_exit_code"
  >,
): [what: string, text: string][] {
  return [
    ...failed_without_test
      ? [["red without a failed test", `exit code ${tests_exit_code}`] as [string, string]]
      : [],
    ...not_whole === null ? [] : [["not whole", not_whole] as [string, string]],
  ];
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * The outcome as Markdown, new failures first. `pagesUrl`: base URL of links to the pages of tests, none
 * if `""`.
 */
export function summaryMarkdown(summary: GateSummary, pagesUrl = ""): string {
  const { passed, ending, repository, problem, outage, note } = summary;
  const failed = summary.failed.toSorted((a, b) => compareVerdicts(a.verdict, b.verdict));
  const head = [
    `### Test gate${repository && `: ${markdownCode(repository)}`}`,
    ...incomplete(summary).map(([what, text]) => `**${capitalized(what)}**: ${markdownCode(text)}`),
    ...summary.failed.length === 0 ? [] : [`**${summary.headline}**`],
    `**Exit code ${summary.exit_code}**: ${markdownCode(conclusion(summary))}`,
    ...outage
      ? [
        `**${outage.kind === "outage" ? "Outage" : "Many tests failed"}**: ${
          massFailureText(outage)
        }.${otherRunsMarkdown(outage)}`,
      ]
      : [],
    ...problem === null ? [] : [markdownCode(problem)],
    ...note === null ? [] : [markdownCode(note)],
  ].join("\n\n");
  const lists = [
    markdownList("Quarantined tests that passed", passed, () => ""),
    markdownList(
      "Quarantines that end within 7 days",
      ending,
      ({ quarantine_expires_at: end }) => `: ${end}`,
    ),
  ].join("");
  let table = "";
  if (failed.length > 0) {
    table =
      "\n\n| verdict | failed test | whose | disruptive | last | owner |\n| --- | --- | --- | --- | --- | --- |";
  }
  let rest = MAX_MARKDOWN_CHARACTERS - head.length - table.length - lists.length - 100;
  for (const [index, test] of failed.entries()) {
    const row = `\n${markdownRow(test, pagesUrl)}`;
    rest -= row.length;
    if (rest < 0) {
      table += `\n\nand ${failed.length - index} more failed tests`;
      break;
    }
    table += row;
  }
  return `${head}${table}${lists}\n`.slice(0, MAX_MARKDOWN_CHARACTERS);
}

type MassFailureCounts = NonNullable<GateSummary["outage"]>;

function massFailureText(
  { kind, failed_test_count, ran_test_count, other_runs }: MassFailureCounts,
): string {
  return describeMassFailure({ failed: failed_test_count, ran: ran_test_count }, kind, other_runs)!;
}

/** What the number of failed tests means; `null` if it is not unusual. */
export function describeMassFailure(
  counts: Pick<TestCounts, "ran" | "failed">,
  kind: MassFailure | null,
  otherRuns: readonly MassFailureRun[],
): string | null {
  if (!isMassFailure(counts)) return null;
  const count = `${counts.failed} of ${counts.ran} tests failed`;
  if (kind === null) return `${count}, too many at once to excuse any`;
  if (kind === "together") {
    return `${count} together, with this change alone, so it is the probable cause`;
  }
  const others = otherRuns.length === 0
    ? "no other run of the last two hours failed like this"
    : `${plural(otherRuns.length, "other run")} of the last two hours failed like this`;
  return `${count}, so the change is probably not the cause; ${others}`;
}

/** Who is to look at a failure: the owner of the quarantine, otherwise the owners of the file. */
export function ownersOf(
  { quarantine_owner: owner, owners }: Pick<FailedTest, "quarantine_owner" | "owners">,
): string[] {
  return owner ? [owner] : owners;
}

/** The id of a test that the service knows: it answers about new ones, too, without their names. */
export function idOf(known: ServiceVerdict | undefined): string | null {
  return known && known.name + known.class + known.suite !== "" ? known.id : null;
}

/** Whose the failures are. */
function headlineOf(
  failed: readonly TestIdentity[],
  verdicts: ReadonlyMap<string, ServiceVerdict> | null,
): string {
  const blames = failed.flatMap((test) => verdicts?.get(identityKey(test))?.blame ?? []);
  return sayBlames(blames, { unknown: failed.length - blames.length });
}

/** The evidence for a failure, and what it says. */
function conclusionOf(known: ServiceVerdict | undefined, base: string) {
  const { evidence, blame } = known ?? {};
  const none = { evidence: null, blame: null, share: null, share_of: null, share_from: null };
  if (!known || !evidence || !blame) return { ...none, evidence_url: "", said: "" };
  return {
    evidence,
    blame,
    share: known.share ?? null,
    share_of: known.share_of ?? null,
    share_from: known.share_from ?? null,
    evidence_url: known.evidence_url,
    said: sayVerdict(known, { base, zone: UTC }),
  };
}

/** The conclusion of the service as a sentence; `""` when it has none. */
export function sayVerdict(
  known: ServiceVerdict | undefined,
  { base, zone }: { base: string; zone: TimeZone },
): string {
  const { evidence, blame, share_of: of, share_from: from, share_not_the_change: part } = known ??
    {};
  if (!known || !evidence || !blame) return "";
  const at = known.evidence_recorded_at;
  return sayConclusion({
    evidence,
    blame,
    share: of && from ? { notTheChange: part ?? 0, of, from } : null,
    baseRunCount: known.base_run_count,
    baseFailedCount: known.base_failed_count,
  }, { base, lastOn: at ? sayDay(parseTimestamp(at), zone) : "" });
}

function otherRunsMarkdown({ other_runs }: MassFailureCounts): string {
  return other_runs.slice(0, MAX_NAMED).map((run) => {
    const text = run.recorded_at.replace("T", " ").replace("Z", "");
    return `\n- ${markdownLink(text, run.build_url)} ${run.branch && markdownCode(run.branch)}`;
  }).join("");
}

function conclusion({ exit_code, tests_exit_code, is_excused, dry_run, reason }: GateSummary) {
  if (is_excused && dry_run) return `would be 0 without --dry-run: ${reason}`;
  return exit_code === tests_exit_code ? reason : `instead of ${tests_exit_code}: ${reason}`;
}

/** The last disruption, otherwise the last failure on the base branch. */
function lastFailure(test: FailedTest) {
  return test.recent_nondeterministic_negative_result ?? test.recent_base_negative_result;
}

function percentage({ disruptiveness_ratio: ratio }: FailedTest): string {
  return ratio === null ? "" : `${Math.round(ratio * 1000) / 10} %`;
}

function markdownRow(test: FailedTest, pagesUrl: string): string {
  const last = lastFailure(test);
  const name = markdownCode(cutText(fullTestName(test), NAME_CHARACTERS));
  const cells = [
    test.verdict,
    pagesUrl === "" || test.id === null ? name : markdownLink(name, `${pagesUrl}/tests/${test.id}`),
    test.said === "" ? "" : markdownCode(test.said),
    percentage(test),
    last ? markdownLink(last.recorded_at.replace("T", " ").replace("Z", ""), last.build_url) : "",
    ownersOf(test).map((owner) => markdownCode(owner)).join(", "),
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function markdownList(
  title: string,
  tests: readonly QuarantinedTest[],
  suffix: (test: QuarantinedTest) => string,
): string {
  if (tests.length === 0) return "";
  const items = tests.slice(0, MAX_NAMED)
    .map((test) => {
      const name = markdownCode(cutText(fullTestName(test), NAME_CHARACTERS));
      return `- ${name}${suffix(test)}`;
    });
  if (tests.length > MAX_NAMED) items.push(`- and ${tests.length - MAX_NAMED} more`);
  return `\n\n${title}:\n\n${items.join("\n")}`;
}

function named(
  word: string,
  tests: readonly QuarantinedTest[],
  note: (test: QuarantinedTest) => string | null,
): Line[] {
  const lines = tests.slice(0, MAX_NAMED)
    .map((test): Line => [word, fullTestName(test), note(test)]);
  return tests.length > MAX_NAMED
    ? [...lines, [word, `and ${tests.length - MAX_NAMED} more`]]
    : lines;
}
