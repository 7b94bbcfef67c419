import type { Socket } from "node:net";
import type postgres from "postgres";
import { ConnectionBackoff } from "./backoff.ts";
import type { ClientOptions } from "./client.ts";
import { ConnectionQueues, type Timing } from "./connection_queues.ts";
import { connectionLost } from "./errors.ts";
import { forwardingProxy } from "./forwarding_proxy.ts";
import { SHUTTING_DOWN } from "../embedded/session.ts";
import { ignoreLostWrites } from "./lost_writes.ts";
import { failingSocket, suppressErrorEvent } from "./socket.ts";

/** Statements that were created before a client was replaced reach it within this time. */
const ARRIVAL_MS = 1_000;

/** How long statements of an unresponsive client may take to finish after all. */
const UNRESPONSIVE_TIMEOUT_MS = 60_000;

/** Options that a pool adds to those of its client. */
export type PoolOptions = Pick<
  ClientOptions,
  "max_lifetime" | "backoff" | "onclose" | "onparameter" | "socket"
>;

/** Receives how long a statement or transaction took, and how long it waited for a connection. */
export type OnTiming = (timing: {
  totalMs: number;
  /** `null` when unknown: postgres.js does not tell it of the first run on a connection. */
  waitedMs: number | null;
}) => void;

/** A connection pool that survives lost connections. */
export interface ConnectionPool {
  /** Forwards to the current client. */
  sql: postgres.Sql;
  /** Replaces a client that does not respond. */
  renew(): void;
  observe(onTiming: OnTiming): void;
  /** Closes all connections; statements of the current client get `timeoutSeconds` to finish. */
  close(timeoutSeconds: number): Promise<void>;
}

/** A postgres.js client with its connections. */
interface Client {
  sql: postgres.Sql;
  queues: ConnectionQueues;
  sockets: Set<Socket>;
  isEnded: boolean;
  /** Ends it after it was replaced. */
  timer: ReturnType<typeof setTimeout> | undefined;
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
 * @param createConnector called for each client; its result opens the client's sockets
 */
export function createPool(
  create: (options: PoolOptions) => postgres.Sql,
  createConnector: () => () => Promise<Socket>,
): ConnectionPool {
  ignoreLostWrites();
  const backoff = new ConnectionBackoff();
  const replaced = new Set<Client>();
  let isClosed = false;
  let onTiming: OnTiming | undefined;
  let current = open();

  function open(): Client {
    const connect = createConnector();
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
      isEnded: false,
      timer: undefined,
    };
    return client;
  }

  function replace({ timeoutMs }: { timeoutMs?: number } = {}): void {
    if (isClosed) return;
    const client = current;
    current = open();
    replaced.add(client);
    client.timer = setTimeout(() => {
      if (timeoutMs) client.timer = setTimeout(() => retire(client), timeoutMs);
      // Ends idle connections now, the others when they are done. TCP keep-alive bounds the time.
      // Unlike `end`, of which the types know, it can still be followed by a forced end.
      (client.sql as unknown as { close(): Promise<void> }).close()
        .then(() => retire(client), () => retire(client));
    }, ARRIVAL_MS);
  }

  async function retire(client: Client): Promise<void> {
    clearTimeout(client.timer);
    if (!replaced.delete(client)) return;
    // Its connections are lost, and so is the error of ending them.
    await end(client, 0).catch(() => {});
  }

  async function begin(...args: BeginArguments): Promise<unknown> {
    let isOver = false;
    const timing = onTiming && startTiming(onTiming);
    try {
      return await current.sql.begin(...guarded(args, () => isOver, timing?.sent));
    } finally {
      isOver = true;
      timing?.finished();
    }
  }

  return {
    sql: forwardingProxy(() => current.sql, (...args) => {
      const statement = (current.sql as unknown as Callable)(...args);
      current.queues.observe(statement, onTiming && startTiming(onTiming));
      return statement;
    }, { begin: begin as postgres.Sql["begin"] }),
    observe: (listener) => onTiming = listener,
    renew: () => replace({ timeoutMs: UNRESPONSIVE_TIMEOUT_MS }),
    async close(timeoutSeconds) {
      isClosed = true;
      for (const client of replaced) await retire(client);
      await end(current, timeoutSeconds);
    },
  };
}

type Callable = (...args: unknown[]) => unknown;

type BeginArguments = Parameters<postgres.Sql["begin"]>;

/** Makes statements of a transaction that is over fail: postgres.js would never settle them. */
function guarded(
  args: BeginArguments,
  isOver: () => boolean,
  onBegin?: () => void,
): BeginArguments {
  // Options may precede it.
  const body = args.at(-1) as unknown as (tx: postgres.TransactionSql) => unknown;
  const guardedBody = (tx: postgres.TransactionSql) => {
    onBegin?.();
    return body(
      forwardingProxy(() => tx, (...values) => {
        if (isOver()) throw connectionLost();
        return (tx as unknown as Callable)(...values);
      }),
    );
  };
  return [...args.slice(0, -1), guardedBody] as unknown as BeginArguments;
}

function startTiming(onTiming: OnTiming): Timing {
  const startedAt = performance.now();
  let waitedMs: number | null = null;
  return {
    sent: () => waitedMs = performance.now() - startedAt,
    finished: () => onTiming({ totalMs: performance.now() - startedAt, waitedMs }),
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
