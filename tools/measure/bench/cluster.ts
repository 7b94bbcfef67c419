// deno-lint-ignore-file no-console -- a program of its own
/**
 * What a Citus cluster costs and brings, next to one server:
 * `deno run -A --config tests/deno.json tools/measure/bench/cluster.ts [--workers 0,1,2,4] [--builds 20]`.
 *
 * All servers are on this machine, so that more workers bring no more processors: compare the processor
 * time of each server, from which `docs/scaling.md` computes. 0 workers: a server without Citus. Prints
 * a row of Markdown for each.
 */
import { parseArgs } from "node:util";
import { openDatabase } from "../../../db/connection/connect.ts";
import type { Queryable } from "../../../db/connection/sql.ts";
import { loadWorkers } from "../../../db/schema/distribute.ts";
import { findOrganization } from "../../../db/admin/organizations.ts";
import { type Cluster, makeCluster } from "../../../tests/e2e/cluster.ts";
import { makeOwnServer, type OwnServer } from "../../../tests/e2e/postgres.ts";
import { latencies } from "../faults/measure.ts";
import { useServer } from "../faults/run_database.ts";
import { serverCpuSeconds } from "./cpu.ts";
import { runJobs } from "./fill.ts";
import { ingest } from "./ingest.ts";
import { startProgram } from "./processes.ts";
import { median } from "./slices.ts";

const REPOSITORIES = 20;
const TESTS = 2_000;
const REQUESTS = 500;
const INGESTS = 7;

async function measure(workerCount: number, builds: number): Promise<string[]> {
  const cluster: Cluster = workerCount > 0 ? await makeCluster(workerCount, { fsync: "on" }) : {
    coordinator: await makeOwnServer({ fsync: "on" }),
    workers: [],
    remove: () => cluster.coordinator.remove(),
  };
  const { coordinator, workers } = cluster;
  const databaseUrl = coordinator.url;
  const { token } = await useServer(coordinator, cluster.remove);
  const { sql, close } = await openDatabase({ databaseUrl, dataDir: "", maxConnections: 1 });
  try {
    const until = Math.floor(Date.now() / 1000) - 60;
    const organization = await findOrganization(sql, "acme");
    const fill = (part: string, buildCount: number, seed: number) =>
      runJobs(
        Array.from({ length: REPOSITORIES }, (_, index) => ({
          databaseUrl,
          organization: organization!,
          owner: "acme",
          name: `shop-${index}`,
          part,
          shape: {
            seed: seed + index,
            testCount: TESTS,
            buildCount,
            shardCount: 1,
            disruptiveTestCount: 40,
            disruptionCount: buildCount,
            from: until - 86_400,
            until,
          },
        })),
        { expected: REPOSITORIES * buildCount * TESTS, report: () => {} },
      );
    await fill("first", 1, 1);
    const before = await usage([coordinator, ...workers]);
    const begun = performance.now();
    await fill("measured", builds, 1_000);
    const seconds = (performance.now() - begun) / 1000;
    const uploads = REPOSITORIES * builds;
    const perUpload = (await usage([coordinator, ...workers]))
      .map((used, index) => (used - before[index]!) / uploads * 1000);
    const times = await pageTimes(databaseUrl, token);
    const ingests = await ingestSeconds(databaseUrl);
    const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
    const bytes = await bytesOf(sql);
    return [
      workerCount === 0 ? "one server" : `${workerCount} workers`,
      (uploads / seconds).toFixed(0),
      perUpload[0]!.toFixed(1),
      workerCount === 0 ? "" : sum(perUpload.slice(1)).toFixed(1),
      `${times[Math.floor(REQUESTS / 2)]!.toFixed(2)}, ${
        times[Math.floor(REQUESTS * 0.99)]!.toFixed(2)
      }`,
      (median(ingests) * 1000).toFixed(0),
      bytes.map((each) => (each / 1e6).toFixed(0)).join(", "),
    ];
  } finally {
    await close();
    await cluster.remove();
  }
}

/** Times of requests for a page, in milliseconds, sorted. */
async function pageTimes(databaseUrl: string, token: string): Promise<number[]> {
  const serve = await startProgram(databaseUrl);
  try {
    const url = `${serve.url}/api/repos/acme/shop-1/tests?limit=25`;
    await latencies(url, { token, count: REQUESTS });
    return await latencies(url, { token, count: REQUESTS });
  } finally {
    await serve.stop();
  }
}

/** Times of the program `ingest`, from start to exit, for reports of known tests. */
async function ingestSeconds(databaseUrl: string): Promise<number[]> {
  const report = await Deno.makeTempFile({ suffix: ".xml" });
  try {
    await Deno.writeTextFile(report, reportOf(TESTS));
    const seconds: number[] = [];
    for (let index = 0; index <= INGESTS; index++) {
      seconds.push((await ingest(databaseUrl, "acme/ingested", report)).seconds);
    }
    return seconds.slice(1);
  } finally {
    await Deno.remove(report);
  }
}

function reportOf(count: number): string {
  const cases = Array.from(
    { length: count },
    (_, index) => `<testcase classname="shop" name="case ${index}" time="0.01"/>`,
  );
  return `<testsuite name="shop">${cases.join("\n")}</testsuite>`;
}

/** Seconds of processor time of each server. */
async function usage(servers: OwnServer[]): Promise<number[]> {
  return await Promise.all(servers.map(async (server) => serverCpuSeconds(await server.pid())));
}

/** Bytes of the tables of one server, or of each worker. */
async function bytesOf(sql: Queryable): Promise<number[]> {
  const workers = await loadWorkers(sql);
  if (workers.length > 0) return workers.map(({ bytes }) => bytes);
  const [row] = await sql<{ bytes: number }[]>`
    select sum(pg_total_relation_size(oid))::float8 as bytes from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace`;
  return [row!.bytes];
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      workers: { type: "string", default: "0,1,2,4" },
      builds: { type: "string", default: "20" },
    },
  });
  console.log(
    "| servers | uploads a second | ms of processor an upload: coordinator | workers | " +
      "ms of a page, p50 and p99 | ms of `ingest` | MB of each |",
  );
  console.log("| --- | --: | --: | --: | --: | --: | --: |");
  for (const count of values.workers.split(",").map(Number)) {
    console.log(`| ${(await measure(count, Number(values.builds))).join(" | ")} |`);
  }
}
