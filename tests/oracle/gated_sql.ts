import type postgres from "postgres";

/** Awaited before a statement is sent, and after its rows arrived and before the caller gets them. */
type Gate = (place: "before" | "after") => Promise<void>;

/**
 * The same connections with `gate` before and after each statement or transaction, so that a test can
 * run anything at these places of a request.
 */
export function gatedSql(sql: postgres.Sql, gate: Gate): postgres.Sql {
  return new Proxy(sql, {
    apply(target, self, values) {
      const query = Reflect.apply(target, self, values);
      // A statement is sent when it is first awaited. A fragment of another one never is, and the
      // helpers for lists of values and columns have no `then`.
      return query instanceof Promise ? delayed(query, gate) : query;
    },
    get(target, name) {
      const own = Reflect.get(target, name);
      if (name === "unsafe") {
        return (...values: Parameters<typeof sql.unsafe>) =>
          delayed(target.unsafe(...values), gate);
      }
      return name === "begin" ? gated(own, gate) : own;
    },
  });
}

/** The same statement, with the gate before and after it. It stays usable as a fragment. */
function delayed<T>(query: Promise<T>, gate: Gate): Promise<T> {
  const then = query.then.bind(query);
  const send = () => new Promise<T>((resolve, reject) => then(resolve, reject));
  let rows: Promise<T> | undefined;
  const run = () => rows ??= gated(send, gate)();
  return Object.assign(query, {
    then: ((...handlers) => run().then(...handlers)) as Promise<T>["then"],
    catch: ((handler) => run().catch(handler)) as Promise<T>["catch"],
    finally: ((handler) => run().finally(handler)) as Promise<T>["finally"],
  });
}

function gated<Values extends unknown[], T>(
  act: (...values: Values) => Promise<T>,
  gate: Gate,
): (...values: Values) => Promise<T> {
  return async (...values) => {
    await gate("before");
    const outcome = await act(...values);
    await gate("after");
    return outcome;
  };
}
