import type { Socket } from "node:net";
import type postgres from "postgres";
import { SHUTTING_DOWN } from "../embedded/session.ts";
import { ConnectionBackoff } from "./backoff.ts";
import type { ClientOptions } from "./client.ts";
import { ConnectionQueues } from "./connection_queues.ts";
import { connectionLost } from "./errors.ts";
import { forwardingProxy } from "./forwarding_proxy.ts";
import { type LockWait, watchLockWaits } from "./lock_waits.ts";
import { observeStatement } from "./observe_statement.ts";
import { failingSocket, suppressErrorEvent } from "./socket.ts";
import { type BeginArguments, TransactionGuard } from "./transaction_guard.ts";

/**
 * How often it is checked whether a replaced client has finished. Statements that were created before
 * reach it within this time.
 */
const RETIRE_INTERVAL_MS = 1_000;

/** How long statements of an unresponsive client may take to finish after all. */
const UNRESPONSIVE_TIMEOUT_MS = 60_000;

/** Options that a pool adds to those of its client. */
export type PoolOptions = Pick<
  ClientOptions,
  "max_lifetime" | "backoff" | "onclose" | "onparameter" | "socket"
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
  /** Passes the locks that transactions wait for to a function. Servers only. */
  observeLockWaits(onLockWait: (wait: LockWait) => void): void;
  /** Closes all connections; statements of the current client get `timeoutSeconds` to finish. */
  close(timeoutSeconds: number): Promise<void>;
}

interface Client {
  sql: postgres.Sql;
  queues: ConnectionQueues;
  sockets: Set<Socket>;
  /** Statements and transactions that have not settled. */
  runningCount: number;
  isEnded: boolean;
  /** Ends it after it was replaced. */
  timer: ReturnType<typeof setInterval> | undefined;
}

/**
 * Creates a pool around postgres.js clients.
 *
 * A postgres.js 3.4.9 connection that is lost just before a statement is sent never sends anything
 * again after reconnecting. So the whole client is replaced when it loses a connection: the old one
 * finishes what it can. A failed attempt to connect does not replace it, or an unreachable server
 * would cost a client for every request (1 GB in half a minute).
 *
 * @param create creates a client with these options added
 * @param connect opens a socket for a client
 */
export function createPool(
  create: (options: PoolOptions) => postgres.Sql,
  connect: () => Promise<Socket>,
): ConnectionPool {
  const backoff = new ConnectionBackoff();
  const replaced = new Set<Client>();
  let isClosed = false;
  let onTiming: OnTiming | undefined;
  let onLockWait: ((wait: LockWait) => void) | undefined;
  let current = open();

  function open(): Client {
    let wasAccepted = false;
    let isAttemptFailing = false;
    const onLost = (): Error => {
      const error = connectionLost();
      if (!wasAccepted) backoff.recordFailure(error);
      replace();
      return error;
    };
    const openSocket = async (): Promise<Socket> => {
      if (client !== current) throw connectionLost();
      // Closed before the server accepted it, a connection is retried for ever and without an error.
      if ([...client.sockets].some((socket) => socket.destroyed)) throw onLost();
      const socket = await backoff.run(connect);
      if (client.isEnded) {
        socket.destroy();
        throw connectionLost();
      }
      client.sockets.add(socket);
      return socket;
    };
    const sql = create({
      max_lifetime: null,
      // `ConnectionBackoff` decides when to retry; waiting statements must fail at once.
      backoff: () => 0,
      // The first message of a server that has accepted a connection.
      onparameter(name) {
        wasAccepted = true;
        backoff.recordSuccess();
        if (name === SHUTTING_DOWN && client === current) replace();
      },
      onclose() {
        if (!isAttemptFailing && client === current) onLost();
      },
      async socket({ ssl }) {
        try {
          const socket = await openSocket();
          // TLS puts a socket of its own on top.
          return ssl ? socket : suppressErrorEvent(socket);
        } catch (error) {
          const socket = failingSocket(error);
          // Runs before the listener of postgres.js, which calls `onclose`.
          socket.once("close", () => {
            isAttemptFailing = true;
            queueMicrotask(() => isAttemptFailing = false);
          });
          return socket;
        }
      },
    });
    const client: Client = {
      sql,
      queues: new ConnectionQueues(),
      sockets: new Set(),
      runningCount: 0,
      isEnded: false,
      timer: undefined,
    };
    return client;
  }

  /** @param timeoutMs after which its statements fail; by default TCP keep-alive bounds the time */
  function replace(timeoutMs = Infinity): void {
    if (isClosed) return;
    const client = current;
    current = open();
    replaced.add(client);
    const deadline = performance.now() + timeoutMs;
    client.timer = setInterval(() => {
      if (client.runningCount === 0 || performance.now() > deadline) void retire(client);
    }, RETIRE_INTERVAL_MS);
  }

  async function retire(client: Client): Promise<void> {
    clearInterval(client.timer);
    if (!replaced.delete(client)) return;
    // Its connections are lost, and so is the error of ending them.
    await end(client, 0).catch(() => {});
  }

  /** Counts something that runs on the client, and measures it. */
  function start(client: Client): { sent(): void; finished(): void } {
    const startedAt = performance.now();
    let waitedMs: number | null = null;
    client.runningCount++;
    return {
      sent: () => waitedMs = performance.now() - startedAt,
      finished() {
        client.runningCount--;
        onTiming?.({ totalMs: performance.now() - startedAt, waitedMs });
      },
    };
  }

  function send(create: (sql: postgres.Sql) => unknown): unknown {
    const client = current;
    const statement = create(client.sql);
    let run: ReturnType<typeof start> | undefined;
    client.queues.observe(statement, onTiming && (() => run?.sent()));
    return observeStatement(statement, () => {
      run = start(client);
      return run.finished;
    });
  }

  async function begin(...args: BeginArguments): Promise<unknown> {
    const client = current;
    const transaction = new TransactionGuard();
    const run = start(client);
    const endWatch = onLockWait && watchLockWaits(sql, () => transaction.pid, onLockWait);
    try {
      return await client.sql.begin(...transaction.guard(args, run.sent));
    } finally {
      transaction.isOver = true;
      endWatch?.();
      run.finished();
    }
  }

  const sql = forwardingProxy(
    () => current.sql,
    (...args) => send((client) => (client as unknown as (...args: unknown[]) => unknown)(...args)),
    {
      begin: begin as postgres.Sql["begin"],
      unsafe: ((...args) => send((client) => client.unsafe(...args))) as postgres.Sql["unsafe"],
    },
  );
  return {
    sql,
    observe: (listener) => onTiming = listener,
    observeLockWaits: (listener) => onLockWait = listener,
    renew: () => replace(UNRESPONSIVE_TIMEOUT_MS),
    async close(timeoutSeconds) {
      isClosed = true;
      for (const client of replaced) await retire(client);
      await end(current, timeoutSeconds);
    },
  };
}

async function end(client: Client, timeoutSeconds: number): Promise<void> {
  try {
    await client.sql.end({ timeout: timeoutSeconds });
  } finally {
    client.isEnded = true;
    // A graceful close would wait for a server that may be gone.
    for (const socket of client.sockets) socket.destroy();
  }
}
