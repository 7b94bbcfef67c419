import type postgres from "postgres";
import { type Client, Clients, type ClientSources, endClient, type OnTiming } from "./clients.ts";
import {
  isBehindPooler,
  revealsPooler,
  type SessionSettings,
  startLazily,
  withSession,
} from "./pooler.ts";
import type { Transaction } from "./sql.ts";
import {
  guardTransaction,
  observeStatement,
  repeatRefused,
  type TransactionState,
  untilConnected,
} from "./statements.ts";

/** How long statements of an unresponsive client may take to finish after all. */
const UNRESPONSIVE_TIMEOUT_MS = 60_000;

/** A connection pool that survives lost connections. */
export interface ConnectionPool {
  /**
   * Runs statements. Parameters are strings, numbers, booleans, bytes and `null`: what type the server
   * expects is not known when they are sent. For anything else pass JSON text, and take it apart with
   * `json_to_recordset` or `json_array_elements_text`.
   */
  sql: postgres.Sql;
  /**
   * Opens new connections for later statements. Call it when statements take longer than they may:
   * the server may be gone without having closed its connections. What runs on the others has a minute,
   * unless given, to finish after all.
   */
  renew(timeoutMs?: number): void;
  observe(onTiming: OnTiming): void;
  /** Whether a connection pooler is between this program and the server. One that appears later is noticed. */
  detectPooler(): Promise<boolean>;
  /** Closes all connections; statements of the current client get `timeoutSeconds` to finish. */
  close(timeoutSeconds: number): Promise<void>;
}

type Callable = (...args: unknown[]) => unknown;

/**
 * Creates a pool around postgres.js clients.
 *
 * @param create creates a client with these options added
 * @param connect opens a socket for a client
 * @param settings of each transaction behind a connection pooler, which may appear at any time; without
 * them there is none
 */
export function createPool(
  create: ClientSources["create"],
  connect: ClientSources["connect"],
  settings?: SessionSettings,
): ConnectionPool {
  const clients = new Clients({ create, connect, mayBePooled: settings !== undefined });
  const sql = statementsOf(clients, settings);
  return {
    sql,
    observe: (listener) => clients.onTiming = listener,
    detectPooler: () => detectPooler(clients, sql),
    renew: (timeoutMs = UNRESPONSIVE_TIMEOUT_MS) => clients.replace(timeoutMs),
    close: (timeoutSeconds) => clients.close(timeoutSeconds),
  };
}

async function detectPooler(clients: Clients, sql: postgres.Sql): Promise<boolean> {
  const client = clients.current;
  try {
    if (await isBehindPooler(sql)) clients.expectPooler();
  } catch (error) {
    // It refused the settings.
    if (!clients.isPooled) throw error;
  }
  // The pooler may have no other session.
  if (clients.isPooled) await endClient(client, 0);
  return clients.isPooled;
}

/** What postgres.js's client offers, sent by the client that is current. */
function statementsOf(clients: Clients, settings: SessionSettings | undefined): postgres.Sql {
  const canWait = () => clients.current.connections.areServing;

  function send(create: (sql: postgres.Sql) => unknown): unknown {
    return repeatRefused(sendOnce(create), { again: async () => await sendOnce(create), canWait });
  }

  function sendOnce(create: (sql: postgres.Sql) => unknown): unknown {
    const client = clients.current;
    const statement = create(client.sql);
    if (client.isPooled) return startLazily(statement, () => begin(create));
    return observeStatement(statement, () => {
      const run = clients.start(client);
      return {
        sent: run.sent,
        settled(settled) {
          if ("error" in settled) clients.checkError(client, settled.error);
          run.settled();
        },
      };
    });
  }

  async function begin(...args: unknown[]): Promise<unknown> {
    let isStarted = false;
    const run = () => beginOnce(clients, settings, { args, onStart: () => isStarted = true });
    return await untilConnected(run, { canWait: () => !isStarted && canWait(), first: run() });
  }

  return Object.assign(
    (...args: unknown[]) => send((client) => (client as unknown as Callable)(...args)),
    {
      begin,
      unsafe: (...args: unknown[]) => send((client) => (client.unsafe as Callable)(...args)),
    },
  ) as unknown as postgres.Sql;
}

/** Runs a transaction on the current client, as postgres.js's `begin` does. */
async function beginOnce(
  clients: Clients,
  settings: SessionSettings | undefined,
  { args, onStart }: { args: readonly unknown[]; onStart(): void },
): Promise<unknown> {
  const client = clients.current;
  const run = clients.start(client);
  const transaction: TransactionState = { isOver: false };
  const options = args.slice(0, -1);
  const body = args.at(-1) as Transaction;
  // postgres.js prepares `commit` too. In a session that a pooler chose, it fails, is repeated, and then
  // seems to have succeeded: so what writes is committed in a session of our own only.
  const mayWrite = !String(options[0]).includes("read only");
  const guarded = guardTransaction(
    settings && (client.isPooled || mayWrite)
      ? withSession(body, client.isPooled ? settings : {}, checkSession(clients, client))
      : body,
    transaction,
    (error) => clients.checkError(client, error),
  );
  try {
    return await (client.sql.begin as Callable)(...options, (tx: postgres.TransactionSql) => {
      run.sent();
      onStart();
      return guarded(tx);
    });
  } catch (error) {
    client.connections.recordError(error);
    if (revealsPooler(error)) clients.leaveForPooler(client);
    throw error;
  } finally {
    transaction.isOver = true;
    run.settled();
  }
}

/** A transaction in another session than the connection's own is behind a pooler, and must not go on. */
function checkSession(clients: Clients, client: Client) {
  return async (pid: number, announcedPid: number) => {
    if (pid === announcedPid || client.isPooled) return;
    clients.leaveForPooler(client);
    // It fails when the loss of its connection is noticed.
    await new Promise(() => {});
  };
}
