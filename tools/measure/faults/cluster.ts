/** Kills and stops servers of a Citus cluster while the program works. */
import assert from "node:assert/strict";
import postgres from "postgres";
import { launch } from "../../../tests/e2e/launch.ts";
import { type Cluster, hasCitus, makeCluster } from "../../../tests/e2e/cluster.ts";
import { run } from "../../../tests/e2e/program.ts";
import { killRow, kills } from "./kill.ts";
import type { FaultOptions } from "./main.ts";
import { useServer } from "./run_database.ts";
import { type Row, spread } from "./row.ts";
import { SystemUnderTest } from "./system_under_test.ts";
import { stopRow } from "./server_stops.ts";
import { putArchive } from "./uploads.ts";
import { pause } from "../../../lib/base/delay.ts";

/** Stops of each kind. */
const MOST_STOPS = 10;

/** How long a server is away. */
const AWAY_MS = 3_000;

/** What fails: programs, the servers of a cluster, and a commit on two servers in its middle. */
export async function clusterFaults({ tries, random, say }: FaultOptions): Promise<Row[]> {
  if (!await hasCitus()) {
    say("citus: left out, expected Citus to be installed");
    return [];
  }
  const rows: Row[] = [];
  const on = async (faults: (system: SystemUnderTest, cluster: Cluster) => Promise<Row>) => {
    const cluster = await makeCluster(2, { fsync: "on" });
    const system = await SystemUnderTest.on(
      await useServer(cluster.coordinator, cluster.remove),
      random,
    );
    try {
      rows.push({ ...await faults(system, cluster), database: "cluster" });
      say(JSON.stringify(rows.at(-1)));
    } finally {
      await system.remove();
    }
  };
  for (const command of ["ingest", "watch"] as const) {
    const count = Math.ceil(tries / 6);
    await on(async (system) =>
      killRow(command, "cluster", await kills(system, { command, count, say }))
    );
  }
  const rounds = Math.min(tries, MOST_STOPS);
  for (const awayMs of [0, AWAY_MS]) {
    const stop = { mode: "immediate", awayMs, rounds, say } as const;
    await on((system, { workers }) =>
      stopRow(system, { ...stop, servers: workers.slice(0, 1), name: "one of two workers" })
    );
    await on((system, { workers }) =>
      stopRow(system, { ...stop, servers: workers, name: "all workers" })
    );
    await on((system, { coordinator }) =>
      stopRow(system, { ...stop, servers: [coordinator], name: "the coordinator" })
    );
  }
  for (const at of ["before", "after"] as const) {
    await on((system, cluster) => commitFaults(system, cluster, { at, rounds }));
  }
  return rows;
}

/**
 * Kills the coordinator in the middle of a two-phase commit of an archive, before or after its own
 * commit. The archive is the first upload of its repository.
 */
async function commitFaults(
  system: SystemUnderTest,
  { coordinator, workers }: Cluster,
  { at, rounds }: { at: "before" | "after"; rounds: number },
): Promise<Row> {
  await using(coordinator.url, (sql) => makeCommitsWait(sql, at));
  const recoveryMs: number[] = [];
  const preparedCount = async () => {
    const counts = await Promise.all(
      workers.map(({ url }) =>
        using(url, async (sql) => (await sql`select 1 from pg_prepared_xacts`).length)
      ),
    );
    return counts.reduce((sum, count) => sum + count);
  };
  for (let round = 0; round < rounds; round++) {
    system.nextRepository();
    const upload = system.nextUpload(50);
    const key = await putArchive(upload, system.folder);
    const args = ["watch", system.folder, "--org", "acme", "--once", "--lease", "1s"];
    const holder = postgres(coordinator.url, { max: 1, onnotice: () => {} });
    const held = holder.begin(async (tx) => {
      await tx`set local synchronous_commit = on`;
      await tx`select pg_logical_emit_message(true, 'held', '')`;
      await tx`notify held`;
    }).catch(() => {});
    await pause(300);
    const watcher = launch(args, system.runDatabase.environment);
    while (await preparedCount() === 0) await pause(20);
    await pause(200);
    assert.doesNotMatch((await watcher.kill()).stdout, /processed/);
    await coordinator.stop("immediate");
    await held;
    await holder.end({ timeout: 0 });
    await coordinator.start();
    const begun = performance.now();
    while (await preparedCount() > 0) await pause(20);
    recoveryMs.push(performance.now() - begun);
    await using(coordinator.url, (sql) => sql`drop trigger wait on archive`);
    await pause(1_100);
    const { code, stdout, stderr } = await run(args, system.runDatabase.environment);
    assert.equal(code, 0, stderr);
    assert.equal(stdout.startsWith(`${key}\tprocessed\t`), at === "before", stdout);
    system.certain.push(upload);
    assert.equal((await system.check()).unprocessed, 0);
    await Deno.remove(`${system.folder}/${key}`);
    await using(coordinator.url, createTrigger);
  }
  return {
    fault: `the coordinator killed between the two phases of a commit, ${at} its own`,
    database: "cluster",
    tries: rounds,
    seen: at === "before" ? "the archive is processed again" : "the archive is processed",
    lost: "nothing",
    recovery: spread(recoveryMs),
  };
}

/**
 * Makes transactions wait that mark an archive as processed: after their commit for a standby that does
 * not exist, or before it for the commit of another one that notifies too.
 */
async function makeCommitsWait(sql: postgres.Sql, at: "before" | "after"): Promise<void> {
  const wait = at === "before"
    ? "notify processed"
    : "perform set_config('synchronous_commit', 'on', true)";
  await sql`alter database postgres set synchronous_commit = local`;
  await sql.unsafe(`
    create function wait() returns trigger language plpgsql as
    $$ begin ${wait}; return null; end $$`);
  await createTrigger(sql);
  await sql`alter system set synchronous_standby_names = 'none'`;
  await sql`select pg_reload_conf()`;
}

async function createTrigger(sql: postgres.Sql): Promise<void> {
  await sql`
    create trigger wait after update on archive for each row
    when (new.status = 'processed') execute function wait()`;
}

async function using<T>(url: string, body: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await body(sql);
  } finally {
    await sql.end();
  }
}
