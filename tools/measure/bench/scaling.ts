// deno-lint-ignore-file no-console -- a program of its own
/**
 * What `docs/scaling.md` computes with: `deno run -A --config tests/deno.json tools/measure/bench/scaling.ts
 * [--only NAME,...]`.
 *
 * Sections: `cost` (processor time of a request), `processes` (1, 2 and 4 `serve` on one port, and two behind nginx), `workers` (1, 2 and 3
 * `watch` that empty one queue), `day` (rows, bytes and log of a day's submissions), `cache` (memory
 * of a `serve` that keeps the lists of many repositories). Prints one JSON object.
 */
import { V8_FLAGS } from "../../permissions.ts";
import { parseArgs } from "node:util";
import { openDatabase } from "../../../db/connection/connect.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { cpuSeconds, endedConnectionsCpuSeconds } from "./cpu.ts";
import { emptyQueue, makeQueue } from "./queue.ts";
import { saturate } from "./load.ts";
import { type PostgresServer, startPostgres } from "./postgres_server.ts";
import { type Contestant, startContestant } from "./processes.ts";
import { startNginx } from "./nginx.ts";
import { fillSmallOrganization, type SmallOrganization } from "./small_fixture.ts";
import { median, takeTurns } from "./slices.ts";
import { weighDay } from "./day.ts";
import { pause } from "../../../lib/base/delay.ts";

const SECTIONS = ["day", "workers", "cache", "cost", "processes"];
const ROUNDS = 7;
const SECONDS = 2;
const COST_SECONDS = 8;
const WORKER_COUNTS = [1, 2, 3];
const WORKER_ROUNDS = 3;
const MAIN = new URL("../../../main.ts", import.meta.url).pathname;

/** One `serve`, from source. */
function startServe(databaseUrl: string): Promise<Contestant> {
  const args = ["run", "-A", V8_FLAGS, MAIN, "serve", "--port", "0"];
  return startContestant(Deno.execPath(), args, { DATABASE_URL: databaseUrl });
}

/** Requests per second of one process, and of two behind a proxy. */
async function measureProcesses({ databaseUrl, token, paths }: SmallOrganization) {
  const started: Contestant[] = [];
  try {
    const behind = await Promise.all([1, 2].map(() => startServe(databaseUrl)));
    started.push(...behind);
    const urls: Record<string, string> = { 1: behind[0]!.url };
    const nginx = await startNginx(behind.map(({ url }) => url));
    if (nginx) {
      started.push(nginx);
      urls["2 behind nginx"] = nginx.url;
    }
    const headers = { authorization: `Bearer ${token}` };
    const measured = await takeTurns(
      Object.fromEntries(
        Object.entries(urls).map(([name, url]) => [
          name,
          () => saturate({ url: url + paths[0], headers }, SECONDS),
        ]),
      ),
      ROUNDS,
    );
    return Object.entries(measured).map(([processes, slices]) => ({
      processes,
      rps: Math.round(median(slices.map(({ rps }) => rps))),
      p99_ms: median(slices.map(({ p99Ms }) => p99Ms)),
    }));
  } finally {
    await Promise.all(started.map((one) => one.stop()));
  }
}

/** Processor time of a request, in the process that answers and in the database. */
async function measureCost({ databaseUrl, token, paths }: SmallOrganization) {
  const headers = { authorization: `Bearer ${token}` };
  const costs = [];
  for (const [what, asked] of [["one page", paths.slice(0, 1)], ["200 pages", paths]] as const) {
    const databaseBefore = await endedConnectionsCpuSeconds(databaseUrl);
    const one = await startServe(databaseUrl);
    const target = { url: one.url, headers, paths: asked, repeatsPaths: true };
    await saturate(target, SECONDS);
    const before = await cpuSeconds(one.pid);
    const { rps } = await saturate(target, COST_SECONDS);
    const serve = await cpuSeconds(one.pid) - before;
    await one.stop();
    // A connection tells what it used when it has ended; the warm-up was like the rest.
    await pause(500);
    const database = await endedConnectionsCpuSeconds(databaseUrl) - databaseBefore;
    const requests = rps * COST_SECONDS;
    costs.push({
      what,
      serve_us: Math.round(serve / requests * 1e6),
      database_us: Math.round(database / (requests * (1 + SECONDS / COST_SECONDS)) * 1e6),
    });
  }
  return costs;
}

/** Results per second of some watchers that empty one queue together. */
async function measureWorkers(server: PostgresServer) {
  const queue = await makeQueue();
  try {
    const measured = await takeTurns(
      Object.fromEntries(WORKER_COUNTS.map((count) => [
        count,
        async () => {
          const databaseUrl = await server.createDatabase("workers");
          return await emptyQueue(queue, { databaseUrl, workers: count });
        },
      ])),
      WORKER_ROUNDS,
    );
    const microseconds = (seconds: number[]) => median(seconds) / queue.resultCount * 1e6;
    return Object.entries(measured).map(([workers, runs]) => ({
      workers: Number(workers),
      results_per_second: Math.round(queue.resultCount / median(runs.map((run) => run.seconds))),
      watch_us: microseconds(runs.map((run) => run.cpuSeconds)),
      database_us: microseconds(runs.map((run) => run.databaseCpuSeconds)),
    }));
  } finally {
    await queue.remove();
  }
}

/** What a process weighs before and after it has answered for every repository. */
async function measureCache({ databaseUrl, token, paths }: SmallOrganization) {
  const one = await startServe(databaseUrl);
  try {
    const headers = { authorization: `Bearer ${token}` };
    const ask = async (path: string) => {
      const response = await fetch(one.url + path, { headers });
      if (!response.ok) throw new Error(`${path}: ${response.status}`);
      await response.body?.cancel();
    };
    const idle = await memoryMb(one.pid);
    for (const path of paths) await ask(path);
    return {
      repositories: paths.length,
      idle_mb: idle,
      with_all_repositories_mb: await memoryMb(one.pid),
    };
  } finally {
    await one.stop();
  }
}

async function memoryMb(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

const { values } = parseArgs({
  options: { only: { type: "string", default: SECTIONS.join(",") } },
});
const wanted = new Set(values.only.split(","));
const server = await startPostgres({ shared_buffers: "256MB", max_wal_size: "4GB" });
const results: Record<string, unknown> = {};
try {
  if (wanted.has("day")) {
    const databaseUrl = await server.createDatabase("day");
    const database = await openDatabase({ databaseUrl, dataDir: "" });
    await migrate(database.sql);
    results.day = await weighDay(database.sql, databaseUrl);
    await database.close();
    console.error(results.day);
  }
  if (wanted.has("workers")) {
    results.workers = await measureWorkers(server);
    console.error(results.workers);
  }
  if (["processes", "cache", "cost"].some((name) => wanted.has(name))) {
    const filled = await fillSmallOrganization(await server.createDatabase("small"), console.error);
    if (wanted.has("cache")) {
      results.cache = await measureCache(filled);
      console.error(results.cache);
    }
    if (wanted.has("cost")) {
      results.cost = await measureCost(filled);
      console.error(results.cost);
    }
    if (wanted.has("processes")) results.processes = await measureProcesses(filled);
  }
} finally {
  await server.stop();
}
console.log(JSON.stringify(results, null, 2));
