import { formatRepositoryName } from "../../base/repository_name.ts";
import { decide, type GateFacts } from "../../gate/rule.ts";
import { type GateSummary, summarize } from "../../gate/summary.ts";
import type { CliIo } from "../command.ts";
import type { Checkout } from "./checkout.ts";
import type { Consultation } from "./consultation.ts";
import { type FilesBefore, readRunReports } from "./read_reports.ts";

/** Settings by which a test run is evaluated. */
interface Run extends Pick<GateFacts, "maxExcused"> {
  failureCodes: readonly number[] | undefined;
  /** REPORT arguments. */
  reports: readonly string[];
  /** `null` when the tests ran before the gate started. */
  before: FilesBefore | null;
  checkout: Promise<Checkout>;
  consultation: Consultation;
  /** `code` is `undefined` when only the reports tell how the tests ended. */
  end: { code: number | undefined; signal: string | null };
  dryRun: boolean;
  io: CliIo;
}

/** Reads the reports of a run, waits for the service, and decides. */
export async function evaluate(
  { reports, before, checkout, consultation, end, dryRun, io, failureCodes, maxExcused }: Run,
): Promise<GateSummary> {
  const { repository, folder } = await checkout;
  const run = await readRunReports(reports, { before, checkoutFolder: folder });
  const { failed, unclear } = run.attempts;
  const testsExitCode = end.code ?? (run.isPassed ? 0 : 1);
  const { quarantined, verdicts, problem, signal } = await consultation.finish({
    exitCode: testsExitCode,
    failed,
  });
  const facts: GateFacts = {
    testsExitCode,
    // A code that the reports tell means failed tests.
    failureCodes: failureCodes ?? (end.code === undefined ? [1] : null),
    maxExcused,
    signal: end.signal ?? signal,
    reports: run.reports,
    failed,
    unclear,
    quarantined,
    now: io.now(),
  };
  return summarize(facts, decide(facts), {
    repository: repository ? formatRepositoryName(repository) : "",
    verdicts,
    problem,
    dryRun,
    hasPassed: (test) => run.attempts.hasPassed(test),
  });
}
