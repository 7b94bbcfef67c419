import type postgres from "postgres";

/** Waited for before a statement is sent, and after its rows came and before anybody hears of them. */
export type Gate = (place: "before" | "after") => Promise<void>;

/**
 * The same connections, before and after each of whose statements (and transactions) `gate` is
 * waited for: whatever can happen beside a request can happen there, and as long as one likes.
 */
export function gatedSql(sql: postgres.Sql, gate: Gate): postgres.Sql {
  return new Proxy(sql, {
    apply(target, self, values) {
      const query = Reflect.apply(target, self, values);
      // The library sends a statement when it is first waited for; a part of another never is.
      if (typeof query?.handle === "function") {
        const handle = query.handle.bind(query);
        let passing: Promise<void> | undefined;
        query.handle = () => passing ??= gate("before").then(handle);
        const resolve = query.resolve.bind(query);
        query.resolve = (rows: unknown) => void gate("after").then(() => resolve(rows));
      }
      return query;
    },
    get(target, name) {
      const own = Reflect.get(target, name);
      return name === "begin" ? gated(own, gate) : own;
    },
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
