/**
 * `deno task prove mutants` runs histories against a broken oracle until each mistake is noticed,
 * `deno task prove reports 100000` damages reports, `deno task prove recall` counts the flaky tests that are
 * found by each way to run tests again, `deno task prove requests 100000` sends random requests,
 * `deno task prove evidence 200` compares what random failures are evidence of, and
 * `deno task prove kills 50` kills processes; without any of them, compares random histories with the
 * definitions:
 * `deno task prove 5000 [--seed N] [--path P] [--database embedded|server] [--jobs N]`.
 *
 * Runs on the embedded database, and on a PostgreSQL server too when `TEST_DATABASE_URL` is set. Every
 * batch has its own database, process and seed; seeds count up from the given one. Exits with 1 at the
 * first disagreement, after printing the command that repeats it, and with 2 on wrong usage.
 */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openTestEmbedded, openTestServer } from "./database.ts";
import { tryHistories } from "./oracle/property.ts";
import { taskOptions } from "./task_options.ts";

/** Histories per process: enough for warm caches, and the recorded entity tags stay bounded. */
const BATCH_HISTORIES = 250;

/** Histories per line of progress. */
const PROGRESS_HISTORIES = 50;

const KINDS = ["embedded", "server"] as const;
type Kind = typeof KINDS[number];

interface ProveOptions {
  count: number;
  seed: number;
  path: string | undefined;
  kinds: readonly Kind[];
  /** Concurrent batches. */
  jobs: number;
}

/** @throws {RangeError} for invalid arguments */
function readOptions(args: string[]): ProveOptions {
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
    throw new RangeError("expected a number of histories, and integers for --seed and --jobs");
  }
  const kinds = KINDS.filter((kind) =>
    values.database === undefined
      ? kind === "embedded" || process.env.TEST_DATABASE_URL
      : kind === values.database
  );
  if (kinds.length === 0) {
    throw new RangeError(`invalid --database "${values.database}": expected ${KINDS.join(" or ")}`);
  }
  if (kinds.includes("server") && !process.env.TEST_DATABASE_URL) {
    throw new RangeError("--database server: expected TEST_DATABASE_URL");
  }
  return { count, seed, path: values.path, kinds, jobs };
}

/** Runs one batch in this process; returns false on a disagreement. */
async function proveBatch(kind: Kind, { count, seed, path }: ProveOptions): Promise<boolean> {
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
        report(`${kind}: seed ${seed}: ${histories} histories, ${comparisons} answers compared`);
      },
    });
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const done = `${outcome.histories} histories, ${outcome.comparisons} answers, ${seconds} s`;
    if (outcome.failure === null) {
      report(`${kind}: seed ${seed}: ${done}: all agree`);
      return true;
    }
    report(`${outcome.failure}\n${kind}: seed ${seed}: ${done}: DISAGREEMENT`);
    return false;
  } finally {
    await database.close();
  }
}

/** Runs all batches, each in its own process; returns false on a disagreement. */
async function proveAll(kind: Kind, { count, seed, jobs }: ProveOptions): Promise<boolean> {
  const started = performance.now();
  const starts = Array.from({ length: Math.ceil(count / BATCH_HISTORIES) }, (_, index) => index);
  let agree = true;
  const work = async () => {
    for (let index = starts.shift(); index !== undefined && agree; index = starts.shift()) {
      const histories = Math.min(BATCH_HISTORIES, count - index * BATCH_HISTORIES);
      const args = [String(histories), `--seed=${seed + index}`, "--database", kind];
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
  report(`${kind}: ${count} histories from seed ${seed}, ${seconds} s: ${verdict}`);
  return agree;
}

function report(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Runs another program of the tests with the remaining arguments; returns its exit code. */
async function runOther(...args: string[]): Promise<number> {
  const config = fileURLToPath(new URL("deno.json", import.meta.url));
  const [command = "", ...rest] = args;
  const child = new Deno.Command(Deno.execPath(), {
    args: [command, "-A", "--config", config, ...rest],
  });
  return (await child.spawn().status).code;
}

/** @throws {RangeError} for anything but a whole number above 0 */
function wholeNumber(text: string): string {
  if (!/^[1-9]\d*$/.test(text)) throw new RangeError(`"${text}" is not a whole number above 0`);
  return text;
}

/** Runs each test that kills processes with a number of kills, on every database. */
async function proveKills([count = "50"]: string[]): Promise<number> {
  process.env.PROVE_KILLS = wholeNumber(count);
  const files = ["embedded", "import", "prune", "watch", "webhook"]
    .map((name) => fileURLToPath(new URL(`e2e/${name}_kill_test.ts`, import.meta.url)));
  return await runOther("test", ...files);
}

async function main(): Promise<number> {
  const [kind, ...rest] = process.argv.slice(2);
  const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  if (kind === "mutants") return await runOther("test", file("oracle/reveal_mutants.ts"), ...rest);
  if (kind === "kills") return await proveKills(rest);
  if (kind === "requests") {
    return await runOther("test", file("routes/random_requests_test.ts"), "--", ...rest);
  }
  if (kind === "evidence") {
    process.env.EVIDENCE_HISTORIES = wholeNumber(rest[0] ?? "200");
    const files = ["evidence_histories", "truths"].map((name) => file(`oracle/${name}_test.ts`));
    return await runOther("test", ...files);
  }
  if (kind === "reports") return await runOther("run", file("mutate.ts"), ...rest);
  if (kind === "recall") {
    return await runOther("run", file("../tools/measure/laboratory/recall.ts"), ...rest);
  }
  const request = taskOptions(readOptions, {
    usage:
      "Usage: deno task prove COUNT [--seed N] [--path P] [--database embedded|server] [--jobs N]\n" +
      "       deno task prove mutants\n" +
      "       deno task prove recall\n" +
      "       deno task prove kills|evidence|requests [COUNT]\n" +
      "       deno task prove reports COUNT [--seed N] [--only NAME]",
    example: "deno task prove 1000 --seed 1",
  });
  for (const kind of request.kinds) {
    const isOne = request.path !== undefined || request.count <= BATCH_HISTORIES;
    if (!await (isOne ? proveBatch : proveAll)(kind, request)) return 1;
  }
  return 0;
}

if (import.meta.main) Deno.exit(await main());
