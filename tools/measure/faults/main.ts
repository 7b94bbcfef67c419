/**
 * Fault injection, with its results as rows of Markdown:
 * `deno task measure faults --only kill,disk --tries 200 --seed 1`.
 *
 * Exits with 1 at the first violation (an acknowledged upload is lost, a response is wrong), with 2 on
 * wrong usage.
 */
import process from "node:process";
import { inspect, parseArgs } from "node:util";
import { Random } from "../bench/random.ts";
import { clockFaults } from "./clock.ts";
import { clusterFaults } from "./cluster.ts";
import { connectionFaults } from "./connections.ts";
import { diskFaults } from "./disk.ts";
import { receiverFaults } from "./receiver.ts";
import { killFaults } from "./kill.ts";
import { failOverFaults, hasServer, stopFaults } from "./server_stops.ts";
import { taskOptions } from "../../../tests/task_options.ts";
import type { RunDatabase } from "./run_database.ts";
import { markdownTable, type Row } from "./row.ts";

/** Parameters of a fault. */
export interface FaultOptions {
  /** Number of tries, for faults at random times. */
  tries: number;
  random: Random;
  /** The databases, for faults that apply to both. */
  databases: readonly RunDatabase["kind"][];
  /** Reports progress. */
  say: (text: string) => void;
}

/** The faults, by the names that `--only` takes. */
export const FAULTS: Record<string, (options: FaultOptions) => Promise<Row[]>> = {
  kill: killFaults,
  receive: receiverFaults,
  connections: connectionFaults,
  disk: diskFaults,
  clock: clockFaults,
  stop: stopFaults,
  failover: failOverFaults,
  citus: clusterFaults,
};

const DATABASES = ["embedded", "server"] as const;

const DEFAULT_TRIES = 200;

/** The options of the command line. @throws {RangeError} for invalid ones */
export function readOptions(args: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: "string" },
      tries: { type: "string" },
      seed: { type: "string" },
      database: { type: "string" },
    },
  });
  const tries = Number(values.tries ?? DEFAULT_TRIES);
  const seed = values.seed === undefined
    ? crypto.getRandomValues(new Uint32Array(1))[0]!
    : Number(values.seed);
  const names = values.only?.split(",") ?? Object.keys(FAULTS);
  const unknown = names.find((name) => !(name in FAULTS));
  if (unknown !== undefined) {
    throw new RangeError(
      `invalid --only ${JSON.stringify(unknown)}: expected some of ${
        Object.keys(FAULTS).join(",")
      }`,
    );
  }
  if (positionals.length > 0 || !(Number.isInteger(tries) && tries > 0) || !(seed >= 0)) {
    throw new RangeError("expected a positive integer for --tries and an integer for --seed");
  }
  const databases = DATABASES.filter((kind) => (values.database ?? kind) === kind);
  if (databases.length === 0) {
    throw new RangeError(
      `invalid --database ${JSON.stringify(values.database)}: expected ${DATABASES.join(" or ")}`,
    );
  }
  return { tries, seed, names, databases };
}

function say(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
}

async function main(): Promise<number> {
  const request = taskOptions(readOptions, {
    usage: `
Usage: deno task measure faults [--only FAULTS] [--tries N] [--seed N] [--database embedded|server]

  --only FAULTS  some of ${Object.keys(FAULTS).join(",")}
  --tries N      how often each is tried (${DEFAULT_TRIES}; slow ones less often)`,
    example: "deno task measure faults --only kill --tries 6 --seed 1",
  });
  const { tries, seed, names } = request;
  const databases = request.databases.filter((kind) => kind === "embedded" || hasServer(say));
  say(`seed ${seed}`);
  const rows: Row[] = [];
  try {
    for (const name of names) {
      say(name);
      rows.push(...await FAULTS[name]!({ tries, random: new Random(seed), say, databases }));
    }
    return 0;
  } catch (error) {
    say(`FAILED: ${inspect(error)}`);
    return 1;
  } finally {
    process.stdout.write(markdownTable(rows));
  }
}

if (import.meta.main) Deno.exit(await main());
