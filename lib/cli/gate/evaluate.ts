import { formatRepositoryName } from "../../base/repository_name.ts";
import { decideExitCode, type GateFacts } from "../../gate/rule.ts";
import { type GateSummary, summarize } from "../../gate/summary.ts";
import type { CliIo } from "../command.ts";
import type { Checkout } from "./checkout.ts";
import type { Lookup } from "./lookup.ts";
import { readRunReports, type ReportSnapshot } from "./read_reports.ts";

/** Input of {@linkcode evaluate}. */
interface Run extends Pick<GateFacts, "maxExcused"> {
  failureCodes: readonly number[] | undefined;
  /** REPORT arguments. */
  reports: readonly string[];
  /** `null` when the gate did not start the tests. */
  before: ReportSnapshot | null;
  checkout: Promise<Checkout>;
  lookup: Lookup;
  /** `code` is `undefined` when it follows from the reports. */
  end: { code: number | undefined; signal: string | null };
  dryRun: boolean;
  io: CliIo;
}

/** Reads the reports of a test run, waits for the lookup, and decides the exit code. */
export async function evaluate(
  { reports, before, checkout, lookup, end, dryRun, io, failureCodes, maxExcused }: Run,
): Promise<GateSummary> {
  const { repository, folder } = await checkout;
  const run = await readRunReports(reports, { before, checkoutFolder: folder });
  const { failed, unclear } = run.attempts;
  const testsExitCode = end.code ?? (run.isPassed ? 0 : 1);
  const { quarantined, verdicts, problem, signal } = await lookup.finish({
    exitCode: testsExitCode,
    failed,
  });
  const facts: GateFacts = {
    testsExitCode,
    isCodeOfReports: end.code === undefined && end.signal === null,
    // An exit code that follows from the reports means failed tests.
    failureCodes: failureCodes ?? (end.code === undefined ? [1] : null),
    maxExcused,
    signal: end.signal ?? signal,
    reports: run.reports,
    failed,
    unclear,
    quarantined,
    now: io.now(),
  };
  return summarize(facts, decideExitCode(facts), {
    repository: repository ? formatRepositoryName(repository) : "",
    verdicts,
    problem,
    dryRun,
    hasPassed: (test) => run.attempts.hasPassed(test),
  });
}
