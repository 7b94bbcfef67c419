import { recordTokenUses, type TokenUse } from "../../db/admin/tokens.ts";
import { type Database, openDatabase } from "../../db/connection/connect.ts";
import { errorFields, type Log } from "../base/log.ts";
import type { DatabaseLocation } from "./settings.ts";

// One connection for many tokens, soon enough for `token list`.
const DELAY_MS = 5_000;

/**
 * Records the last use of tokens in the background, until `close`: the API itself only reads. A server
 * gets a connection of its own, as those of `serve` are read-only. Where it may not write (a read-only
 * role, a replica), one log line says so and it stops.
 */
export function recordTokenUsesLater(
  database: Database,
  { location, log, delayMs = DELAY_MS }: {
    location: DatabaseLocation;
    log: Log;
    delayMs?: number;
  },
) {
  let pending: TokenUse[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> = Promise.resolve();
  let isOff = false;

  async function write(): Promise<void> {
    timer = undefined;
    const uses = pending;
    pending = [];
    try {
      if (database.kind === "embedded") return await recordTokenUses(database.sql, uses);
      const writer = await openDatabase({ ...location, maxConnections: 1 });
      try {
        await recordTokenUses(writer.sql, uses);
      } finally {
        await writer.close();
      }
    } catch (error) {
      isOff = true;
      log.info("the last use of tokens is not recorded", { error: errorFields(error).error });
    }
  }

  return {
    record(use: TokenUse): void {
      if (isOff) return;
      pending.push(use);
      timer ??= setTimeout(() => writing = write(), delayMs);
    },
    async close(): Promise<void> {
      isOff = true;
      clearTimeout(timer);
      await writing;
    },
  };
}
