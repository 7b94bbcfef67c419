/**
 * Those who serve one database: apps of this process, and a process of its own, each with
 * connections and caches that it keeps from one history to the next. What one of them learns the
 * others have to notice by themselves.
 */
import { silentLog } from "../../lib/base/log.ts";

import { createApp } from "../../routes/mod.ts";
import { again, type TestDatabase } from "../database.ts";
import { startClocked } from "./clocked_process.ts";
import { gatedSql } from "./gated_sql.ts";
import { WINDOWS } from "./history.ts";
import { Ledger } from "./ledger.ts";

/** All who serve. */
export interface Fleet {
  /** How many there are. */
  readonly size: number;
  readonly ledger: Ledger;
  /** The clock of all of them, in seconds since 1970. */
  setClock(now: number): Promise<void>;
  /** Waited for after each statement of the one that dawdles; `null` for no waiting. */
  setGate(gate: (() => Promise<void>) | null): void;
  ask(server: number, request: {
    path: string;
    windowSeconds: number;
    headers: Record<string, string>;
  }): Promise<Response>;
  close(): Promise<void>;
}

/** One that serves. */
type Server = Parameters<Fleet["ask"]>[1] extends infer Request
  ? (request: Request) => Promise<Response>
  : never;

/** Opens all who serve a database: a prompt app, one that dawdles, and a process of its own. */
export async function openFleet(database: TestDatabase): Promise<Fleet> {
  let clock = 0;
  let gate: (() => Promise<void>) | null = null;
  const pools = [await again(database), await again(database)];
  const [prompt, dawdling] = pools.map(({ sql }) => sql);
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
    // To wait before the first statement would be to begin later, before others is after the last.
    app(gatedSql(dawdling!, async (place) => place === "after" ? await gate?.() : undefined)),
    ({ path, windowSeconds, headers }) => process.ask(windowSeconds, path, headers),
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
    ask: (server, request) => servers[server % servers.length]!(request),
    async close() {
      await process.close();
      for (const pool of pools) await pool.close();
    },
  };
}
