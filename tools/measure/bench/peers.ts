/** The page of disruptive tests against other programs on the same database. */
import { deepStrictEqual } from "node:assert/strict";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import { findRepository } from "../../../db/admin/repositories.ts";
import { firstSubmissionId } from "../../../lib/base/identity.ts";
import { WINDOW_SECONDS } from "../../../lib/base/time.ts";
import { hashToken } from "../../../lib/base/token.ts";
import { ask, checkSameBytes, storeResponses, target } from "./responses.ts";
import type { Effort } from "./against_limit.ts";
import { saturate, type Target } from "./load.ts";
import { type Contestant, startNode, startProgram } from "./processes.ts";
import { storeResultCounts } from "./result_counts.ts";
import { MEASURED, type Scenario } from "./scenario.ts";
import { median, medianRatio, takeTurns } from "./slices.ts";

/** The program against another one. */
export interface PeerRow {
  name: string;
  endpoint: string;
  /** What the peer does in a second: requests, badges, or megabytes of reports. */
  rps: number;
  /** How many times as much the program does. */
  ratio: number;
  /** Greatest memory of the peer and of the program, where it was measured. */
  peak_rss_mb?: number;
  own_peak_rss_mb?: number;
}

/** A program, and its request, sent once its response was found to be the same. */
interface Peer {
  start(): Promise<Contestant>;
  targetOf(peer: Contestant): Promise<Target>;
}

/** Measures peers that serve the page of disruptive tests from the same database. */
export async function measurePeers(
  scenario: Scenario,
  { effort, peersFolder, report }: {
    effort: Effort;
    peersFolder: string;
    report: (line: string) => void;
  },
): Promise<PeerRow[]> {
  const repositoryId = await prepare(scenario);
  const program = await startProgram(scenario.databaseUrl);
  try {
    const path = scenario.endpoints.tests!;
    const rows: PeerRow[] = [];
    for (const [name, peer] of Object.entries(peersOf(scenario, program, peersFolder))) {
      await storeResponses(scenario, program, [path]);
      const contestant = await peer.start();
      try {
        const peerTarget = await peer.targetOf(contestant);
        const turns = await takeTurns({
          program: () => saturate(target(scenario, program, path), effort.seconds),
          peer: () => saturate(peerTarget, effort.seconds),
        }, effort.rounds);
        const row: PeerRow = {
          name,
          endpoint: "tests",
          rps: median(turns.peer.map(({ rps }) => rps)),
          ratio: medianRatio(turns.program, turns.peer, ({ rps }) => rps),
        };
        rows.push(row);
        report(`${name}: ${row.rps.toFixed(0)} requests/s, ratio ${row.ratio.toFixed(2)}`);
      } finally {
        await contestant.stop();
      }
    }
    return rows;
  } finally {
    await program.stop();
  }

  function peersOf(
    scenario: Scenario,
    program: Contestant,
    folder: string,
  ): Record<string, Peer> {
    const path = scenario.endpoints.tests!;
    const { databaseUrl } = scenario;
    return {
      "fastify": {
        start: () => startNode(folder, "fastify.js", databaseUrl),
        async targetOf(peer) {
          const its = target(scenario, peer, path);
          const own = await (await ask(target(scenario, program, path))).json();
          deepStrictEqual(await (await ask(its)).json(), own);
          return its;
        },
      },
      "fastify, ready bytes": {
        start: async () => {
          const { text, parameters } = callerStatement(scenario);
          const values = JSON.stringify(parameters);
          return await startNode(folder, "fastify_ready_bytes.js", databaseUrl, text, values);
        },
        async targetOf(peer) {
          await checkSameBytes(scenario, { one: program, other: peer, path });
          return target(scenario, peer, path);
        },
      },
      "postgraphile": {
        start: () => startNode(folder, "postgraphile.js", databaseUrl),
        async targetOf(peer) {
          const own = await (await ask(target(scenario, program, path))).json();
          return await graphqlPage(peer, { repositoryId, own });
        },
      },
      "postgraphile, rows of one table": {
        start: () => startNode(folder, "postgraphile.js", databaseUrl),
        targetOf: (peer) => graphqlRows(peer, repositoryId),
      },
    };
  }
}

// The fields of a test, in addition to those that all pages have.
interface OwnPage {
  count: number;
  tests: {
    name: string;
    nondeterministic_negative_result_count: number;
    latest_nondeterministic_commit_oid: string;
  }[];
}

/** The same page as requested by a client of PostGraphile: through a function of the database. */
async function graphqlPage(
  peer: Contestant,
  { repositoryId, own }: { repositoryId: number; own: OwnPage },
): Promise<Target> {
  const windowStart = Math.floor(Date.now() / 1000) - WINDOW_SECONDS;
  const { target, data } = await graphql(
    peer,
    `{ page: benchPage(repository: "${repositoryId}", firstId: "${firstSubmissionId(windowStart)}",
      first: 10) { totalCount nodes { testHash suite class name file disruptions results firstAt
      latestSubmissionId latestCommitOid latestBuildUrl latestMessage positiveSubmissionId
      positiveBuildUrl } pageInfo { endCursor hasNextPage } } }`,
  );
  deepStrictEqual(
    [
      data.totalCount,
      ...data.nodes.map((test) => [test.name, test.disruptions, test.latestCommitOid]),
    ],
    [
      own.count,
      ...own.tests.map((test) => [
        test.name,
        test.nondeterministic_negative_result_count,
        test.latest_nondeterministic_commit_oid,
      ]),
    ],
  );
  return target;
}

/** The cheapest query for PostGraphile: ten rows of one table in the order of its key, and a count. */
async function graphqlRows(peer: Contestant, repositoryId: number): Promise<Target> {
  const { target, data } = await graphql(
    peer,
    `{ page: allDisruptiveTests(first: 10, condition: { repositoryId: "${repositoryId}" }) {
      totalCount nodes { testNo firstDisruptionAt latestCommitOid latestBuildUrl latestMessage
      positiveBuildUrl } pageInfo { endCursor hasNextPage } } }`,
  );
  deepStrictEqual([data.totalCount, data.nodes.length], [MEASURED.disruptiveTestCount, 10]);
  return target;
}

interface GraphqlPage {
  totalCount: number;
  nodes: { name: string; disruptions: number; latestCommitOid: string }[];
}

async function graphql(
  peer: Contestant,
  query: string,
): Promise<{ target: Target; data: GraphqlPage }> {
  const target = {
    url: `${peer.url}/graphql`,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query }),
  };
  const answer = await (await ask(target)).json();
  if (!answer.data?.page) throw new Error(`PostGraphile answered ${JSON.stringify(answer)}`);
  return { target, data: answer.data.page };
}

/** Adds what peers need to the database. @returns its repository */
async function prepare(scenario: Scenario): Promise<number> {
  const database = await openDatabase({ databaseUrl: scenario.databaseUrl, dataDir: "" });
  try {
    const { owner, name } = MEASURED;
    const { organizationId } = scenario.organization;
    const found = await findRepository(database.sql, { organizationId, owner, name });
    await storeResultCounts(database.sql, {
      repositoryId: found!.repositoryId,
      windowStart: Math.floor(Date.now() / 1000) - WINDOW_SECONDS,
    });
    await createPageFunction(database.sql);
    return found!.repositoryId;
  } finally {
    await database.close();
  }
}

async function createPageFunction(sql: Database["sql"]): Promise<void> {
  await sql`drop type if exists bench_page_row cascade`;
  await sql`
    create type bench_page_row as (test_hash bigint, suite text, class text, name text, file text,
      disruptions integer, results integer, first_at timestamptz, latest_submission_id text,
      latest_commit_oid text, latest_build_url text, latest_message text,
      positive_submission_id text, positive_build_url text)`;
  await sql`
    create function bench_page(repository bigint, first_id text) returns setof bench_page_row
    language sql stable as $$
      select t.test_hash, t.suite, t.class, t.name, t.file, n.disruptions::int, c.results,
        d.first_disruption_at, encode(d.latest_submission_id, 'hex'), d.latest_commit_oid,
        d.latest_build_url, d.latest_message, encode(d.positive_submission_id, 'hex'),
        d.positive_build_url
      from (
        select test_no, count(*) as disruptions from negative_result
        where repository_id = repository and submission_id >= decode(first_id, 'hex')
          and is_disruption
        group by test_no
      ) n
      join bench_result_count c on c.repository_id = repository and c.test_no = n.test_no
      join disruptive_test d on d.repository_id = repository and d.test_no = n.test_no
      join test t on t.repository_id = repository and t.test_no = n.test_no
      order by n.disruptions::float8 / c.results desc,
        substring(d.latest_submission_id for 4) desc, t.test_hash
    $$`;
}

/** A copy of the statement that the API sends for a cached page. */
function callerStatement({ token, endpoints }: Scenario) {
  const now = Math.floor(Date.now() / 1000);
  const [, , , owner, name] = endpoints.tests!.split("/");
  return {
    text: `select t.organization_id, r.repository_id::float8, r.owner_key, r.name_key,
        v.data_version::float8, encode(v.oldest_submission_id, 'hex')
      from api_token t
      join organization o on o.organization_id = t.organization_id
      left join repository r on r.organization_id = t.organization_id
        and r.owner_key = $2 and r.name_key = $3
      left join lateral repository_version(r.repository_id, decode($1, 'hex'), null) v on true
      where t.hash = $4 and t.type = 'api_token' and t.revoked_at is null
        and (t.expires_at is null or t.expires_at > to_timestamp($5::float8))
      order by r.repository_id`,
    parameters: [
      firstSubmissionId(now - WINDOW_SECONDS),
      owner,
      name,
      hashToken(token, "api_token"),
      now,
    ],
  };
}
