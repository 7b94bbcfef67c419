/**
 * Damages fixtures at random and gives them to the readers of reports, coverage and archives:
 * `deno task prove reports 100000 [--seed N] [--only NAME]`.
 *
 * Exits with 1 at the first damaged file that is neither read nor clearly refused, and leaves it in
 * the folder for temporary files; with 2 when it was called wrongly.
 */
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { type Subject, SUBJECTS } from "./lib/report/mutation/subjects.ts";
import { MutantError, type Outcome, tryMutants } from "./lib/report/mutation/try_mutants.ts";

const MEGABYTE = 1024 * 1024;
const PROGRESS_COUNT = 10_000;

interface Wanted {
  count: number;
  seed: number;
  subjects: readonly Subject[];
}

function wanted(): Wanted {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seed: { type: "string" }, only: { type: "string" } },
  });
  const count = Number(positionals[0] ?? "100000");
  const seed = values.seed === undefined
    ? crypto.getRandomValues(new Uint32Array(1))[0]! % 1e9
    : Number(values.seed);
  if (positionals.length > 1 || !Number.isInteger(count) || count < 1 || !Number.isInteger(seed)) {
    throw new RangeError("expected a number of damaged files and a whole number as seed");
  }
  const subjects = SUBJECTS.filter(({ name }) => values.only === undefined || name === values.only);
  if (subjects.length === 0) {
    const names = SUBJECTS.map(({ name }) => name).join(", ");
    throw new RangeError(`found --only ${JSON.stringify(values.only)}, expected one of: ${names}`);
  }
  return { count, seed, subjects };
}

async function tryAll({ count, seed, subjects }: Wanted): Promise<boolean> {
  for (const subject of subjects) {
    const share = Math.ceil(count / subjects.length);
    const started = performance.now();
    try {
      const outcome = await tryMutants(subject, {
        count: share,
        seed,
        onProgress: (n) => {
          if (n % PROGRESS_COUNT === 0) say(`${subject.name}: ${n} files, ${memory()}`);
        },
      });
      tell(subject, { outcome, seed, seconds: (performance.now() - started) / 1_000 });
    } catch (error) {
      if (!(error instanceof MutantError)) throw error;
      const path = join(tmpdir(), "mutant.bin");
      await writeFile(path, error.bytes);
      say(`${error.message}\nthe file is ${path}`);
      return false;
    }
  }
  return true;
}

function tell(
  subject: Subject,
  { outcome, seed, seconds }: { outcome: Outcome; seed: number; seconds: number },
): void {
  const { readCount, refusedCount, slowest } = outcome;
  say(
    `${subject.name}: ${readCount} read, ${refusedCount} refused in ${seconds.toFixed(1)} s, ` +
      `the slowest ${slowest.milliseconds.toFixed(0)} ms (${slowest.bytes.length} bytes), ` +
      `${memory()}, seed ${seed}`,
  );
}

function memory(): string {
  const { rss, heapUsed } = process.memoryUsage();
  return `${Math.round(heapUsed / MEGABYTE)} MB of heap, ${Math.round(rss / MEGABYTE)} MB in all`;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

try {
  process.exitCode = await tryAll(wanted()) ? 0 : 1;
} catch (error) {
  if (!(error instanceof RangeError) && !(error instanceof TypeError)) throw error;
  say(error.message);
  process.exitCode = 2;
}
