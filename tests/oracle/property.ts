/** Many random histories against one database. */
import fc from "fast-check";
import type { TestDatabase } from "../database.ts";
import { databaseOrganization } from "./database_organization.ts";
import { describeDisagreement } from "./describe.ts";
import { type Fleet, openFleet } from "./fleet.ts";
import { EXAMPLES, history } from "./history.ts";
import { runHistory } from "./run_history.ts";
import { Disagreement } from "./differential_runner.ts";

/** Time limit of shrinking a failed history. */
const SHRINKING_MILLISECONDS = 60_000;

interface Trial {
  /** Random histories to run, besides the examples. */
  count: number;
  seed: number;
  /** Path of a failed history, as the failure prints it. */
  path?: string;
  /** Runs every third example if 3; all by default. */
  exampleStep?: number;
  /** Called after each history. */
  onProgress?: (histories: number, comparisons: number) => void;
}

/** The outcome; `failure` describes the disagreement, if any. */
export interface Outcome {
  histories: number;
  comparisons: number;
  failure: string | null;
}

/** Runs the examples and random histories, each in an organization of its own, and shrinks the first that fails. */
export async function tryHistories(database: TestDatabase, trial: Trial): Promise<Outcome> {
  const fleet = await openFleet(database);
  try {
    return await tryWith(fleet, database, trial);
  } finally {
    await fleet.close();
  }
}

async function tryWith(fleet: Fleet, database: TestDatabase, trial: Trial): Promise<Outcome> {
  let histories = 0;
  let comparisons = 0;
  let shrinkingUntil = Infinity;
  const property = fc.asyncProperty(history, async (sample) => {
    if (performance.now() > shrinkingUntil) return;
    const name = `organization ${histories++}`;
    fleet.ledger.nextHistory();
    const organization = await databaseOrganization(database.sql, { name, fleet });
    try {
      comparisons += await runHistory(sample, { organization, name });
    } catch (error) {
      shrinkingUntil = Math.min(shrinkingUntil, performance.now() + SHRINKING_MILLISECONDS);
      throw error;
    }
    trial.onProgress?.(histories, comparisons);
  });
  const { count, seed, path, exampleStep = 1 } = trial;
  const examples = EXAMPLES.filter((_, index) => index % exampleStep === 0);
  const details = await fc.check(property, {
    // The examples come first and count as runs; a path begins after them.
    numRuns: path === undefined ? examples.length + count : count,
    seed,
    examples: examples.map((example) => [example]),
    ...path ? { path } : {},
  });
  if (!details.failed) return { histories, comparisons, failure: null };
  const error = details.errorInstance;
  const description = error instanceof Disagreement ? describeDisagreement(error) : String(error);
  const [failed, ...shrinks] = details.counterexamplePath?.split(":") ?? [];
  // `prove` counts all examples.
  const index = Number(failed) < examples.length
    ? Number(failed) * exampleStep
    : Number(failed) + EXAMPLES.length - examples.length;
  const found = [index, ...shrinks].join(":");
  const again = `deno task prove 1 --seed ${seed} --path ${found} --database ${database.kind}`;
  return { histories, comparisons, failure: `${description}\nTry: ${again}` };
}
