import assert from "node:assert/strict";
import { describe } from "@std/testing/bdd";
import { join } from "node:path";
import { type Database, openDatabase } from "../../db/connection/connect.ts";
import { Random } from "../../tools/measure/bench/random.ts";
import { assertWhole, lastingFacts, randomUpload } from "../db/write/prune_fixture.ts";
import { createFixture, DAY, NOW } from "../routes/fixture.ts";
import { IS_PROOF, itOnKilledDatabase, killCount } from "./kills.ts";
import { command, run } from "./program.ts";
import { pause } from "../../lib/base/delay.ts";

/** How often a prune is killed. */
const KILLS = killCount({ inGate: 1 });

/** Old submissions, of 8 tests or fewer each, that every killed prune finds at least. */
const SUBMISSIONS_PER_KILL = 250;

// Nothing of these histories is recent, whatever the day: the program goes by the real clock.
const PRUNE = ["prune", "--keep", "30d"];

async function prove(environment: Record<string, string>): Promise<void> {
  const random = new Random(3);
  const open = () =>
    openDatabase({ databaseUrl: environment.DATABASE_URL, dataDir: environment.DATA_DIR ?? "" });
  const withDatabase = async <T>(work: (database: Database) => Promise<T>): Promise<T> => {
    const database = await open();
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  };
  const repository = await withDatabase(async (database) => {
    const fixture = await createFixture(database, { name: "acme" });
    return await fixture.addRepository("acme", "shop");
  });
  const moment = () => NOW - 400 * DAY - random.below(100 * DAY);

  let [killed, inTheMiddle] = [0, 0];
  for (let attempt = 0; killed < KILLS || inTheMiddle === 0; attempt++) {
    assert.ok(attempt < 20 * KILLS, "none was killed between two batches");
    const before = await withDatabase(async (database) => {
      // With what the prune before left.
      for (let i = await submissionCount(database); i < SUBMISSIONS_PER_KILL; i++) {
        await randomUpload(database, repository, random, moment());
      }
      return { count: await submissionCount(database), facts: await lastingFacts(database) };
    });
    if (await killInTime(environment, { open, before: before.count, random })) killed++;
    await withDatabase(async (database) => {
      await assertWhole(database);
      assert.deepEqual(await lastingFacts(database), before.facts);
      if (await isInTheMiddle(database, before.count)) inTheMiddle++;
    });
  }

  const { code, stderr } = await run(PRUNE, environment);
  assert.deepEqual([code, stderr], [0, ""]);
  await withDatabase(async (database) => {
    await assertWhole(database);
    assert.equal(await submissionCount(database), 0);
    const [left] = await database.sql<Record<string, number>[]>`
      select (select count(*) from negative_result)::int as negatives,
        (select count(*) from test_list)::int as lists,
        (select count(*) from test_tag_set)::int as "tagSets",
        (select count(*) from coverage_report)::int as coverages`;
    assert.deepEqual(left, { negatives: 0, lists: 0, tagSets: 0, coverages: 1 });
  });
  // deno-lint-ignore no-console -- figures of the long proof
  if (IS_PROOF) console.log({ killed, inTheMiddle });
}

/**
 * Starts a prune and kills it soon after it deleted the first; every other time the process that has
 * the embedded database. Returns false when it was faster.
 */
async function killInTime(
  environment: Record<string, string>,
  { open, before, random }: { open: () => Promise<Database>; before: number; random: Random },
): Promise<boolean> {
  const ownsDatabase = environment.DATA_DIR !== undefined && random.below(2) === 0;
  let database = ownsDatabase ? null : await open();
  const child = command(PRUNE, { environment }).spawn();
  const output = child.output();
  let isOver = false;
  void child.status.then(() => isOver = true);
  try {
    while (!database && !isOver) {
      await pause(1);
      if (await isThere(join(environment.DATA_DIR!, "postgres", "socket"))) database = await open();
    }
    while (!isOver && await submissionCount(database!) === before) await pause(1);
  } catch {
    // It closed the database between.
  }
  await pause(random.below(30));
  const inTime = !isOver;
  if (inTime) child.kill("SIGKILL");
  await output;
  await database?.close();
  return inTime;
}

async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch {
    return false;
  }
}

/** Whether some is deleted and some is left. */
async function isInTheMiddle(database: Database, before: number): Promise<boolean> {
  const [row] = await database.sql<{ isLeft: boolean }[]>`
    select exists (select 1 from submission) or exists (
      select 1 from test_list l where not exists (select 1 from submission s
        where (s.repository_id, s.test_list_no) = (l.repository_id, l.test_list_no))) as "isLeft"`;
  return row!.isLeft && await submissionCount(database) < before;
}

async function submissionCount({ sql }: Database): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int from submission`;
  return row!.count;
}

describe("a prune that is killed at any moment", () => {
  itOnKilledDatabase("leaves whole submissions, and resumes the next time", prove);
});
