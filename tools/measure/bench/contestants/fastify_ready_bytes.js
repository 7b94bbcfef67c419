// deno-lint-ignore-file no-console -- a program of its own
/**
 * A second limit: Fastify with pg, which runs the one statement that the API runs for a page that it
 * has kept (token, repository, version) and hands out bytes that were ready before it started. It
 * makes no page, so it is no peer; it tells what Fastify and pg by themselves cost.
 * Arguments: address of the database, statement with $1 to $n, its parameters as JSON. Prints its
 * own address.
 */
import Fastify from "fastify";
import pg from "pg";

const [databaseUrl, text, parameters] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 });
const answer = (await pool.query("select path, media_type, body from bench_answer")).rows;
const answers = new Map(answer.map((row) => [row.path, row]));
const values = JSON.parse(parameters);

const app = Fastify();
app.get("/*", async (request, reply) => {
  const { rows } = await pool.query({ name: "caller", text, values });
  const { body, media_type } = answers.get(request.url);
  if (rows.length === 0) throw new Error("expected a caller");
  return reply.type(media_type).send(body);
});
console.error(`listening on ${await app.listen({ host: "127.0.0.1", port: 0 })}`);
