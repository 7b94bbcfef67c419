/**
 * The servers of one database: two apps in this process and one process, each with connections and
 * caches of its own that live from one history to the next.
 */
import { silentLog } from "../silent_log.ts";
import { createApp } from "../../routes/mod.ts";
import { openAgain, type TestDatabase } from "../database.ts";
import { startClocked } from "./clocked_process.ts";
import { gatedSql } from "./gated_sql.ts";
import { WINDOWS } from "./history.ts";
import { Ledger } from "./ledger.ts";

/** All servers of a database. */
export interface Fleet {
  /** Number of servers. */
  readonly size: number;
  readonly ledger: Ledger;
  /** The clock of all of them, in seconds since 1970. */
  setClock(now: number): Promise<void>;
  /** Awaited after each statement of the delayed server; `null` for no delay. */
  setGate(gate: (() => Promise<void>) | null): void;
  send(server: number, request: {
    path: string;
    windowSeconds: number;
    headers: Record<string, string>;
  }): Promise<Response>;
  close(): Promise<void>;
}

/** One server. */
type Server = Parameters<Fleet["send"]>[1] extends infer Request
  ? (request: Request) => Promise<Response>
  : never;

/** Starts a prompt app, a delayed app and a process. */
export async function openFleet(database: TestDatabase): Promise<Fleet> {
  let clock = 0;
  let gate: (() => Promise<void>) | null = null;
  const pools = [await openAgain(database), await openAgain(database)];
  const [prompt, delayed] = pools.map(({ sql }) => sql);
  const process = await startClocked(database.place, WINDOWS);
  const app = (sql: typeof prompt & object): Server => {
    const apps = new Map(WINDOWS.map((windowSeconds) => [
      windowSeconds,
      createApp({ sql, now: () => clock, windowSeconds, log: silentLog }),
    ]));
    return ({ path, windowSeconds, headers }) =>
      apps.get(windowSeconds)!(new Request(new URL(path, "http://127.0.0.1"), { headers }));
  };
  const servers: Server[] = [
    app(prompt!),
    // A delay after a statement is one before the next; before the first it would have no effect.
    app(gatedSql(delayed!, async (place) => place === "after" ? await gate?.() : undefined)),
    ({ path, windowSeconds, headers }) => process.send(windowSeconds, path, headers),
  ];
  return {
    size: servers.length,
    ledger: new Ledger(),
    async setClock(now) {
      clock = now;
      await process.setClock(now);
    },
    setGate(wanted) {
      gate = wanted;
    },
    send: (server, request) => servers[server % servers.length]!(request),
    async close() {
      await process.close();
      for (const pool of pools) await pool.close();
    },
  };
}
