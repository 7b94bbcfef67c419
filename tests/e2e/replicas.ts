/** A primary and a standby with data, and servers on both. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type postgres from "postgres";
import { openDatabase } from "../../db/connection/connect.ts";
import { makeOwnServer, makeStandby, type OwnServer } from "./postgres.ts";
import { runHere } from "./prepare.ts";
import type { Ending, Running } from "./program.ts";
import { pause } from "../../lib/base/delay.ts";

/** A response. */
export interface SeenResponse {
  status: number;
  etag: string | null;
  body: string;
}

/** A primary and its standby. */
export class Replicas {
  readonly primary: OwnServer;
  readonly standby: OwnServer;
  readonly folder: string;

  private constructor(primary: OwnServer, standby: OwnServer, folder: string) {
    this.primary = primary;
    this.standby = standby;
    this.folder = folder;
  }

  /** Starts both with the schema of the program. */
  static async start(): Promise<Replicas> {
    const folder = await Deno.makeTempDir({ prefix: "test-analytics-replicas-" });
    const primary = await makeOwnServer();
    try {
      return new Replicas(primary, await makeStandby(primary), folder);
    } catch (error) {
      await primary.remove();
      throw error;
    }
  }

  async remove(): Promise<void> {
    await this.standby.remove();
    await this.primary.remove();
    await Deno.remove(this.folder, { recursive: true });
  }

  /** Resolves when the standby has replayed everything from the primary. */
  async untilReplayed(): Promise<void> {
    const wanted = await statement(this.primary, async (sql) => {
      const [row] = await sql<{ position: string }[]>`
        select pg_current_wal_lsn()::text as position`;
      return row!.position;
    });
    await statement(this.standby, async (sql) => {
      for (const begun = performance.now(); performance.now() - begun < 10_000;) {
        const [row] = await sql<{ isThere: boolean }[]>`
          select pg_last_wal_replay_lsn() >= ${wanted}::text::pg_lsn as "isThere"`;
        if (row!.isThere) return;
        await pause(10);
      }
      assert.fail("the standby did not catch up");
    });
  }

  /** Stops the standby from showing what comes from the primary. */
  async pauseReplay(): Promise<void> {
    await statement(this.standby, (sql) => sql`select pg_wal_replay_pause()`);
  }

  async resumeReplay(): Promise<void> {
    await statement(this.standby, (sql) => sql`select pg_wal_replay_resume()`);
    await this.untilReplayed();
  }

  /** Takes in one failure and one pass of each of `names` at a commit, by the program. */
  async ingest(
    url: string,
    { commit, names }: { commit: string; names: string[] },
  ): Promise<Ending> {
    const report = join(this.folder, `${commit}.xml`);
    await Deno.writeTextFile(report, flakyReport(names));
    const args = `ingest --org acme --repo acme/shop --build-url https://ci.example/${commit}`;
    return await runHere([...args.split(" "), "--commit", `${commit}00000`, report], {
      DATABASE_URL: url,
    });
  }
}

/** A report in which every test fails once and passes once. */
export function flakyReport(names: string[]): string {
  const cases = names.map((name) =>
    `<testcase name="${name}" classname="Cart"><flakyFailure message="expected 1"/></testcase>`
  );
  return `<testsuite name="shop">${cases.join("")}</testsuite>`;
}

/** Runs something on a connection of its own. */
export async function statement<T>(
  server: OwnServer,
  body: (sql: postgres.Sql) => PromiseLike<T>,
): Promise<T> {
  const database = await openDatabase({
    databaseUrl: server.url,
    dataDir: "",
    maxConnections: 1,
  });
  try {
    return await body(database.sql);
  } finally {
    await database.close();
  }
}

/** Asks a running service. */
export async function ask(running: Running, path: string, token: string): Promise<SeenResponse> {
  const response = await fetch(`${running.url}${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return {
    status: response.status,
    etag: response.headers.get("etag"),
    body: await response.text(),
  };
}

/** How often each of some services gave which status. */
type Tally<Name extends string> = Record<Name, Record<string, number>>;

/** Asks services without a pause, until it is stopped. */
export function startLoad<Name extends string>(
  services: Record<Name, Running>,
  token: string,
): { stop(): Promise<Tally<Name>> } {
  let isOver = false;
  const names = Object.keys(services) as Name[];
  const tally = Object.fromEntries(names.map((name) => [name, {}])) as Tally<Name>;
  const asking = names.map(async (name) => {
    const counts: Record<string, number> = tally[name];
    while (!isOver) {
      const { status, body } = await ask(services[name], "/api", token);
      assert.equal(body, "");
      counts[status] = (counts[status] ?? 0) + 1;
      await pause(5);
    }
  });
  return {
    async stop() {
      isOver = true;
      await Promise.all(asking);
      return tally;
    },
  };
}
