/** Records the last use of tokens in the background. */
import { recordTokenUses, type TokenUse } from "../../db/admin/tokens.ts";
import { openDatabase } from "../../db/connection/connect.ts";
import { inspectEmbedded } from "../../db/embedded/folder.ts";
import { isDoneWithin } from "../base/delay.ts";
import { errorFields, type Log } from "../base/log.ts";
import { isDenied, isReadOnly } from "../../db/connection/errors.ts";
import type { DatabaseLocation } from "./settings.ts";

/** One connection for many tokens, soon enough for `token list`. */
const DELAY_MS = 5_000;
/** After an error; most outages are short, and `token list` shows the hour only. */
const AFTER_ERROR_MS = 30_000;
/** For the uses that are left at the end: the process must not wait for an unavailable server. */
const LAST_WRITE_MS = 3_000;
/** More valid tokens than an hour sees; 100 bytes each while the database is unavailable. */
const MAX_PENDING = 10_000;

/**
 * Records the last use of tokens until `close`, which writes what is left. The API itself only reads, so
 * this opens a connection of its own. After an error the uses are kept and written later; where the
 * database can never be written (a read-only role, a replica) one log line says so and it stops.
 */
export function recordTokenUsesLater(
  location: DatabaseLocation,
  log: Log,
  { delayMs = DELAY_MS, retryMs = AFTER_ERROR_MS } = {},
) {
  /** Hours by the hash of the token. */
  const pending = new Map<string, number>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> = Promise.resolve();
  let isOff = false;
  let isFailing = false;

  function keep({ hash, hour }: TokenUse): void {
    const known = pending.get(hash);
    if (known === undefined && pending.size >= MAX_PENDING) return;
    pending.set(hash, Math.max(hour, known ?? hour));
  }

  function writeAfter(ms: number): void {
    timer ??= setTimeout(() => writing = write(), ms);
  }

  async function write(): Promise<void> {
    timer = undefined;
    const uses = [...pending].map(([hash, hour]) => ({ hash, hour }));
    pending.clear();
    try {
      // Opening an embedded database that was deleted would create a new one.
      if (!location.databaseUrl && !(await inspectEmbedded(location.dataDir)).exists) return;
      const writer = await openDatabase({
        ...location,
        maxConnections: 1,
        statementTimeoutMs: LAST_WRITE_MS,
      });
      await recordTokenUses(writer.sql, uses).finally(writer.close);
      isFailing = false;
    } catch (error) {
      const { error: text } = errorFields(error);
      isOff ||= isReadOnly(error) || isDenied(error);
      if (isOff) return log.info("token uses are not recorded", { error: text });
      if (!isFailing) log.warn("token uses will be recorded later", { error: text });
      isFailing = true;
      for (const use of uses) keep(use);
      writeAfter(retryMs);
    }
  }

  return {
    record(use: TokenUse): void {
      if (isOff) return;
      keep(use);
      writeAfter(isFailing ? retryMs : delayMs);
    },
    async close(): Promise<void> {
      const writeRest = async () => {
        await writing;
        const hasRest = pending.size > 0 && !isOff;
        isOff = true;
        if (hasRest) await write();
      };
      clearTimeout(timer);
      await isDoneWithin(writeRest(), LAST_WRITE_MS);
      clearTimeout(timer);
    },
  };
}
