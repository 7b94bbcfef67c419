// deno-lint-ignore-file no-console -- a program of its own
/**
 * A peer: the page of disruptive tests as a service of Fastify and pg makes it, from the same tables
 * on each request: who is calling, then the page, which PostgreSQL counts, orders and cuts.
 *
 * How often a test ran in the window cannot be had from compressed columns with SQL: that figure
 * stands ready in the table `bench_result_count`, as a nightly job would leave it. This favours the
 * peer: it need not notice that the window moves.
 *
 * Arguments: address of the database. Prints its own address.
 */
import { createHash } from "node:crypto";
import Fastify from "fastify";
import pg from "pg";

const DEFAULT_LIMIT = 10;
const WINDOW_SECONDS = 14 * 86_400;

const pool = new pg.Pool({ connectionString: process.argv[2], max: 4 });

const caller = {
  name: "caller",
  text: `select r.repository_id, r.id_prefix from api_token t
    join repository r on r.organization_id = t.organization_id
      and r.owner_key = $2 and r.name_key = $3
    where t.hash = $1 and t.type = 'api_token' and t.revoked_at is null
      and (t.expires_at is null or t.expires_at > now())`,
};

const page = {
  name: "page",
  text: `select t.test_hash, t.suite, t.class, t.name, t.file, n.disruptions::int, c.results,
      count(*) over ()::int as count, extract(epoch from d.first_disruption_at)::int as first_at,
      encode(d.latest_submission_id, 'hex') as latest_submission_id, d.latest_commit_oid,
      d.latest_build_url, d.latest_message,
      encode(d.positive_submission_id, 'hex') as positive_submission_id, d.positive_build_url
    from (
      select test_no, count(*) as disruptions from negative_result
      where repository_id = $1 and submission_id >= decode($2, 'hex') and is_disruption
      group by test_no
    ) n
    join bench_result_count c on c.repository_id = $1 and c.test_no = n.test_no
    join disruptive_test d on d.repository_id = $1 and d.test_no = n.test_no
    join test t on t.repository_id = $1 and t.test_no = n.test_no
    order by n.disruptions::float8 / c.results desc,
      substring(d.latest_submission_id for 4) desc, t.test_hash
    limit $3 offset $4`,
};

const app = Fastify();
app.get("/api/repos/:owner/:name/tests", async (request, reply) => {
  const [, token = ""] = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? "") ?? [];
  const { owner, name } = request.params;
  const known = await pool.query({
    ...caller,
    values: [createHash("sha256").update(token).digest("hex"), owner, name],
  });
  if (known.rows.length === 0) return reply.code(401).send();
  const { repository_id, id_prefix } = known.rows[0];
  const limit = Math.min(100, Number(request.query.limit ?? DEFAULT_LIMIT));
  const cursor = Buffer.from(request.query.after ?? "", "base64").toString();
  const after = Number(cursor.replace("offset:", ""));
  const windowStart = Math.floor(Date.now() / 1000) - WINDOW_SECONDS;
  const { rows } = await pool.query({
    ...page,
    values: [
      repository_id,
      windowStart.toString(16).padStart(8, "0") + "0".repeat(16),
      limit,
      after,
    ],
  });
  const count = rows[0]?.count ?? 0;
  const end = after + limit;
  return {
    count,
    tests: rows.map((row) => testView(row, Number(id_prefix))),
    metadata: {
      after: end < count ? Buffer.from(`offset:${end}`).toString("base64") : null,
      limit,
    },
  };
});

function testView(row, idPrefix) {
  return {
    id: idPrefix.toString(16).padStart(11, "0") +
      Number(row.test_hash).toString(16).padStart(13, "0"),
    name: row.name,
    suite: row.suite,
    class: row.class,
    file: row.file,
    disruptiveness: Math.floor((row.disruptions * 1000) / row.results) / 1000,
    nondeterministic_negative_result_count: row.disruptions,
    nondeterminism_first_recorded_at: timestamp(row.first_at),
    latest_nondeterministic_commit_oid: row.latest_commit_oid,
    latest_nondeterministic_negative_result: {
      recorded_at: timestamp(secondsOf(row.latest_submission_id)),
      build_url: row.latest_build_url,
      message: row.latest_message,
    },
    latest_nondeterministic_positive_result: {
      recorded_at: timestamp(secondsOf(row.positive_submission_id)),
      build_url: row.positive_build_url,
      message: null,
    },
  };
}

const secondsOf = (submissionId) => parseInt(submissionId.slice(0, 8), 16);
const timestamp = (seconds) => new Date(seconds * 1000).toISOString().replace(".000Z", "Z");

console.error(`listening on ${await app.listen({ host: "127.0.0.1", port: 0 })}`);
