import type { Socket } from "node:net";
import type postgres from "postgres";
import { SHUTTING_DOWN } from "../embedded/session.ts";
import { ConnectionBackoff } from "./backoff.ts";
import type { ClientOptions } from "./client.ts";
import { connectionLost, outOfConnections } from "./errors.ts";
import { Connections, repeatRefused, untilConnected } from "./refusals.ts";
import {
  isBehindPooler,
  revealsPooler,
  type SessionSettings,
  startLazily,
  withSession,
} from "./pooler.ts";
import { failingSocket, suppressErrorEvent } from "./socket.ts";
import type { Transaction } from "./sql.ts";
import {
  guardTransaction,
  isClientFault,
  isOutdated,
  observeStatement,
  type TransactionState,
} from "./statements.ts";
import { pause } from "../../lib/base/delay.ts";

/**
 * How often it is checked whether a replaced client has finished. Statements that were created before
 * reach it within this time.
 */
const RETIRE_INTERVAL_MS = 1_000;

/** How long statements of an unresponsive client may take to finish after all. */
const UNRESPONSIVE_TIMEOUT_MS = 60_000;

/** Options that a pool adds to its client's. */
type PoolOptions = Pick<
  ClientOptions,
  "prepare" | "max_lifetime" | "backoff" | "onclose" | "onparameter" | "socket"
>;

/** Receives how long a statement or transaction took, and how long it waited for a connection. */
type OnTiming = (timing: {
  totalMs: number;
  /** `null` when unknown, as for the first run of a statement on a connection. */
  waitedMs: number | null;
}) => void;

/** A connection pool that survives lost connections. */
export interface ConnectionPool {
  /**
   * Runs statements. Never pass a JavaScript array as a parameter, because the server's types are
   * not fetched: pass JSON text and take it apart with `json_to_recordset` or
   * `json_array_elements_text`.
   */
  sql: postgres.Sql;
  /**
   * Opens new connections for later statements. Call it when statements take longer than they may:
   * the server may be gone without having closed its connections.
   */
  renew(): void;
  observe(onTiming: OnTiming): void;
  /** Whether a connection pooler is between this program and the server. One that appears later is noticed. */
  detectPooler(): Promise<boolean>;
  /** Closes all connections; statements of the current client get `timeoutSeconds` to finish. */
  close(timeoutSeconds: number): Promise<void>;
}

type Callable = (...args: unknown[]) => unknown;

interface Client {
  sql: postgres.Sql;
  connections: Connections;
  /** Statements and transactions that have not settled. */
  runningCount: number;
  /** Whether it sends nothing that relies on a session of its own. */
  isPooled: boolean;
  isEnded: boolean;
}

/**
 * Creates a pool around postgres.js clients.
 *
 * A postgres.js 3.4.9 connection that is lost just before a statement is sent never sends anything
 * again after reconnecting. So the whole client is replaced when it loses a connection: the old one
 * finishes what it can. A failed attempt to connect does not replace it, or an unreachable server
 * would cost a client for every request (1 GB in half a minute). A connection that the server refuses because it
 * has none left does not either: statements wait for those that work.
 *
 * @param create creates a client with these options added
 * @param connect opens a socket for a client
 * @param settings of each transaction behind a connection pooler, which may appear at any time; without
 * them there is none
 */
export function createPool(
  create: (options: PoolOptions) => postgres.Sql,
  connect: () => Promise<Socket>,
  settings?: SessionSettings,
): ConnectionPool {
  let isPooled = false;
  const backoff = new ConnectionBackoff();
  /** Replaced clients that have not ended. */
  const retirements = new Set<Promise<void>>();
  const closing = new AbortController();
  let onTiming: OnTiming | undefined;
  let current = open();

  function open(): Client {
    let wasAccepted = false;
    const replaceIfLost = () => {
      if (client !== current) return;
      const { lostCount, areRefused } = client.connections.takeLost();
      if (lostCount === 0) return;
      if (areRefused) return backoff.recordFailure(outOfConnections());
      if (!wasAccepted) backoff.recordFailure(connectionLost());
      replace();
    };
    const openSocket = async (): Promise<Socket> => {
      // Closed before the server accepted it, a connection is retried for ever and without an error.
      replaceIfLost();
      if (client !== current) throw connectionLost();
      const socket = await backoff.run(connect);
      if (client.isEnded) {
        socket.destroy();
        throw connectionLost();
      }
      client.connections.sockets.push(socket);
      return socket;
    };
    const sql = create({
      prepare: !isPooled,
      max_lifetime: null,
      // `ConnectionBackoff` decides when to retry; waiting statements must fail at once.
      backoff: () => 0,
      // The first message of a server that has accepted a connection.
      onparameter(name) {
        wasAccepted = true;
        backoff.recordSuccess();
        if (name === SHUTTING_DOWN && client === current) replace();
      },
      onclose: replaceIfLost,
      async socket({ ssl }) {
        try {
          const socket = await openSocket();
          // TLS puts a socket of its own on top.
          return ssl ? socket : suppressErrorEvent(socket);
        } catch (error) {
          return failingSocket(error);
        }
      },
    });
    const connections = new Connections();
    const client: Client = { sql, connections, runningCount: 0, isPooled, isEnded: false };
    return client;
  }

  /** @param timeoutMs after which its statements fail; by default TCP keep-alive bounds the time */
  function replace(timeoutMs = Infinity): void {
    if (closing.signal.aborted) return;
    const retiring = retire(current, timeoutMs).finally(() => retirements.delete(retiring));
    retirements.add(retiring);
    current = open();
  }

  async function retire(client: Client, timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    do {
      await pause(RETIRE_INTERVAL_MS, closing.signal);
    } while (
      client.runningCount > 0 && performance.now() < deadline && !closing.signal.aborted
    );
    // Its connections are lost, and so is the error of ending them.
    await end(client, 0).catch(() => {});
  }

  /** Counts something that runs on the client, and measures it. */
  function start(client: Client): { sent(): void; settled(): void } {
    const startedAt = performance.now();
    let waitedMs: number | null = null;
    client.runningCount++;
    return {
      sent: () => waitedMs = performance.now() - startedAt,
      settled() {
        client.runningCount--;
        onTiming?.({ totalMs: performance.now() - startedAt, waitedMs });
      },
    };
  }

  /** Leaves connections on which statements would fail, or receive the rows of others. */
  function checkError(client: Client, error: unknown): void {
    client.connections.recordError(error);
    if (isClientFault(error)) destroy(client);
    else if (isOutdated(error) && client === current) replace();
    else if (revealsPooler(error)) leaveForPooler(client);
  }

  /** From now on, transactions are sent as a pooler needs them. */
  function expectPooler(): void {
    if (isPooled) return;
    isPooled = true;
    replace();
  }

  /** A pooler has appeared: what is under way on this client must not go on. */
  function leaveForPooler(client: Client): void {
    if (!settings || client.isPooled) return;
    expectPooler();
    destroy(client);
  }

  const canWait = () => current.connections.areServing;

  function send(create: (sql: postgres.Sql) => unknown): unknown {
    return repeatRefused(sendOnce(create), { again: async () => await sendOnce(create), canWait });
  }

  function sendOnce(create: (sql: postgres.Sql) => unknown): unknown {
    const client = current;
    const statement = create(client.sql);
    if (client.isPooled) return startLazily(statement, () => begin(create));
    return observeStatement(statement, () => {
      const run = start(client);
      return {
        sent: run.sent,
        settled(settled) {
          if ("error" in settled) checkError(client, settled.error);
          run.settled();
        },
      };
    });
  }

  async function begin(...args: unknown[]): Promise<unknown> {
    let isStarted = false;
    const run = () => beginOnce([...args], () => isStarted = true);
    return await untilConnected(run, { canWait: () => !isStarted && canWait(), first: run() });
  }

  async function beginOnce(args: unknown[], onStart: () => void): Promise<unknown> {
    const client = current;
    const run = start(client);
    const transaction: TransactionState = { isOver: false };
    const checkSession = async (pid: number, announcedPid: number) => {
      if (pid === announcedPid || client.isPooled) return;
      leaveForPooler(client);
      // It fails when the loss of its connection is noticed.
      await new Promise(() => {});
    };
    // Options may precede it.
    const body = args.pop() as Transaction;
    // postgres.js prepares `commit` too. In a session that a pooler chose, it fails, is repeated, and then
    // seems to have succeeded: so what writes is committed in a session of our own only.
    const mayWrite = !String(args[0]).includes("read only");
    const guarded = guardTransaction(
      settings && (client.isPooled || mayWrite)
        ? withSession(body, client.isPooled ? settings : {}, checkSession)
        : body,
      transaction,
      (error) => checkError(client, error),
    );
    try {
      return await (client.sql.begin as Callable)(...args, (tx: postgres.TransactionSql) => {
        run.sent();
        onStart();
        return guarded(tx);
      });
    } catch (error) {
      client.connections.recordError(error);
      if (revealsPooler(error)) leaveForPooler(client);
      throw error;
    } finally {
      transaction.isOver = true;
      run.settled();
    }
  }

  const sql = Object.assign(
    (...args: unknown[]) => send((client) => (client as unknown as Callable)(...args)),
    {
      begin,
      unsafe: (...args: unknown[]) => send((client) => (client.unsafe as Callable)(...args)),
    },
  ) as unknown as postgres.Sql;
  return {
    sql,
    observe: (listener) => onTiming = listener,
    async detectPooler() {
      const client = current;
      try {
        if (await isBehindPooler(sql)) expectPooler();
      } catch (error) {
        // It refused the settings.
        if (!isPooled) throw error;
      }
      // The pooler may have no other session.
      if (isPooled) await end(client, 0);
      return isPooled;
    },
    renew: () => replace(UNRESPONSIVE_TIMEOUT_MS),
    async close(timeoutSeconds) {
      closing.abort();
      await Promise.all(retirements);
      await end(current, timeoutSeconds);
    },
  };
}

function destroy({ connections }: Client): void {
  for (const socket of connections.sockets) socket.destroy();
}

async function end(client: Client, timeoutSeconds: number): Promise<void> {
  try {
    await client.sql.end({ timeout: timeoutSeconds });
  } finally {
    client.isEnded = true;
    // A graceful close would wait for a server that may be gone.
    destroy(client);
  }
}
