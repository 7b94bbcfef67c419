// Tests: tests/lib/cli/commands/evidence_test.ts
/** The history of a test in words. */
import { shortCommit } from "../base/commit.ts";
import { formatCount, plural } from "../base/text.ts";
import { type Base, NO_BRANCH } from "./base_branch.ts";
import type { Stopped } from "./stopped.ts";
import type { TestEvidence, TestStateFacts } from "./test_evidence.ts";

/** What the sentences name beyond the evidence. */
interface Named extends Base {
  /** A day such as `12 Nov`, from seconds since 1970. */
  day(seconds: number): string;
  /** Whether the base branch has runs from before the test had its first one. */
  wasAdded: boolean;
}

/** `fails in 3.1 % of runs on main (7 of 226, 95 %: 1.3 to 5.9)`. */
export function sayRate(
  { runs, failures, rate, rateLow, rateHigh }: TestEvidence,
  { base, isBaseNamed }: Base,
): string {
  if (rate === null) return isBaseNamed ? `has no run on ${base}` : NO_BRANCH;
  if (failures === 0) {
    return `passed in ${runs === 1 ? "its run" : `all ${plural(runs, "run")}`} on ${base}`;
  }
  const interval = `95 %: ${percent(rateLow)} to ${percent(rateHigh)}`;
  const counts = `${formatCount(failures)} of ${formatCount(runs)}`;
  return `fails in ${percent(rate)} % of runs on ${base} (${counts}, ${interval})`;
}

/** `All of its last 25 runs in the job stress failed`; `""` when that is not what makes the test broken. */
export function sayFailing({ failingRuns }: Pick<TestStateFacts, "failingRuns">): string {
  if (!failingRuns) return "";
  const { job, runs } = failingRuns;
  return `All of its last ${formatCount(runs)} runs${job && ` in the job ${job}`} failed`;
}

/**
 * `since 12 to 14 Nov, one of 9 changes`; `since 12 to 14 Nov, at code that passed before: no change is the cause`;
 * `""` with one segment.
 */
export function sayChange({ since }: Pick<TestEvidence, "since">, day: Named["day"]): string {
  if (!since) return "";
  const [from, to] = [day(since.from.recordedAt), day(since.to.recordedAt)];
  return `since ${daysFrom(from, to)}, ${causeOf(since)}`;
}

function causeOf({ changes }: NonNullable<TestEvidence["since"]>): string {
  if (changes === 0) return "at code that passed before: no change is the cause";
  return changes === 1 ? "one change" : `one of ${plural(changes, "change")}`;
}

/** `12 to 14 Nov`; `28 Oct to 2 Nov`. */
function daysFrom(from: string, to: string): string {
  const [number, ...month] = from.split(" ");
  if (from === to) return from;
  return `${to.endsWith(` ${month.join(" ")}`) ? number : from} to ${to}`;
}

/**
 * {@linkcode sayChange}, `since it was added (12 runs since 3 May)`, or `for as long as it is stored (1,204 runs
 * since 3 May)`; `""` without a run.
 */
export function saySince(
  { runs, since, segments }: Pick<TestEvidence, "runs" | "since" | "segments">,
  { day, wasAdded }: Pick<Named, "day" | "wasAdded">,
): string {
  const [first] = segments;
  if (!first) return "";
  if (since) return sayChange({ since }, day);
  const stored = `(${plural(runs, "run")} since ${day(first.from.recordedAt)})`;
  return `${wasAdded ? "since it was added" : "for as long as it is stored"} ${stored}`;
}

/** `before in 0 of 412`, after passes `before it failed in 9 of 15`: the segment before the last one; `""` without one. */
export function sayBefore({ segments, failures }: TestEvidence): string {
  const before = segments.at(-2);
  if (!before) return "";
  const counts = `${formatCount(before.failures)} of ${formatCount(before.runs)}`;
  return failures > 0 ? `before in ${counts}` : `before it failed in ${counts}`;
}

/** `64 passes since the last failure; a test that fails as often passes that many times with 12 %`. */
export function sayCalm({ calm }: TestEvidence): string {
  if (!calm || calm.byChance === null || calm.passes === 0) return "";
  return `${passesOf(calm)} since the last failure; a test that fails as often ` +
    `passes that many times with ${percent(calm.byChance)} %`;
}

/** What passes since a commit that is meant as the repair prove. */
export type RepairProof = "enough" | "not yet" | "failed again";

/** What the calm since a commit proves. */
export function repairProof(
  { passes, byChance, passesNeeded }: NonNullable<TestEvidence["calm"]>,
): RepairProof {
  if (byChance === null) return "failed again";
  return passes >= passesNeeded ? "enough" : "not yet";
}

/** What the runs since a commit that is meant as the repair say, with {@linkcode repairProof} in front. */
export function sayRepair(
  { calm, failuresBefore, failuresSince, passesElsewhere }: Pick<
    TestEvidence,
    "calm" | "failuresBefore" | "failuresSince" | "passesElsewhere"
  >,
  { commitOid }: { commitOid: string },
): string {
  const { byChance, passesNeeded, ...runs } = calm!;
  const proof = repairProof(calm!);
  const elsewhere = passesElsewhere > 0
    ? ` (and ${formatCount(passesElsewhere)} in jobs in which it never failed)`
    : "";
  const passes = `${passesOf(runs)} since ${shortCommit(commitOid)}${elsewhere}`;
  if (byChance === null) {
    return `${proof}: ${passes}, and ${
      failuresSince === 1 ? "a failure" : plural(failuresSince, "failure")
    }`;
  }
  if (failuresBefore === 0) return `${proof}: ${passes}, and no failure before: nothing to repair`;
  const lucky = Math.round(100 * byChance);
  const would = `${lucky === 0 ? "fewer than 1" : lucky} would still pass by luck`;
  const needed = `${passesOf({ passes: passesNeeded })} ${
    passesNeeded === 1 ? "is" : "are"
  } needed for 95 %`;
  return `${proof}: ${passes}; of 100 tests that fail as often, ${would}; ${needed}`;
}

/** Where the test has not run since that commit; `""` when it ran everywhere. */
export function sayNotRun(
  { notRunSince }: Pick<TestEvidence, "notRunSince">,
  { commitOid }: { commitOid: string },
): string {
  if (notRunSince.length === 0) return "";
  const names = notRunSince.map((name) => name || "runs without an environment");
  return `Not run since ${shortCommit(commitOid)} in ${names.join(", ")}`;
}

/** `its job has run 34 times without it since`. */
export function sayStopped({ jobRuns }: Pick<Stopped, "jobRuns">): string {
  return `its job has run ${formatCount(jobRuns)} times without it since`;
}

function passesOf({ passes }: { passes: number }): string {
  return plural(passes, "pass", "passes");
}

/** In percent with two digits; 100 only if exact. */
export function percent(share: number): string {
  if (share >= 1) return "100";
  const value = Math.min(99, Number((100 * share).toPrecision(2)));
  return share > 0 && value < 0.01 ? "less than 0.01" : String(value);
}
