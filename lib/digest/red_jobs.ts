// Tests: tests/lib/cli/commands/digest_test.ts
/** Which jobs ended red, and why. */
import type { Run } from "../analysis/run.ts";
import type { MassFailure } from "../evidence/evidence.ts";
import { runOutcome } from "../evidence/outcomes_of_runs.ts";

/** Jobs of the period that ended red, by kind. */
export interface RedJobs {
  /** Many tests failed, as in other changes. */
  outage: number;
  /** Many tests failed, with this change alone. */
  together: number;
  /** Every test that failed at last also passed on the same code. */
  flaky: number;
  /** Other tests failed. */
  failed: number;
  /** The tests' command failed, although no test did. */
  without_test: number;
}

export const NO_RED_JOBS: RedJobs = {
  outage: 0,
  together: 0,
  flaky: 0,
  failed: 0,
  without_test: 0,
};

export function countJobs(redJobs: RedJobs): number {
  return Object.values(redJobs).reduce((sum, count) => sum + count, 0);
}

/** The columns by which the uploads of a job are recognized. */
export const JOB_COLUMNS = ["buildUrl", "job", "environment", "shard", "attempt"] as const;

type JobUpload = Run<typeof JOB_COLUMNS[number]>;

interface FailedUpload extends JobUpload, Run<"results"> {
  massFailure: MassFailure | null;
  /** Numbers of the tests that also passed on the same code. */
  flaky: ReadonlySet<number>;
}

type Kind = keyof RedJobs;

/** A job with uploads of several kinds is of the first: what most probably needs work. */
const KINDS: readonly Kind[] = ["failed", "together", "outage", "flaky", "without_test"];

/**
 * Counts jobs, not uploads: one may upload several reports, and the exit code of its command. Each attempt of a
 * job is one.
 */
export function countRedJobs(
  failed: readonly FailedUpload[],
  withoutTest: readonly JobUpload[],
): RedJobs {
  const kinds = new Map<string, Kind>();
  const add = (upload: JobUpload, kind: Kind) => {
    const job = jobKey(upload);
    const known = kinds.get(job);
    if (!known || KINDS.indexOf(kind) < KINDS.indexOf(known)) kinds.set(job, kind);
  };
  for (const upload of failed) {
    const kind = kindOf(upload);
    if (kind) add(upload, kind);
  }
  for (const upload of withoutTest) add(upload, "without_test");
  const counts = { ...NO_RED_JOBS };
  for (const kind of kinds.values()) counts[kind]++;
  return counts;
}

/** `null` when every failed test passed at last. */
function kindOf({ results, massFailure, flaky }: FailedUpload): Kind | null {
  const failed: number[] = [];
  results.eachException((testNo, attempts) => {
    if (runOutcome(attempts)?.hasFailedAtLast) failed.push(testNo);
  });
  if (failed.length === 0) return null;
  return massFailure ?? (failed.every((testNo) => flaky.has(testNo)) ? "flaky" : "failed");
}

/** Without a build, an upload is a job of its own. */
function jobKey({ submissionId, buildUrl, job, environment, shard, attempt }: JobUpload): string {
  return buildUrl === ""
    ? submissionId
    : JSON.stringify([buildUrl, job, environment, shard, attempt]);
}
