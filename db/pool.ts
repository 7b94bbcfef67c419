import process from "node:process";
import type postgres from "postgres";

/** How long statements that still run on other connections of a replaced pool may take. */
const REPLACED_TIMEOUT_SECONDS = 5;

/** A pool that is thrown away and made anew when one of its connections is lost. */
export interface Pool {
  /** Delegates to the pool of the moment. */
  sql: postgres.Sql;
  /** Lets running statements finish, at most `timeoutSeconds`. */
  close(timeoutSeconds: number): Promise<void>;
}

/**
 * Makes a pool that survives lost connections.
 *
 * A connection of the library that is lost in the moment in which a statement is about to be sent
 * does not send anything any more when it is made again: statements on it wait for the time-out, many
 * times over. A new pool has no such past.
 *
 * @param make called with what the library's option `onclose` is to be
 */
export function durablePool(make: (onclose: () => void) => postgres.Sql): Pool {
  let closed = false;
  const ending = new Set<Promise<void>>();

  const create = (): postgres.Sql => {
    const pool = withoutEnvironment(() =>
      make(() => {
        if (closed || pool !== current) return;
        current = create();
        const ended = pool.end({ timeout: REPLACED_TIMEOUT_SECONDS })
          .catch(() => {})
          .finally(() => ending.delete(ended));
        ending.add(ended);
      })
    );
    return pool;
  };
  let current = create();

  // The target is never called; it only makes the proxy callable.
  const sql = new Proxy(function () {} as unknown as postgres.Sql, {
    apply: (_target, _this, values) => Reflect.apply(current, undefined, values),
    get: (_target, name) => Reflect.get(current, name),
  });

  const close = async (timeoutSeconds: number) => {
    closed = true;
    await Promise.all([current.end({ timeout: timeoutSeconds }), ...ending]);
  };
  return { sql, close };
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
