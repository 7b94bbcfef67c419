import { appendFile } from "node:fs/promises";
import * as v from "valibot";
import {
  DEFAULT_API_URL,
  pagesUrlOf,
  TOKEN_VARIABLE,
  URL_VARIABLE,
} from "../../api_client/api_settings.ts";
import { setting } from "../../base/config.ts";
import { readWith } from "../../base/read_with.ts";
import { parseTimeZone, type TimeZone, UTC } from "../../base/time_zone.ts";
import { formatRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import { CAUSES, decideExitCode, type GateInput } from "../../gate/rule.ts";
import { DEFAULT_MAX_MISSING, type TestPlace } from "../../gate/whole_run.ts";
import { type GateSummary, summarize, summaryLines, summaryMarkdown } from "../../gate/summary.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import {
  ATTEMPTS,
  flag,
  location,
  oneOf,
  option,
  REPO_OF_JOB,
  REPORTS,
  wholeNumber,
} from "../parameters.ts";
import { readName } from "../../intake/upload_values.ts";
import { ExitWith } from "../errors.ts";
import { UsageError } from "../../base/failure.ts";
import { ASKED_RUN_OPTIONS, givenRun, jobStartOf, noteOnCode } from "../run_options.ts";
import { findCheckout, startLookup } from "../gate_run/lookup.ts";
import {
  annotateFailures,
  COMMENT_VARIABLES,
  commentedRun,
  commentOnPull,
  sectionOfRun,
} from "../gate_run/pull_comment.ts";
import { findMissingPlaces } from "../gate_run/missing_places.ts";
import { readRunReports, snapshotReports } from "../gate_run/run_reports.ts";
import { runCommand } from "../gate_run/run_command.ts";
import { plainLine } from "../output.ts";
import { wrapLine } from "../table.ts";
import { oneLine } from "../../base/text.ts";
import { buildPageOf, showBuildPage } from "../build_link.ts";
import { errorMessage } from "../../base/error.ts";

const exitCode = wholeNumber({ min: 0, max: 255 });

/** `5%`, also without the sign. */
const percentage = v.pipe(
  v.string(),
  v.transform((text) => text.replace(/%$/, "")),
  wholeNumber({ min: 0, max: 100 }),
);

const INPUT = {
  reports: REPORTS,
  attempts: ATTEMPTS,
  repo: REPO_OF_JOB,
  exitCode: option(
    "<n>",
    "exit code of the tests, without COMMAND (default: 1 if a report has a failure, otherwise 0)",
    // A step that did not end has an empty value: it is not the default.
    v.undefinedable(exitCode),
  ),
  failureCodes: option(
    "<n,n>",
    "exit codes that mean failed tests (default: 1; none for Maven and Gradle)",
    v.optional(v.pipe(v.string(), v.transform((text) => text.split(",")), v.array(exitCode))),
  ),
  maxExcused: option(
    "<n>",
    "maximum number of excused tests (default: 10)",
    v.optional(wholeNumber({ min: 0, max: 1_000_000 }), "10"),
  ),
  cause: option(
    "<seen|any>",
    "which failures of a quarantined test are excused: with a cause seen in its disruptions (seen, default), or any",
    v.optional(oneOf(CAUSES), "seen"),
  ),
  maxMissing: option(
    "<n%>",
    "percentage of the tests of the job's earlier runs that may be missing (default: 5%)",
    v.optional(percentage, `${DEFAULT_MAX_MISSING}%`),
  ),
  job: option(
    "<name>",
    "job of the run (default: from the CI job)",
    v.optional(readWith(readName)),
  ),
  ...ASKED_RUN_OPTIONS,
  summary: option(
    "<file>",
    "append the outcome as Markdown (default: GITHUB_STEP_SUMMARY)",
    v.optional(location),
  ),
  comment: flag("comment on the pull request, as `comment` does"),
  dryRun: flag("print the decision, but exit with the tests' own code"),
};

/** `gate`: runs tests, and excuses their failures when all failed tests are quarantined. */
export const gateCommand: AddCommand = command({
  name: "gate",
  summary:
    "Run tests; exit 0 if every failed test is quarantined, otherwise with the tests' own code",
  example: "gate reports/ -- make test",
  moreExamples: ["gate --exit-code 1 reports/"],
  details: [
    "Usage: gate [options] REPORTS... [-- COMMAND...]. Without COMMAND, run it after the tests.",
    `Calls the API at ${URL_VARIABLE} (default: ${DEFAULT_API_URL}) with the token in ` +
    `${TOKEN_VARIABLE}. If that fails, the exit code is the tests' own.`,
    "Failures are excused, with exit code 0, only if the tests ended with one of --failure-codes and " +
    "not by a signal, every file is read, complete and newer than the start of COMMAND, there is no " +
    "failure outside of a test, no mass failure (more than 20 % of at least 20 tests failed), as many tests ran " +
    "as usual in this job, and each failed test is quarantined for this cause or failed only with " +
    "subtests that are. Coverage reports in the folders are skipped. With --json the standard output of COMMAND goes to standard error.",
    "Maven and Gradle (surefire-reports/, failsafe-reports/, test-results/) also exit with 1 after a " +
    "crash. Have them ignore failed tests, and " +
    "run gate after them without --exit-code: mvn -Dmaven.test.failure.ignore=true clean test && " +
    "gate target/surefire-reports/",
  ],
  environment: [
    "PLATFORM_API_TOKEN",
    "PLATFORM_API_TOKEN_FILE",
    "PLATFORM_API_URL",
    "GITHUB_STEP_SUMMARY",
    "TIME_ZONE",
    ...COMMENT_VARIABLES,
  ],
  exitCodes: {
    0: "the tests passed, or every failure is excused",
    2: "usage error, before anything runs",
    other: "the tests' own, even if the service cannot be reached",
  },
  usesDatabase: false,
  input: INPUT,
  async run(options, context) {
    const { afterDashes, io } = context;
    const reports = reportsOf(options, afterDashes);
    const before = afterDashes && await snapshotReports(reports);
    const checkout = findCheckout(io, options.repo, { reports, ...noteOnCode(options, context) });
    const { base } = options;
    const lookup = startLookup(checkout, {
      base,
      environment: io.environment,
      run: givenRun(options, context),
      hasCommand: afterDashes !== null,
    });
    // The command may write files: the code is what it starts with.
    if (afterDashes) await checkout.catch(() => null);
    const end: TestsEnd = afterDashes
      ? await runCommand(afterDashes, { stdoutTo: context.json ? "stderr" : "stdout" })
      : { code: options.exitCode, signal: null };
    let exitCode = end.code ?? 1;
    try {
      const { repository, folder, run: ofCi } = await checkout;
      const { attempts, pathPrefix } = options;
      const checkedOut = { checkoutFolder: folder, pathPrefix };
      const commitOid = options.commit ?? ofCi.commit;
      const jobStart = before ? null : await jobStartOf({ commitOid }, {}, context);
      const run = await readRunReports(reports, { before, jobStart, ...checkedOut, attempts });
      const testsExitCode = end.code ?? (run.isPassed ? 0 : 1);
      const { failed } = run.attempts;
      const found = await lookup.finish({
        exitCode: testsExitCode,
        failed,
        attempts: run.attempts,
      });
      const missing = await findMissingPlaces(found.earlier, { places: run.places, folder });
      const environment = options.environment ?? ofCi.environment;
      const facts = { end, testsExitCode, run, found, missing, environment, now: io.now() };
      const input = gateInput(options, facts);
      const summary = summaryOf(input, { run, found, repository, dryRun: options.dryRun });
      exitCode = summary.exit_code;
      await show(summary, options.summary, context);
      const judged = commentedRun({
        failed: summary.failed,
        notWhole: summary.not_whole,
        redExitCode: summary.failed_without_test ? testsExitCode : null,
      }, { run, found });
      const buildUrl = options.buildUrl ?? ofCi.buildUrl;
      const page = found.problem === null ? buildPageOf({ repository, buildUrl }, context) : "";
      annotateFailures(judged, context);
      if (options.comment) {
        const zone = zoneOfComment(context);
        const section = await sectionOfRun(judged, { named: options, zone, page }, context);
        await commentOnPull(section, { repository }, context);
      }
      await showBuildPage(page, context, { summary: options.summary });
    } catch (error) {
      // An error of the gate must not change the exit code of the tests.
      context.note(`gate: ${errorMessage(error)}`);
    } finally {
      lookup.close();
    }
    throw new ExitWith(exitCode);
  },
});

/** How the tests ended: `code` is absent if only the reports say so. */
interface TestsEnd {
  code?: number | undefined;
  signal: string | null;
}

type RunReports = Awaited<ReturnType<typeof readRunReports>>;
type Found = Awaited<ReturnType<ReturnType<typeof startLookup>["finish"]>>;

/** The arguments before the command. @throws {UsageError} */
function reportsOf(
  { reports: args, exitCode }: { reports: readonly string[]; exitCode?: number | undefined },
  command: readonly string[] | null,
): string[] {
  const reports = args.slice(0, args.length - (command ?? []).length);
  if (reports.length === 0) {
    throw new UsageError("missing REPORTS: expected files, folders or globs");
  }
  if (command?.length === 0) throw new UsageError("missing COMMAND after --");
  if (command && exitCode !== undefined) {
    throw new UsageError("--exit-code: expected only without COMMAND");
  }
  return reports;
}

/** What the rule of the gate decides about. */
function gateInput(
  { failureCodes, maxExcused, cause, maxMissing }: {
    failureCodes?: number[] | undefined;
  } & Pick<GateInput, "maxExcused" | "cause" | "maxMissing">,
  { end, testsExitCode, run, found, missing, environment, now }: {
    end: TestsEnd;
    testsExitCode: number;
    run: RunReports;
    found: Found;
    missing: TestPlace[];
    environment: string;
    now: number;
  },
): GateInput {
  const { attempts: { counts, failed, unclear }, reports } = run;
  return {
    testsExitCode,
    isCodeFromReports: end.code === undefined && end.signal === null,
    // An exit code that follows from the reports means failed tests.
    failureCodes: failureCodes ?? (end.code === undefined ? [1] : null),
    maxExcused,
    cause,
    maxMissing,
    counts,
    massFailure: found.verdicts?.massFailure ?? null,
    earlier: found.earlier,
    missingPlaces: missing,
    environment,
    signal: end.signal ?? found.signal,
    reports,
    failed,
    unclear,
    quarantined: found.quarantined,
    now,
  };
}

function summaryOf(
  input: GateInput,
  { run, found: { verdicts, problem }, repository, dryRun }: {
    run: RunReports;
    found: Found;
    repository: RepositoryName | null;
    dryRun: boolean;
  },
): GateSummary {
  return summarize(input, decideExitCode(input), {
    repository: repository ? formatRepositoryName(repository) : "",
    base: verdicts?.base ?? "",
    verdicts: verdicts?.tests ?? null,
    otherMassFailures: verdicts?.otherMassFailures ?? [],
    problem,
    dryRun,
    hasPassed: (test) => run.attempts.hasPassed(test),
  });
}

/** A wrong time zone must not change the exit code of the tests. */
function zoneOfComment({ io, note }: CommandContext): TimeZone {
  try {
    return parseTimeZone(setting(io.environment, "TIME_ZONE"));
  } catch (error) {
    note(`comment: TIME_ZONE: ${errorMessage(error)}; its days are UTC`);
    return UTC;
  }
}

async function show(
  summary: GateSummary,
  file: string | undefined,
  { io, json, note, afterDashes }: CommandContext,
): Promise<void> {
  if (summary.problem !== null) note(`gate: ${summary.problem}`);
  const lines = summaryLines(summary).flatMap((cells) =>
    io.columns === undefined ? [plainLine(cells)] : terminalLines(cells, io.columns)
  );
  // The output of the tests may end without a line break.
  const start = afterDashes ? "\n" : "";
  await io.stdout(
    json ? `${JSON.stringify(summary)}\n` : start + lines.map((line) => `${line}\n`).join(""),
  );
  const path = file ?? setting(io.environment, "GITHUB_STEP_SUMMARY");
  if (path === "") return;
  await appendFile(path, summaryMarkdown(summary, pagesUrlOf(io.environment))).catch((error) => {
    const option = file === undefined ? "GITHUB_STEP_SUMMARY" : "--summary";
    throw new Error(`${option}: ${error.message}: name a file that can be written`);
  });
}

/** The cells that are not empty, below each other where they do not fit on one line. */
function terminalLines(cells: readonly (string | number | null)[], width: number): string[] {
  const shown = cells.map((cell) => oneLine(String(cell ?? ""))).filter((cell) => cell !== "");
  return wrapLine(shown.join("  "), { width, indent: "  " });
}
