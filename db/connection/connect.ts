import postgres from "postgres";
import { unavailable } from "./errors.ts";
import { Embedded } from "../embedded/mod.ts";
import { readDatabaseUrl } from "./database_url.ts";
import { wayToOneServer } from "./hosts.ts";
import { durablePool, type LifeOptions, type Pool } from "./pool.ts";

/** Oldest server whose SQL we speak. */
const MIN_SERVER_VERSION = 15;

/** A pool of 2 to 4 beat a greater one on two cores. */
const DEFAULT_MAX_CONNECTIONS = 4;

/** The embedded database does one thing after the other anyway. */
const DEFAULT_EMBEDDED_CONNECTIONS = 2;

/** A server that takes longer to let us in is as good as down. */
const CONNECT_TIMEOUT_SECONDS = 5;

/** How long `close` lets running statements finish. */
const CLOSE_TIMEOUT_SECONDS = 5;

/** An open database. */
export interface Database {
  /**
   * Runs statements. It does not fetch the server's types, which costs a statement for every
   * connection: never pass a JavaScript array as a parameter, pass JSON text and take it apart with
   * `json_to_recordset` or `json_array_elements_text`.
   */
  sql: postgres.Sql;
  /** `server` when `DATABASE_URL` names one, else `embedded`. */
  kind: "embedded" | "server";
  /**
   * Makes new connections for statements that come from now on. For when nothing has come from the
   * old ones for longer than a statement may take: the other side may have gone without a word.
   */
  renew(): void;
  /** Ends the connections; the owner of the embedded database first lets others finish. */
  close(): Promise<void>;
}

/** How to open a database. */
export interface DatabaseOptions {
  /** `postgres://...`; unset or empty: the embedded database. */
  databaseUrl?: string | undefined;
  /** Folder of the embedded database, created on first use. */
  dataDir: string;
  /** Refuses writes. Only a server can do so: the embedded database has one session for all. */
  readOnly?: boolean;
  /** Size of the pool: 4 on a server, 2 on the embedded database unless given. */
  maxConnections?: number;
  /** Ends statements that take longer, in milliseconds. A server's feature as well. */
  statementTimeoutMs?: number;
  /** Takes notices of the database; they are dropped otherwise. */
  onNotice?(text: string): void;
  /** Hears of every statement as it is sent, those around transactions too: for tests. */
  onStatement?(text: string, parameters: readonly unknown[]): void;
}

/**
 * Opens the database and makes sure that it answers.
 *
 * @throws {DatabaseError} with a message for people, which never contains the password
 */
export function openDatabase(options: DatabaseOptions): Promise<Database> {
  return options.databaseUrl ? openServer(options, options.databaseUrl) : openEmbedded(options);
}

async function openServer(options: DatabaseOptions, databaseUrl: string): Promise<Database> {
  const url = readDatabaseUrl(databaseUrl);
  const connection: Record<string, string | number | boolean> = {
    application_name: "test-analytics",
    // Compiling takes 25 ms, longer than any of our statements: the planner asks for it where it
    // expects a hundred times the rows that there are.
    jit: "off",
  };
  if (options.statementTimeoutMs) connection.statement_timeout = options.statementTimeoutMs;
  if (options.readOnly) connection.default_transaction_read_only = true;
  const timeoutSeconds = url.connectTimeoutSeconds ?? CONNECT_TIMEOUT_SECONDS;
  let pool: Pool | undefined;
  try {
    pool = durablePool(
      (life) =>
        postgres(url.text, {
          ...common(options, life),
          // Of several hosts we choose: the library stops answering when none of them does.
          host: url.addresses[0]?.host,
          port: url.addresses[0]?.port,
          max: options.maxConnections ?? DEFAULT_MAX_CONNECTIONS,
          connect_timeout: timeoutSeconds,
          connection,
        }),
      () => wayToOneServer(url, timeoutSeconds * 1000),
    );
    const [row] = await pool.sql<{ version: number }[]>`
      select current_setting('server_version_num')::integer / 10000 as version`;
    if (row && row.version < MIN_SERVER_VERSION) {
      throw new Error(
        `it runs PostgreSQL ${row.version}, expected ${MIN_SERVER_VERSION} or later`,
      );
    }
  } catch (error) {
    await pool?.close(0);
    throw unavailable(error, url);
  }
  const { sql, close, renew } = pool;
  return { sql, kind: "server", renew, close: () => close(CLOSE_TIMEOUT_SECONDS) };
}

async function openEmbedded(options: DatabaseOptions): Promise<Database> {
  const embedded = await Embedded.in(options.dataDir);
  const pool = durablePool(
    (life) =>
      postgres({
        ...common(options, life),
        host: "localhost",
        user: "postgres",
        database: "postgres",
        max: options.maxConnections ?? DEFAULT_EMBEDDED_CONNECTIONS,
        // Begins once the socket is there; from then on only others' work is waited for.
        connect_timeout: 60,
      }),
    () => () => embedded.connect(),
  );
  const close = async () => {
    await pool.close(CLOSE_TIMEOUT_SECONDS);
    await embedded.close();
  };
  try {
    await pool.sql`select 1`;
  } catch (error) {
    await close();
    throw error;
  }
  return { sql: pool.sql, kind: "embedded", renew: pool.renew, close };
}

function common(options: DatabaseOptions, life: LifeOptions) {
  const { onStatement } = options;
  return {
    ...life,
    // Not there at all unless it is asked for: the library also puts statements into errors then.
    ...onStatement && {
      debug: (_connection: number, text: string, parameters: unknown[]) =>
        onStatement(text, parameters),
    },
    fetch_types: false,
    onnotice: (notice: postgres.Notice) => options.onNotice?.(String(notice.message)),
  };
}
