import type postgres from "postgres";

/**
 * The same connections, before and after each of whose statements (and transactions) `gate` is
 * waited for: whatever happens beside a request can happen there, as long as one likes.
 */
export function gatedSql(sql: postgres.Sql, gate: () => Promise<void>): postgres.Sql {
  return new Proxy(sql, {
    apply(target, self, values) {
      const query = Reflect.apply(target, self, values);
      // The library sends a statement when it is first waited for; a part of another never is.
      if (typeof query?.handle === "function") {
        const handle = query.handle.bind(query);
        let passing: Promise<void> | undefined;
        query.handle = () => passing ??= gate().then(handle);
        const resolve = query.resolve.bind(query);
        query.resolve = (rows: unknown) => void gate().then(() => resolve(rows));
      }
      return query;
    },
    get(target, name) {
      if (name !== "begin") return Reflect.get(target, name);
      return async (...values: Parameters<postgres.Sql["begin"]>) => {
        await gate();
        const outcome = await target.begin(...values);
        await gate();
        return outcome;
      };
    },
  });
}
