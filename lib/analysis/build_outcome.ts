/** What a build ended with, of the uploads of all its jobs and attempts. */
import type { TestFacts } from "./disruptions.ts";
import { ImpliedPasses, NO_IMPLIED_PASSES } from "./repetition/implied_passes.ts";
import { repeats } from "./repetition/submissions.ts";
import type { Attempts } from "./columns.ts";
import { type Run, SelectedTests } from "./run.ts";

/** What says which uploads of a build are attempts of the same job. */
export const BUILD_COLUMNS = [
  "buildUrl",
  "commitOid",
  "treeOid",
  "environment",
  "job",
  "workflow",
  "shard",
  "attempt",
] as const;

/** An upload of a build. */
export type BuildRun = Pick<Run<typeof BUILD_COLUMNS[number]>, typeof BUILD_COLUMNS[number]> & {
  submissionId: string;
};

/** The uploads of one job at one code and environment, the earliest attempt first. */
type JobAttempts<Upload> = Upload[][];

/**
 * The uploads of a build by job, workflow, environment and code, and by attempt. The number of an attempt decides
 * where all of a job are known: its upload may be late. Uploads of one known attempt are legs of a matrix, or parts.
 */
function attemptsByJob<Upload extends BuildRun>(runs: readonly Upload[]): JobAttempts<Upload>[] {
  const oldestFirst = runs.toSorted((a, b) => a.submissionId < b.submissionId ? -1 : 1);
  const jobs = Map.groupBy(
    oldestFirst,
    ({ environment, job, workflow, treeOid, commitOid }) =>
      JSON.stringify([environment, job, workflow, treeOid || null, treeOid ? null : commitOid]),
  );
  return [...jobs.values()].map((ofJob) => {
    const attempts = [
      ...Map.groupBy(ofJob, ({ job, attempt, submissionId }) =>
        // Where the job is unknown, each upload repeats the others.
        job === "" || attempt === "" ? submissionId : attempt).values(),
    ];
    const numberOf = ([first]: Upload[]) =>
      /^\d+$/.test(first!.attempt) ? Number(first!.attempt) : NaN;
    return attempts.some((uploads) => isNaN(numberOf(uploads)))
      ? attempts
      : attempts.sort((a, b) => numberOf(a) - numberOf(b));
  });
}

/**
 * The failures that stand at last: of each attempt, until as many later uploads repeat it. So one leg of a matrix that
 * passes when it is run again does not hide that another one failed.
 *
 * @param options.ran the uploads that count; all unless given
 */
function standing<Upload extends BuildRun>(
  attempts: JobAttempts<Upload>,
  { isBad, ran = () => true, hasFile = false }: {
    isBad(upload: Upload): boolean;
    ran?: (upload: Upload) => boolean;
    hasFile?: boolean;
  },
): Upload[] {
  const open: Upload[] = [];
  for (const uploads of attempts) {
    const counted = uploads.filter(ran);
    for (const upload of counted) {
      const sameShard = open.findIndex(({ shard }) => shard === upload.shard);
      const repeated = sameShard >= 0
        ? sameShard
        : open.findIndex((earlier) => repeats(earlier, upload, { hasFile }));
      if (repeated >= 0) open.splice(repeated, 1);
    }
    open.push(...counted.filter(isBad));
  }
  return open;
}

/**
 * The tests that failed in a build at last, of some, with the ids of the uploads in which they did: in any job,
 * environment and code, whatever passed elsewhere. A later attempt of the job in which the test passed clears it; the
 * pass of a set-up is implied. Skips and unknown outcomes do not count.
 */
export function failedTests(
  runs: readonly (BuildRun & Run<"results">)[],
  testNos: Iterable<number>,
  { hasFile, setUpOf }: TestFacts,
): Map<number, string[]> {
  const nos = [...testNos];
  return testsAtLast(runs, nos, {
    hasFile,
    implied: new ImpliedPasses(nos, setUpOf),
    isBad: ({ outcome }) => outcome === "negative",
    counts: ({ outcome }) => outcome === "positive" || outcome === "negative",
  });
}

/**
 * The tests whose outcome is unknown at last, each once: no attempt passed or failed, as when the process that ran the
 * test died.
 */
export function unclearTests(runs: readonly (BuildRun & Run<"results">)[]): number[] {
  const isBad = ({ counts }: Attempts) =>
    counts.unknown > 0 && counts.positive + counts.negative === 0;
  const testNos = new Set<number>();
  for (const { results } of runs) {
    results.eachException((testNo, attempts) => {
      if (isBad(attempts)) testNos.add(testNo);
    });
  }
  const counts = ({ outcome }: Attempts) => outcome !== "skipped";
  return [...testsAtLast(runs, testNos, { hasFile: () => false, isBad, counts }).keys()];
}

/** The tests with an outcome that stands at last, with the ids of the uploads in which it does. */
function testsAtLast(
  runs: readonly (BuildRun & Run<"results">)[],
  testNos: Iterable<number>,
  { hasFile, implied = NO_IMPLIED_PASSES, isBad, counts }: {
    hasFile(testNo: number): boolean;
    implied?: ImpliedPasses;
    isBad(attempts: Attempts): boolean;
    /** Whether an outcome replaces an earlier one. */
    counts(attempts: Attempts): boolean;
  },
): Map<number, string[]> {
  const selected = new SelectedTests(testNos);
  const outcomes = new Map<number, Map<BuildRun, boolean>>();
  for (const testNo of selected.testNos) outcomes.set(testNo, new Map());
  for (const run of runs) {
    run.results.each(selected, (testNo, attempts) => {
      if (counts(attempts)) outcomes.get(testNo)!.set(run, isBad(attempts));
    });
    for (const testNo of implied.in(run.results)) outcomes.get(testNo)!.set(run, false);
  }
  const jobs = attemptsByJob(runs);
  const found = new Map<number, string[]>();
  for (const [testNo, ofTest] of outcomes) {
    const options = {
      isBad: (run: BuildRun) => ofTest.get(run) === true,
      ran: (run: BuildRun) => ofTest.has(run),
      hasFile: hasFile(testNo),
    };
    const uploads = jobs.flatMap((attempts) => standing(attempts, options));
    if (uploads.length > 0) found.set(testNo, uploads.map(({ submissionId }) => submissionId));
  }
  return found;
}

/** How many tests passed or failed in some runs, each once. */
export function countRanTests(runs: readonly Run<"results">[]): number {
  const lists = new Set(runs.map(({ results }) => results.tests.testNos));
  const end = Math.max(
    0,
    ...lists.values().map((list) => list.reduce((a, b) => Math.max(a, b), 0) + 1),
  );
  // A set takes 60 ms with 100 runs of 20,000 tests, this 3.
  const hasRun = new Uint8Array(end);
  for (const { results } of runs) {
    results.eachTest((testNo, { counts: { positive, negative } }) => {
      if (positive + negative > 0) hasRun[testNo] = 1;
    });
  }
  return hasRun.reduce((sum, one) => sum + one, 0);
}

/** What is known of whether an upload of a build is whole. */
interface Wholeness {
  /** What says that it is not. */
  notWhole: string | null;
  /** Whether fewer tests ran than usual, which is no fault where only the failed ones were run again. */
  isPart: boolean;
}

/** The uploads that say that a build is not whole, and were not run again as a whole since. */
export function notWholeUploads<Upload extends BuildRun & Wholeness>(
  runs: readonly Upload[],
): Upload[] {
  return attemptsByJob(runs).flatMap((attempts) => {
    const known = new Set<string>();
    const again = new Set<Upload>();
    for (const uploads of attempts) {
      for (const upload of uploads) if (known.has(upload.shard)) again.add(upload);
      for (const { shard } of uploads) known.add(shard);
    }
    const isBad = (upload: Upload) =>
      upload.notWhole !== null && !(upload.isPart && again.has(upload));
    const ran = (upload: Upload) => upload.notWhole === null || isBad(upload);
    return standing(attempts, { isBad, ran });
  });
}

/** The uploads of a build that ended red without a failed test, and were not run again since. */
export function redUploads<Upload extends BuildRun & { failedWithoutTest: boolean }>(
  runs: readonly Upload[],
): Upload[] {
  const isBad = ({ failedWithoutTest }: Upload) => failedWithoutTest;
  return attemptsByJob(runs).flatMap((attempts) => standing(attempts, { isBad }));
}

/** The uploads of a build whose command ended red, whatever its tests did, and was not run again since. */
export function uploadsThatEndedRed<Upload extends BuildRun & { exitCode: number | null }>(
  runs: readonly Upload[],
): Upload[] {
  const isBad = ({ exitCode }: Upload) => (exitCode ?? 0) !== 0;
  return attemptsByJob(runs).flatMap((attempts) => standing(attempts, { isBad }));
}

/** The uploads of a build whose reports hide tests or failures, and were not run again as a whole since. */
export function uploadsWithGaps<Upload extends BuildRun & Pick<Run<"hasGaps">, "hasGaps">>(
  runs: readonly Upload[],
): Upload[] {
  return notWholeUploads(
    runs.map((run) => ({ ...run, notWhole: run.hasGaps ? "gaps" : null, isPart: false })),
  );
}
