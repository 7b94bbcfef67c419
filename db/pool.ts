import process from "node:process";
import type postgres from "postgres";

/** How long statements of a replaced pool may go on; its transactions end when they end. */
const REPLACED_TIMEOUT_MS = 60_000;

/** What a pool of the library has to know of its own life. */
export interface Life {
  /** To be its option `onclose`. */
  onclose(): void;
  /** Aborted when it was replaced: it should make no new connection. */
  givenUp: AbortSignal;
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

/**
 * Makes a pool that survives lost connections.
 *
 * A connection of the library that is lost in the moment in which a statement is about to be sent
 * does not send anything any more when it is made again: statements on it wait for the time-out, many
 * times over. A new pool has no such past.
 */
export function durablePool(
  make: (life: Life) => postgres.Sql,
): Pool {
  let closed = false;
  /** Pools that were replaced, with what ends them at last. */
  const replaced = new Map<postgres.Sql, ReturnType<typeof setTimeout>>();
  /** How many transactions each pool has under way. */
  const transactions = new WeakMap<postgres.Sql, number>();

  /** Replaces the pool of the moment. */
  let renew = () => {};
  const create = (): postgres.Sql => {
    const givenUp = new AbortController();
    const replace = ({ isStuck = false } = {}) => {
      if (closed || pool !== current) return;
      givenUp.abort();
      current = create();
      retire(pool, { isStuck });
    };
    const onclose = () => replace();
    const pool = withoutEnvironment(() => make({ onclose, givenUp: givenUp.signal }));
    renew = () => replace({ isStuck: true });
    return pool;
  };

  const retire = (pool: postgres.Sql, { isStuck }: { isStuck: boolean }) => {
    const timer = setTimeout(() => {
      if (transactions.get(pool) && !isStuck) return retire(pool, { isStuck });
      replaced.delete(pool);
      void pool.end({ timeout: 0 });
    }, REPLACED_TIMEOUT_MS);
    replaced.set(pool, timer);
  };

  const begin = async (...values: Parameters<postgres.Sql["begin"]>) => {
    const pool = current;
    transactions.set(pool, (transactions.get(pool) ?? 0) + 1);
    try {
      return await pool.begin(...values);
    } finally {
      transactions.set(pool, (transactions.get(pool) ?? 1) - 1);
    }
  };

  let current = create();
  // The target is never called; it only makes the proxy callable.
  const sql = new Proxy(function () {} as unknown as postgres.Sql, {
    apply: (_target, _this, values) => Reflect.apply(current, undefined, values),
    get: (_target, name) => name === "begin" ? begin : Reflect.get(current, name),
  });

  const close = async (timeoutSeconds: number) => {
    closed = true;
    for (const [pool, timer] of replaced) {
      clearTimeout(timer);
      // Whoever closes is done, and an end without force waits for connections that are lost.
      await pool.end({ timeout: 0 });
    }
    await current.end({ timeout: timeoutSeconds });
  };
  return { sql, close, renew: () => renew() };
}

/**
 * Runs `make` without the PG* variables of the environment, which the library reads even beside a
 * complete URL.
 */
function withoutEnvironment<T>(make: () => T): T {
  const kept = Object.entries(process.env).filter(([name]) => name.startsWith("PG"));
  for (const [name] of kept) delete process.env[name];
  try {
    return make();
  } finally {
    for (const [name, value] of kept) process.env[name] = value;
  }
}
