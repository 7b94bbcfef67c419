import type postgres from "postgres";

/** Whatever queries can be sent through: a pool, one connection, or a running transaction. */
// deno-lint-ignore ban-types -- this is how postgres.js spells "no custom types"
export type Queryable = postgres.ISql<{}>;
