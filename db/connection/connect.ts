import { embeddedDatabase } from "../embedded/mod.ts";
import { type ClientOptions, createClient } from "./client.ts";
import { errorCode } from "../../lib/base/error.ts";
import { readDatabaseUrl } from "./database_url.ts";
import { databaseUnavailable } from "./errors.ts";
import { type ConnectionPool, createPool } from "./pool.ts";
import type { SessionSettings } from "./pooler.ts";
import { connectTo } from "./socket.ts";

/** The oldest server that supports our SQL. */
const MIN_SERVER_VERSION = 15;

/** 2 to 4 connections were faster than 8 on two cores. */
const DEFAULT_MAX_CONNECTIONS = 4;

/** The embedded database executes one statement at a time. */
const DEFAULT_EMBEDDED_CONNECTIONS = 2;

const CONNECT_TIMEOUT_SECONDS = 5;

/**
 * Limit of a statement of a command that writes, unless the caller sets another: a long upload
 * waits for others of the same repository, each of which takes seconds. Migrations have no limit.
 */
const WRITE_STATEMENT_TIMEOUT_MS = 300_000;

/** Ends a suspended process's transaction, and its locks; ours do nothing but run statements. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000;

/** How soon the server notices during a statement that its client was killed; 0 by default: never. */
const CLIENT_CHECK_INTERVAL_MS = 2_000;

const CLOSE_TIMEOUT_SECONDS = 5;

const NO_TRANSACTIONS =
  "a connection pooler closed the connection at the start of a transaction; " +
  "expected pool_mode = transaction or session of PgBouncer";

export interface Database extends Omit<ConnectionPool, "close" | "detectPooler"> {
  /** `server` when `DATABASE_URL` names one, otherwise `embedded`. */
  kind: "embedded" | "server";
  /** Whether a connection pooler such as PgBouncer is between this program and the server. */
  isPooled: boolean;
  /** Closes the connections; the owner of the embedded database waits for its other clients. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** `postgres://...`; unset or empty: the embedded database. */
  databaseUrl?: string | undefined;
  /** Folder of the embedded database, created on first use. */
  dataDir: string;
  /** Refuses writes. Servers only: all clients of the embedded database share one session. */
  readOnly?: boolean;
  /** Size of the pool; by default 4 on a server and 2 on the embedded database. */
  maxConnections?: number;
  /** Cancels longer statements, in milliseconds; 5 minutes by default. Servers only. */
  statementTimeoutMs?: number;
  /** Receives every statement that is sent, `begin` and `commit` included. For tests. */
  onStatement?(text: string, parameters: readonly unknown[]): void;
}

/** Opens the database. @throws {DatabaseError} with a message that never contains the password */
export function openDatabase(options: DatabaseOptions): Promise<Database> {
  return options.databaseUrl ? openServer(options, options.databaseUrl) : openEmbedded(options);
}

async function openServer(options: DatabaseOptions, databaseUrl: string): Promise<Database> {
  const url = readDatabaseUrl(databaseUrl);
  const settings: SessionSettings = {
    // Compiling takes 25 ms, longer than any of our statements, and the planner chooses it when it
    // overestimates the rows a hundredfold.
    jit: "off",
    // What is read is in memory. With the default of 4 the planner reads a whole table of 200
    // repositories for each look-up of one of them.
    random_page_cost: 1.1,
    statement_timeout: options.statementTimeoutMs ?? WRITE_STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    client_connection_check_interval: CLIENT_CHECK_INTERVAL_MS,
  };
  const timeoutSeconds = url.connectTimeoutSeconds ?? CONNECT_TIMEOUT_SECONDS;
  const { readOnly } = options;
  const pool = createPool(
    (poolOptions) =>
      createClient(url.text, {
        ...poolOptions,
        ...debugOptions(options),
        ...url.address,
        max: options.maxConnections ?? DEFAULT_MAX_CONNECTIONS,
        connect_timeout: timeoutSeconds,
        connection: {
          application_name: "test-analytics",
          // Behind a pooler they are set in every transaction instead.
          ...poolOptions.prepare && settings,
          ...poolOptions.prepare && readOnly && { default_transaction_read_only: true },
        },
      }),
    () => connectTo(url.address, timeoutSeconds * 1000),
    { ...settings, ...readOnly && { transaction_read_only: true } },
  );
  let isPooled = false;
  try {
    isPooled = await pool.detectPooler();
    const [row] = await pool.sql<{ version: number }[]>`
      select current_setting('server_version_num')::integer / 10000 as version`;
    if (row && row.version < MIN_SERVER_VERSION) {
      throw new Error(
        `it runs PostgreSQL ${row.version}, expected ${MIN_SERVER_VERSION} or later`,
      );
    }
  } catch (error) {
    await pool.close(0);
    // Its own message is lost with the connection.
    const isRefusal = isPooled && errorCode(error) === "CONNECTION_CLOSED";
    throw databaseUnavailable(isRefusal ? new Error(NO_TRANSACTIONS) : error, url.host);
  }
  const { detectPooler: _, close, ...rest } = pool;
  return { ...rest, kind: "server", isPooled, close: () => close(CLOSE_TIMEOUT_SECONDS) };
}

async function openEmbedded(options: DatabaseOptions): Promise<Database> {
  const embedded = await embeddedDatabase(options.dataDir);
  const pool = createPool(
    (poolOptions) =>
      createClient("postgres://postgres@localhost/postgres", {
        ...poolOptions,
        ...debugOptions(options),
        max: options.maxConnections ?? DEFAULT_EMBEDDED_CONNECTIONS,
        // Starts when the socket is connected; from then on it only waits for other clients.
        connect_timeout: 60,
      }),
    () => embedded.connect(),
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
  // No network loses its connections. Statements wait for a transaction of another client, such as that of
  // a large upload, which the end of its connection would roll back, each time it is tried again.
  const renew = () => {};
  return { ...pool, renew, kind: "embedded", isPooled: false, close };
}

/** Left out unless needed: with `debug`, postgres.js puts statements into its errors. */
function debugOptions({ onStatement }: DatabaseOptions): Pick<ClientOptions, "debug"> {
  if (!onStatement) return {};
  return { debug: (_connection, text, parameters) => onStatement(text, parameters) };
}
