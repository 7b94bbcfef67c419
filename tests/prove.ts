/**
 * Compares random histories with the definitions, as many as wanted:
 * `deno run -A tests/prove.ts 1000 [--seed N] [--path P]`.
 *
 * On the embedded database, and on a PostgreSQL server too when `TEST_DATABASE_URL` is set. Exits
 * with 1 at the first history that disagrees, with 2 when it was called wrongly.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { openTestEmbedded, openTestServer, type TestDatabase } from "./database.ts";
import { tryHistories } from "./oracle/property.ts";

/** Histories between two lines of progress. */
const PROGRESS_HISTORIES = 50;

interface Wanted {
  count: number;
  seed: number;
  path: string | undefined;
}

function wanted(): Wanted {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seed: { type: "string" }, path: { type: "string" } },
  });
  const count = Number(positionals[0] ?? "1000");
  const seed = values.seed === undefined
    ? crypto.getRandomValues(new Int32Array(1))[0]!
    : Number(values.seed);
  if (positionals.length > 1 || !Number.isInteger(count) || count < 1 || !Number.isInteger(seed)) {
    throw new RangeError("expected a number of histories and a whole number as seed");
  }
  return { count, seed, path: values.path };
}

async function prove(open: () => Promise<TestDatabase>, { count, seed, path }: Wanted) {
  const started = performance.now();
  const database = await open();
  try {
    const outcome = await tryHistories(database, {
      count,
      seed,
      ...(path === undefined ? {} : { path }),
      onProgress: (histories, comparisons) => {
        if (histories % PROGRESS_HISTORIES !== 0) return;
        say(`${database.kind}: ${histories} histories, ${comparisons} answers compared`);
      },
    });
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const done = `${outcome.histories} histories, ${outcome.comparisons} answers, ${seconds} s`;
    if (outcome.failure === null) {
      say(`${database.kind}: ${done}, seed ${seed}: all agree`);
      return true;
    }
    say(`${outcome.failure}\n${database.kind}: ${done}, seed ${seed}: DISAGREEMENT`);
    return false;
  } finally {
    await database.close();
  }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function main(): Promise<number> {
  let request: Wanted;
  try {
    request = wanted();
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    say("Try: deno run -A tests/prove.ts 1000 --seed 1");
    return 2;
  }
  if (!await prove(openTestEmbedded, request)) return 1;
  const server = process.env.TEST_DATABASE_URL;
  if (server && !await prove(() => openTestServer(server), request)) return 1;
  return 0;
}

if (import.meta.main) Deno.exit(await main());
