import type { Socket } from "node:net";
import process from "node:process";
import type postgres from "postgres";
import { Attempts, lostConnection } from "./backoff.ts";
import { ConnectionQueues } from "./connection_queues.ts";
import { delegate } from "./forwarding_proxy.ts";
import { surviveLostWrites } from "./lost_writes.ts";
import { brokenSocket, steady } from "./socket.ts";

/** How long statements of a replaced pool may go on; its transactions end when they end. */
const REPLACED_TIMEOUT_MS = 60_000;

/** By then whatever was under way to a pool when it was replaced has arrived there. */
const ARRIVAL_MS = 1_000;

/** Options of the library by which we know of a pool's life, and take part in it. */
export interface LifeOptions {
  max_lifetime: null;
  backoff: boolean;
  onclose(): void;
  onparameter(): void;
}

/** A pool that is thrown away and made anew when one of its connections is lost. */
export interface Pool {
  /** Delegates to the pool of the moment. */
  sql: postgres.Sql;
  /** Makes new connections for what comes from now on: nothing came from those that are there. */
  renew(): void;
  /** Lets the statements of the current pool finish, at most `timeoutSeconds`. */
  close(timeoutSeconds: number): Promise<void>;
}

/** One pool of the library. */
interface Generation {
  sql: postgres.Sql;
  queues: ConnectionQueues;
  /** Those that are open. */
  sockets: Set<Socket>;
  /** How many transactions are under way. */
  transactionCount: number;
  isEnded: boolean;
}

/**
 * Makes a pool that survives lost connections.
 *
 * A connection of the library that is lost in the moment in which a statement is about to be sent
 * does not send anything any more when it is made again: statements on it wait for the time-out, many
 * times over. A new pool has no such past. One of whose connections none could be made has none
 * either, and is kept: a pool for each failed request would take a gigabyte within half a minute.
 *
 * @param make makes a pool of the library with these options and its own
 * @param way called for each pool: makes what makes that pool's sockets
 */
export function durablePool(
  make: (options: LifeOptions) => postgres.Sql,
  way: () => () => Promise<Socket>,
): Pool {
  surviveLostWrites();
  const attempts = new Attempts();
  let closed = false;
  /** Pools that were replaced, with what ends them at last. */
  const replaced = new Map<Generation, ReturnType<typeof setTimeout>>();

  const create = (): Generation => {
    const connect = way();
    const sockets = new Set<Socket>();
    let isOpened = false;
    let isBroken = false;
    const lost = (): Error => {
      const error = lostConnection();
      if (!isOpened) attempts.failed(error);
      replace();
      return error;
    };
    const options: LifeOptions & { socket: unknown } = {
      max_lifetime: null,
      // When to try is decided by `attempts`. Whatever waits in a pool that is lost fails at once.
      backoff: (() => 0) as unknown as boolean,
      // The first thing that a server tells whom it has let in.
      onparameter() {
        isOpened = true;
        attempts.succeeded();
      },
      onclose() {
        if (!isBroken && generation === current) lost();
      },
      // The types of the library do not know of this one.
      async socket({ ssl }: { ssl: unknown }) {
        try {
          if (generation !== current) throw lostConnection();
          // Cut off before it was let in, the library comes again at once, for ever, and says nothing.
          if ([...sockets].some((socket) => socket.destroyed)) throw lost();
          const socket = await attempts.make(connect);
          if (generation.isEnded) {
            socket.destroy();
            throw lostConnection();
          }
          sockets.add(socket);
          // Encryption puts a socket of its own on top and needs this one as it is.
          return ssl ? socket : steady(socket);
        } catch (error) {
          const socket = brokenSocket(error);
          // The library's own listener comes after this one, and calls `onclose`.
          socket.once("close", () => {
            isBroken = true;
            queueMicrotask(() => isBroken = false);
          });
          return socket;
        }
      },
    };
    const sql = withoutEnvironment(() => make(options));
    const generation: Generation = {
      sql,
      queues: new ConnectionQueues(),
      sockets,
      transactionCount: 0,
      isEnded: false,
    };
    return generation;
  };

  const replace = ({ isStuck = false } = {}) => {
    if (closed) return;
    const old = current;
    current = create();
    replaced.set(old, setTimeout(() => retire(old, { isStuck }), ARRIVAL_MS));
  };

  /** Ends what is idle at once, the others as they finish. */
  const retire = (generation: Generation, { isStuck }: { isStuck: boolean }) => {
    const end = () => {
      if (!replaced.has(generation)) return;
      replaced.delete(generation);
      // Its connections are lost: nobody is left whom a failure to end them would concern.
      endWithin(generation, 0).catch(() => {});
    };
    const wait = () => {
      const timer = setTimeout(() => {
        if (generation.transactionCount > 0 && !isStuck) wait();
        else end();
      }, REPLACED_TIMEOUT_MS);
      replaced.set(generation, timer);
    };
    wait();
    // Unlike `end`, of which the types know, this can still be followed by an end with force.
    const { close } = generation.sql as unknown as { close(): Promise<void> };
    close().then(() => {
      clearTimeout(replaced.get(generation));
      end();
    }, () => {
      // The timer ends it.
    });
  };

  const begin = async (...values: BeginValues) => {
    const generation = current;
    generation.transactionCount++;
    let isOver = false;
    try {
      return await generation.sql.begin(...guarded(values, () => isOver));
    } finally {
      isOver = true;
      generation.transactionCount--;
    }
  };

  let current = create();
  const sql = delegate(() => current.sql, (...values) => {
    const statement = (current.sql as unknown as Call)(...values);
    current.queues.see(statement);
    return statement;
  }, { begin: begin as postgres.Sql["begin"] });

  const close = async (timeoutSeconds: number) => {
    closed = true;
    for (const [generation, timer] of replaced) {
      clearTimeout(timer);
      replaced.delete(generation);
      // Whoever closes is done, and an end without force waits for connections that are lost.
      await endWithin(generation, 0);
    }
    await endWithin(current, timeoutSeconds);
  };
  return { sql, close, renew: () => replace({ isStuck: true }) };
}

type Call = (...values: unknown[]) => unknown;

type BeginValues = Parameters<postgres.Sql["begin"]>;

/** Statements of a transaction that has failed meanwhile fail too: the library would wait for ever. */
function guarded(values: BeginValues, isOver: () => boolean): BeginValues {
  // There may be options before it.
  const body = values.at(-1) as unknown as (transaction: postgres.TransactionSql) => unknown;
  const guardedBody = (transaction: postgres.TransactionSql) =>
    body(
      delegate(() => transaction, (...args) => {
        if (isOver()) throw lostConnection();
        return (transaction as unknown as Call)(...args);
      }),
    );
  return [...values.slice(0, -1), guardedBody] as unknown as BeginValues;
}

async function endWithin(generation: Generation, timeoutSeconds: number): Promise<void> {
  try {
    await generation.sql.end({ timeout: timeoutSeconds });
  } finally {
    generation.isEnded = true;
    // Politely ended they would wait for the other side, which may have gone without a word.
    for (const socket of generation.sockets) socket.destroy();
  }
}

/**
 * Runs `make` without the PG* variables of the environment, which the library reads even beside a
 * complete URL.
 */
export function withoutEnvironment<T>(make: () => T): T {
  const kept = Object.entries(process.env).filter(([name]) => name.startsWith("PG"));
  for (const [name] of kept) delete process.env[name];
  try {
    return make();
  } finally {
    for (const [name, value] of kept) process.env[name] = value;
  }
}
