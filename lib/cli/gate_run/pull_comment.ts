// Tests: tests/lib/cli/commands/comment_test.ts
/** Comments what failed on the pull request of the CI job. */
import { appendFile } from "node:fs/promises";
import { sayMessage } from "../../analysis/cause_details.ts";
import { pagesUrlOf } from "../../api_client/api_settings.ts";
import { setting } from "../../base/config.ts";
import { pause } from "../../base/delay.ts";
import { errorMessage } from "../../base/error.ts";
import { formatRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import type { TimeZone } from "../../base/time_zone.ts";
import type { TestIdentity } from "../../base/identity.ts";
import { annotationLines } from "../../comment/annotations.ts";
import { jobSection, type ReportedTest } from "../../comment/job_section.ts";
import { headline, isNoteworthy, type Section } from "../../comment/sections.ts";
import { ForgeError } from "../../forge/forge.ts";
import { createPatience, type PublishClock, publishSection } from "../../forge/publish.ts";
import { findTarget } from "../../forge/target.ts";
import type { FinalAttempts } from "../../gate/final_attempts.ts";
import { type GateReport, identityKey, type QuarantinedTest } from "../../gate/rule.ts";
import {
  describeMassFailure,
  type GateSummary,
  idOf,
  ownersOf,
  sayVerdict,
} from "../../gate/summary.ts";
import { safeCode } from "../../comment/safe_markdown.ts";
import { hasKey } from "../../comment/shared_tests.ts";
import type { CiJob } from "../../ci/mod.ts";
import { runGit } from "../../intake/checkout/git.ts";
import { detectCiJob } from "../../intake/checkout/mod.ts";
import type { CommandContext } from "../command.ts";
import type { startLookup, Verdicts } from "./lookup.ts";
import type { readRunReports } from "./run_reports.ts";

/** Environment variables that commenting reads, in addition to the CI job's. */
export const COMMENT_VARIABLES = [
  "PUBLIC_URL",
  "GITHUB_TOKEN",
  "GITHUB_API_URL",
  "GITLAB_TOKEN",
  "CI_API_V4_URL",
] as const;

/** What the service says about a test: `null` each when it knows nothing. */
type KnownFacts = Pick<
  GateSummary["failed"][number],
  | "id"
  | "quarantine_owner"
  | "owners"
  | "recent_nondeterministic_negative_result"
  | "recent_base_negative_result"
>;

/** A failed test with what the service says about it. */
type JudgedTest =
  & TestIdentity
  & { verdict: ReportedTest["verdict"] }
  & Pick<GateSummary["failed"][number], "fingerprint">
  & KnownFacts;

interface CommentedRun {
  /** `null` when the service did not answer. */
  verdicts: Pick<Verdicts, "tests" | "base" | "massFailure"> | null;
  failed: readonly JudgedTest[];
  /** Tests that failed and passed on a retry. */
  retried: readonly (TestIdentity & KnownFacts)[];
  attempts: Pick<FinalAttempts, "failureOf" | "passedHashes">;
  reports: readonly GateReport[];
  /** Why the service did not answer; `null` when it did. */
  serviceProblem: string | null;
  /** What says that not all tests ran; `null` when they did, or when that is not known. */
  notWhole: string | null;
  /** How the tests ended, when they ended red without a failed test; otherwise `null`. */
  redExitCode: number | null;
  /** What the number of failed tests means; `null` if it is not unusual. */
  outage: string | null;
}

/** The name of the job as far as options give it: otherwise CI says it. */
interface GivenNames {
  job?: string | undefined;
  shard?: string | undefined;
  environment?: string | undefined;
}

const MAX_BRANCH_CHARACTERS = 100;
/** More than three names and the words between them have: a cut title could be that of another job. */
const MAX_TITLE_CHARACTERS = 500;

/** A run whose failures are judged, with what the lookup found out about it. */
export function commentedRun(
  judged: Pick<CommentedRun, "failed" | "notWhole" | "redExitCode">,
  { run: { attempts, reports }, found }: {
    run: Awaited<ReturnType<typeof readRunReports>>;
    found: Awaited<ReturnType<ReturnType<typeof startLookup>["finish"]>>;
  },
): CommentedRun {
  const { verdicts, problem } = found;
  return {
    ...judged,
    verdicts,
    retried: attempts.flaky.map((test) => ({ ...test, ...factsOf(test, found) })),
    attempts,
    reports,
    serviceProblem: problem,
    outage: describeMassFailure(
      attempts.counts,
      verdicts?.massFailure ?? null,
      verdicts?.otherMassFailures ?? [],
    ),
  };
}

/** What a lookup says about a test, of which there may be no verdict. */
export function factsOf(
  test: TestIdentity,
  { quarantined, verdicts }: {
    quarantined: ReadonlyMap<string, QuarantinedTest> | null;
    verdicts: Pick<Verdicts, "tests"> | null;
  },
): KnownFacts {
  const known = verdicts?.tests.get(identityKey(test));
  return {
    id: known ? idOf(known) : null,
    quarantine_owner: quarantined?.get(identityKey(test))?.quarantine_owner ?? null,
    owners: known?.owners ?? [],
    recent_nondeterministic_negative_result: known?.recent_nondeterministic_negative_result ?? null,
    recent_base_negative_result: known?.recent_base_negative_result ?? null,
  };
}

/** Why a report is not read, or does not count. */
export function problemOf({ path, problem, older }: GateReport): string[] {
  if (problem !== null) return [problem];
  return older === undefined ? [] : [`${path}: ${older}: left out`];
}

/** The section of this job, in the comment on its pull request. */
export async function sectionOfRun(
  run: CommentedRun,
  { named, zone, page }: {
    named: GivenNames;
    zone: TimeZone;
    /** The page of the build; `""` when unknown. */
    page: string;
  },
  { io }: Pick<CommandContext, "io">,
): Promise<Section> {
  const { environment, git = runGit } = io;
  const facts = await detectCiJob(environment, git);
  const order: Section["run"] = facts?.order ?? [0, 0];
  const base = pagesUrlOf(environment);
  const reported = (test: TestIdentity & KnownFacts) => ({
    ...test,
    message: sayMessage(run.attempts.failureOf(test) ?? { message: "", body: "" }),
    page: test.id === null ? "" : `${base}/tests/${test.id}`,
    last: test.recent_nondeterministic_negative_result ?? test.recent_base_negative_result,
    owners: ownersOf(test),
    blame: null,
    said: "",
    evidenceUrl: "",
  });
  const branch = run.verdicts?.base ?? "";
  const baseBranch = branch && safeCode(branch, MAX_BRANCH_CHARACTERS);
  const concluded = (test: TestIdentity) => {
    const known = run.verdicts?.tests.get(identityKey(test));
    return {
      blame: known?.blame ?? null,
      said: sayVerdict(known, { base: baseBranch, zone }),
      evidenceUrl: known?.evidence_url ?? "",
    };
  };
  const section = jobSection({
    job: titleOf(facts, named).slice(0, MAX_TITLE_CHARACTERS),
    // Names of GitLab's pipelines, which has whole names of jobs, may change with every run.
    workflow: named.job === undefined || facts?.fullJob ? "" : facts?.workflow,
    run: order,
    // Where runs have no number, the section of an earlier run on another runner would stay.
    runner: order[0] === 0 ? "" : facts?.runner ?? "",
    writtenAt: io.now(),
    zone,
    // The commit of a job for a pull request may be a merge that its author has never seen.
    commit: facts?.pullHead || (facts?.commit ?? ""),
    buildUrl: facts?.buildUrl ?? "",
    page,
    failed: run.failed.map((test): ReportedTest => ({
      ...reported(test),
      ...concluded(test),
      verdict: test.verdict,
    })),
    flaky: run.retried.map((test): ReportedTest => ({ ...reported(test), verdict: "flaky" })),
    problems: run.reports.flatMap((report) => [
      ...problemOf(report),
      ...report.failuresOutsideTests.map((failure) => `a failure outside of a test: ${failure}`),
    ]),
    serviceProblem: run.serviceProblem,
    notWhole: run.notWhole,
    redExitCode: run.redExitCode,
    outage: run.outage,
  });
  return { ...section, hasPassed: hasKey(run.attempts.passedHashes()) };
}

/** The title of the section of a job, by which it is found again: not the same for its shards and environments. */
function titleOf(facts: CiJob | null, named: GivenNames): string {
  const { workflow, fullJob, ...ofCi } = facts ?? NO_NAMES;
  // The whole name of a job has its shard and environment, unless they are given.
  const isWhole = named.job === undefined && fullJob !== "";
  const known = isWhole ? { ...NO_NAMES, job: fullJob } : ofCi;
  const { job = known.job, shard = known.shard, environment = known.environment } = named;
  const name = [job, shard].filter((text) => text !== "").join(" ") || "tests";
  const inWorkflow = workflow !== "" && named.job === undefined && !isWhole;
  return (inWorkflow ? `${workflow} / ` : "") + name + (environment && ` (${environment})`);
}

const NO_NAMES = { workflow: "", fullJob: "", job: "", shard: "", environment: "" };

/** In GitHub Actions, shows the failures next to the lines of the pull request. */
export function annotateFailures(run: CommentedRun, { io }: Pick<CommandContext, "io">): void {
  if (io.environment.GITHUB_ACTIONS !== "true") return;
  const lines = annotationLines(run.failed.map((test) => ({
    ...test,
    message: "",
    body: "",
    ...run.attempts.failureOf(test),
  })));
  // The runner reads both streams; standard output is for data.
  io.stderr(lines.map((line) => `${line}\n`).join(""));
}

/**
 * Writes the section into the comment on the pull request. What goes wrong is one line on standard error.
 *
 * @returns where the comment is, such as `acme/shop#12`; `null` when it was not written
 */
export async function commentOnPull(
  section: Section,
  { repository, pull }: {
    /** `null` when unknown. */
    repository: RepositoryName | null;
    /** Number of the pull or merge request; by default from the CI job. */
    pull?: number | undefined;
  },
  { io, note }: Pick<CommandContext, "io" | "note">,
): Promise<string | null> {
  const { environment, stop } = io;
  const clock = io.commentClock ?? realClock(stop);
  const patience = createPatience(clock);
  try {
    if (repository === null) {
      note("comment: the repository is unknown: expected --repo OWNER/NAME");
      return null;
    }
    const target = await findTarget({
      environment,
      run: await detectCiJob(environment, io.git ?? runGit),
      repository: formatRepositoryName(repository),
      pull,
      stop,
      leftMs: patience.leftMs,
      wait: patience.waitToRetry,
    });
    if (target === null) {
      note("comment: this run belongs to no open pull request: expected --pull N");
      return null;
    }
    const isWritten = await publishSection(target.comments, section, { ...clock, patience });
    return isWritten ? target.place : null;
  } catch (error) {
    const advice = error instanceof ForgeError && error.kind === "denied"
      ? ": the token may not comment there, as in pull requests from forks"
      : "";
    note(`comment: ${errorMessage(error)}${advice}`);
    return null;
  }
}

function realClock(stop: AbortSignal): PublishClock {
  return {
    now: () => performance.now(),
    pause: (milliseconds) => pause(milliseconds, stop),
    random: Math.random,
    scale: 1,
  };
}

/** Appends a section that could not be written as a comment to the job summary, if there is one. */
export async function appendToSummary(
  section: Section,
  { io, note }: Pick<CommandContext, "io" | "note">,
): Promise<void> {
  const path = setting(io.environment, "GITHUB_STEP_SUMMARY");
  if (path === "" || !isNoteworthy(section)) return;
  try {
    await appendFile(path, `**${headline([section])}**\n\n${section.text}\n`);
  } catch (error) {
    note(`comment: GITHUB_STEP_SUMMARY: ${errorMessage(error)}`);
  }
}
