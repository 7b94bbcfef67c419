/** Stops a PostgreSQL server, or fails it over to a standby, while the program works. */
import postgres from "postgres";
import { startForwarder } from "../../../tests/e2e/forwarder.ts";
import {
  installedServer,
  makeOwnServer,
  makeStandby,
  type OwnServer,
} from "../../../tests/e2e/postgres.ts";
import { type Load, settle, startLoad } from "./load.ts";
import type { FaultOptions } from "./main.ts";
import { useServer } from "./run_database.ts";
import { addTally } from "./prober.ts";
import { type Row, seconds, spread, tallyText } from "./row.ts";
import { SystemUnderTest } from "./system_under_test.ts";
import { pause } from "../../../lib/base/delay.ts";

/** Stops of each kind, and fail-overs of each kind. */
const MOST_STOPS = 10;
const MOST_FAIL_OVERS = 5;

/** How long there is load before and after. */
const LOAD_MS = 3_000;

/** How long a server is away. */
const AWAY_MS = 3_000;

/** How long a standby hears nothing before the primary is lost. */
const SILENCE_MS = 2_500;

/** What was seen of one kind of fault. */
class Findings {
  readonly tally = new Map<string, number>();
  readonly recoveryMs: number[] = [];
  gapMs = 0;
  acknowledged = 0;
  refused = 0;
  lost = 0;

  /** Takes the outcome of a load into account, and what is left of it in the database. */
  async add(
    system: SystemUnderTest,
    load: Load,
    options: { mayBeLost?: boolean } = {},
  ): Promise<void> {
    const outcome = await load.stop();
    addTally(this.tally, outcome.seen.tally);
    this.gapMs = Math.max(this.gapMs, outcome.seen.longestGapMs);
    this.acknowledged += outcome.acknowledged.length;
    this.refused += outcome.refused.length;
    this.lost += (await settle(system, outcome, options)).length;
  }

  row(fault: string, tries: number): Row {
    const uploads = this.refused + this.acknowledged;
    const intake = this.refused === 0
      ? `all ${uploads} uploads acknowledged`
      : `${this.refused} of ${uploads} uploads failed, and were stored when repeated`;
    return {
      fault,
      database: "server",
      tries,
      seen: `${tallyText(this.tally)}; longest without an answer ${seconds(this.gapMs)}; ${intake}`,
      lost: this.lost === 0 ? "nothing" : `${this.lost} of ${this.acknowledged} uploads`,
      recovery: spread(this.recoveryMs),
    };
  }
}

/** A server that is stopped and started, at once and after a while, in both ways. */
export async function stopFaults({ tries, random, say }: FaultOptions): Promise<Row[]> {
  if (!hasServer(say)) return [];
  const rows: Row[] = [];
  for (const mode of ["fast", "immediate"] as const) {
    for (const awayMs of [0, AWAY_MS]) {
      const server = await makeOwnServer({ fsync: "on" });
      const system = await SystemUnderTest.on(
        await useServer(server, () => server.remove()),
        random,
      );
      try {
        const rounds = Math.min(tries, MOST_STOPS);
        const stop = { servers: [server], name: "PostgreSQL", mode, awayMs, rounds, say };
        rows.push(await stopRow(system, stop));
        say(JSON.stringify(rows.at(-1)));
      } finally {
        await system.remove();
      }
    }
  }
  return rows;
}

/** Stops and starts servers under load. */
export async function stopRow(
  system: SystemUnderTest,
  { servers, name, mode, awayMs, rounds, say }: Pick<FaultOptions, "say"> & {
    servers: OwnServer[];
    name: string;
    mode: "fast" | "immediate";
    /** How long they are away. */
    awayMs: number;
    rounds: number;
  },
): Promise<Row> {
  const findings = new Findings();
  for (let round = 0; round < rounds; round++) {
    if (round % 5 === 0) await system.newRepository(300);
    const load = await startLoad(system);
    await pause(LOAD_MS * (0.5 + system.random.next()));
    for (const server of servers) await server.stop(mode);
    await pause(awayMs);
    for (const server of servers) await server.start();
    findings.recoveryMs.push(await load.prober.untilRight());
    await pause(LOAD_MS);
    await findings.add(system, load);
    say(`${mode}, ${awayMs} ms, round ${round}: recovered in ${findings.recoveryMs.at(-1)} ms`);
  }
  const what = awayMs === 0 ? "restarted" : `stopped for ${seconds(awayMs)}`;
  return findings.row(`${name} ${what} (${mode}) under load`, rounds);
}

/** A primary that is lost, and a standby that takes its place, in both ways of following. */
export async function failOverFaults({ tries, random, say }: FaultOptions): Promise<Row[]> {
  if (!hasServer(say)) return [];
  const rows: Row[] = [];
  const ways = [
    { name: "synchronous", isSynchronous: true, isCutOff: false },
    { name: "synchronous, cut off before", isSynchronous: true, isCutOff: true },
    { name: "asynchronous", isSynchronous: false, isCutOff: false },
    { name: "asynchronous, cut off before", isSynchronous: false, isCutOff: true },
  ];
  for (const way of ways) {
    const findings = new Findings();
    const rounds = Math.min(tries, MOST_FAIL_OVERS);
    for (let round = 0; round < rounds; round++) {
      await failOver(findings, { ...way, random });
      say(`${way.name}, round ${round}: recovered in ${findings.recoveryMs.at(-1)} ms`);
    }
    const cutOff = `, that heard nothing for the last ${seconds(SILENCE_MS)}`;
    const standby = way.isSynchronous ? "a synchronous standby" : "an asynchronous standby";
    rows.push(
      findings.row(`fail-over to ${standby}${way.isCutOff ? cutOff : ""}, under load`, rounds),
    );
    say(JSON.stringify(rows.at(-1)));
  }
  return rows;
}

async function failOver(
  findings: Findings,
  { isSynchronous, isCutOff, random }: Pick<FaultOptions, "random"> & {
    isSynchronous: boolean;
    isCutOff: boolean;
  },
): Promise<void> {
  const primary = await makeOwnServer({ fsync: "on" });
  const standby = await makeStandby(primary, { fsync: "on" });
  const address = await startForwarder(primary.port);
  const remove = async () => {
    address.close();
    await standby.remove();
    await primary.remove();
  };
  if (isSynchronous) await followSynchronously(primary);
  const system = await SystemUnderTest.on(await useServer(address, remove), random);
  try {
    await system.newRepository(300);
    const load = await startLoad(system);
    await pause(LOAD_MS * (0.5 + random.next()));
    if (isCutOff) {
      await cutOff(standby);
      await pause(SILENCE_MS);
    }
    await primary.stop("immediate");
    await standby.promote();
    address.switchTo(standby.port);
    findings.recoveryMs.push(await load.prober.untilRight());
    await pause(LOAD_MS);
    await findings.add(system, load, { mayBeLost: !isSynchronous });
  } finally {
    await system.remove();
  }
}

/** From now on the primary acknowledges what its standby has on its disk. */
async function followSynchronously({ url }: OwnServer): Promise<void> {
  const sql = postgres(url, { max: 1 });
  try {
    await sql`alter system set synchronous_standby_names = '*'`;
    await sql`select pg_reload_conf()`;
    for (;;) {
      const [row] = await sql<{ state: string }[]>`
        select sync_state as state from pg_stat_replication`;
      if (row?.state === "sync") return;
      await pause(50);
    }
  } finally {
    await sql.end();
  }
}

/** From now on the standby hears nothing of its primary. */
async function cutOff({ url }: OwnServer): Promise<void> {
  const sql = postgres(url, { max: 1 });
  try {
    await sql`alter system set primary_conninfo = ''`;
    await sql`select pg_reload_conf()`;
    for (;;) {
      const [row] = await sql`select from pg_stat_wal_receiver`;
      if (!row) return;
      await pause(20);
    }
  } finally {
    await sql.end();
  }
}

/** Whether there is a PostgreSQL server to start; says so when not. */
export function hasServer(say: (text: string) => void): boolean {
  if (installedServer() !== null) return true;
  say("server: left out, expected a PostgreSQL server that Debian's packages installed");
  return false;
}
