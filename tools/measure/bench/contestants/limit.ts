// deno-lint-ignore-file no-console -- a program of its own
/**
 * The limit that the API is measured against: a bare handler that answers the same bytes from one
 * prepared single-row select. Arguments: address of the database. Prints its own address.
 */
import postgres from "postgres";
import { observeStatement } from "../../../../db/connection/statements.ts";

const [databaseUrl = ""] = Deno.args;
const sql = postgres(databaseUrl, { max: 4, fetch_types: false });

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.error(`listening on http://127.0.0.1:${port}`),
}, async (request) => {
  const path = request.url.slice(request.url.indexOf("/", 8));
  // Observed, because otherwise the limit gets slower from minute to minute: half as fast after one.
  const [row] = await observeStatement(
    sql`select media_type, body from bench_answer where path = ${path}`,
    () => ({ settled() {} }),
  );
  return new Response(row!.body, { headers: { "content-type": row!.media_type } });
});
