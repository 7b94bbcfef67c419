/**
 * Compares random histories with the definitions, as many as wanted:
 * `deno task prove 5000 [--seed N] [--path P] [--database embedded|server] [--jobs N]`.
 *
 * On the embedded database, and on a PostgreSQL server too when `TEST_DATABASE_URL` is set. Every
 * batch of histories has a database of its own, a process of its own, and a seed: the first one's is
 * the one that is given, and the next ones follow it. Exits with 1 at the first history that
 * disagrees, after the command that shows it again, and with 2 when it was called wrongly.
 */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openTestEmbedded, openTestServer } from "./database.ts";
import { tryHistories } from "./oracle/property.ts";
import { taskOptions } from "./task_options.ts";

/** Histories of one process: its caches are warm, and what it remembers of entity tags is bounded. */
const BATCH_HISTORIES = 250;

/** Histories between two lines of progress. */
const PROGRESS_HISTORIES = 50;

const KINDS = ["embedded", "server"] as const;
type Kind = typeof KINDS[number];

interface Wanted {
  count: number;
  seed: number;
  path: string | undefined;
  kinds: readonly Kind[];
  /** Batches at the same time. */
  jobs: number;
}

/** @throws {RangeError} when the arguments make no sense */
function wanted(args: string[]): Wanted {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      seed: { type: "string" },
      path: { type: "string" },
      database: { type: "string" },
      jobs: { type: "string" },
    },
  });
  const count = Number(positionals[0] ?? "1000");
  const seed = values.seed === undefined
    ? crypto.getRandomValues(new Int32Array(1))[0]!
    : Number(values.seed);
  const jobs = Number(values.jobs ?? "1");
  const isWhole = [count, seed, jobs].every(Number.isInteger);
  if (positionals.length > 1 || !isWhole || count < 1 || jobs < 1) {
    throw new RangeError("expected a number of histories, and whole numbers as seed and as jobs");
  }
  const kinds = KINDS.filter((kind) =>
    values.database === undefined
      ? kind === "embedded" || process.env.TEST_DATABASE_URL
      : kind === values.database
  );
  if (kinds.length === 0) {
    throw new RangeError(`"${values.database}" is no database: expected ${KINDS.join(" or ")}`);
  }
  if (kinds.includes("server") && !process.env.TEST_DATABASE_URL) {
    throw new RangeError("no server is known: expected TEST_DATABASE_URL");
  }
  return { count, seed, path: values.path, kinds, jobs };
}

/** Runs one batch in this process; false when a history disagrees. */
async function proveBatch(kind: Kind, { count, seed, path }: Wanted): Promise<boolean> {
  const started = performance.now();
  const database = kind === "embedded"
    ? await openTestEmbedded()
    : await openTestServer(process.env.TEST_DATABASE_URL!);
  try {
    const outcome = await tryHistories(database, {
      count,
      seed,
      ...(path === undefined ? {} : { path }),
      onProgress: (histories, comparisons) => {
        if (histories % PROGRESS_HISTORIES !== 0) return;
        say(`${kind}: seed ${seed}: ${histories} histories, ${comparisons} answers compared`);
      },
    });
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const done = `${outcome.histories} histories, ${outcome.comparisons} answers, ${seconds} s`;
    if (outcome.failure === null) {
      say(`${kind}: seed ${seed}: ${done}: all agree`);
      return true;
    }
    say(`${outcome.failure}\n${kind}: seed ${seed}: ${done}: DISAGREEMENT`);
    return false;
  } finally {
    await database.close();
  }
}

/** Runs all batches, each in a process of its own; false when a history disagrees. */
async function proveAll(kind: Kind, { count, seed, jobs }: Wanted): Promise<boolean> {
  const started = performance.now();
  const starts = Array.from({ length: Math.ceil(count / BATCH_HISTORIES) }, (_, index) => index);
  let agree = true;
  const work = async () => {
    for (let index = starts.shift(); index !== undefined && agree; index = starts.shift()) {
      const histories = Math.min(BATCH_HISTORIES, count - index * BATCH_HISTORIES);
      const args = [String(histories), "--seed", String(seed + index), "--database", kind];
      const { success } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", fileURLToPath(import.meta.url), ...args],
        stdin: "null",
      }).spawn().status;
      agree &&= success;
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  const verdict = agree ? "all agree" : "DISAGREEMENT";
  say(`${kind}: ${count} histories from seed ${seed}, ${seconds} s: ${verdict}`);
  return agree;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function main(): Promise<number> {
  const request = taskOptions(wanted, {
    usage:
      "Usage: deno task prove COUNT [--seed N] [--path P] [--database embedded|server] [--jobs N]",
    example: "deno task prove 1000 --seed 1",
  });
  for (const kind of request.kinds) {
    const isOne = request.path !== undefined || request.count <= BATCH_HISTORIES;
    if (!await (isOne ? proveBatch : proveAll)(kind, request)) return 1;
  }
  return 0;
}

if (import.meta.main) Deno.exit(await main());
