/** How many requests are answered, against the limit and against peers. */
import { openDatabase } from "../../db/connect.ts";
import { atRate, type Measured, saturate, type Target } from "./load.ts";
import { type Contestant, startDeno, startNode, startProgram } from "./processes.ts";
import type { Scenario } from "./scenario.ts";
import { median, medianRatio, takeTurns } from "./slices.ts";

/** How long and how often is measured. */
export interface Effort {
  rounds: number;
  seconds: number;
}

/** One endpoint against the limit. */
export interface ApiRow {
  endpoint: string;
  rps: number;
  limit_rps: number;
  ratio: number;
  p50_ms: number;
  p99_ms: number;
  limit_p99_ms: number;
}

/** The program against another one. */
export interface PeerRow {
  name: string;
  endpoint: string;
  rps: number;
  ratio: number;
}

// Every slice begins beyond the numbers that any slice before it can have reached.
const NUMBERS_PER_SLICE = 100_000;
let slices = 0;

/** Measures every endpoint as fast as it goes, and at half of that. */
export async function measureApi(
  scenario: Scenario,
  { effort, peersFolder, report }: {
    effort: Effort;
    peersFolder: string;
    report: (line: string) => void;
  },
): Promise<ApiRow[]> {
  const program = await startProgram(scenario.databaseUrl);
  try {
    await storeAnswers(scenario, program);
    const limit = await startDeno("limit.ts", scenario.databaseUrl);
    try {
      const rows: ApiRow[] = [];
      for (const [endpoint, path] of Object.entries(scenario.endpoints)) {
        await checkSameBytes(scenario, program, limit, path);
        const targets = {
          program: target(scenario, program, path),
          limit: target(scenario, limit, path),
        };
        rows.push(await compare(endpoint, targets, { effort, peersFolder }));
        report(formatRow(rows.at(-1)!));
      }
      const limitTarget = target(scenario, limit, scenario.endpoints.tests!);
      for (const endpoint of ["tests", "inventory"]) {
        const path = scenario.endpoints[endpoint]!;
        const name = `${endpoint} with new q`;
        rows.push(
          await compareNewQueries(name, { scenario, program, path, limitTarget, effort }),
        );
        report(formatRow(rows.at(-1)!));
      }
      return rows;
    } finally {
      await limit.stop();
    }
  } finally {
    await program.stop();
  }
}

async function compare(
  endpoint: string,
  targets: { program: Target; limit: Target },
  { effort, peersFolder }: { effort: Effort; peersFolder: string },
): Promise<ApiRow> {
  const full = await takeTurns({
    program: () => saturate(targets.program, effort.seconds),
    limit: () => saturate(targets.limit, effort.seconds),
  }, effort.rounds);
  // Half of what the program can do, for both: what a request waits for when nothing is crowded.
  const rate = median(full.program.map(({ rps }) => rps)) / 2;
  const half = await takeTurns({
    program: () => atRate(peersFolder, targets.program, { rate, seconds: effort.seconds }),
    limit: () => atRate(peersFolder, targets.limit, { rate, seconds: effort.seconds }),
  }, effort.rounds);
  const middle = (slices: Measured[], figure: keyof Measured) =>
    median(slices.map((slice) => slice[figure]));
  return {
    endpoint,
    rps: middle(full.program, "rps"),
    limit_rps: middle(full.limit, "rps"),
    ratio: medianRatio(full.program, full.limit, ({ rps }) => rps),
    p50_ms: middle(half.program, "p50Ms"),
    p99_ms: middle(half.program, "p99Ms"),
    limit_p99_ms: middle(half.limit, "p99Ms"),
  };
}

async function compareNewQueries(
  endpoint: string,
  { scenario, program, path, limitTarget, effort }: {
    scenario: Scenario;
    program: Contestant;
    path: string;
    limitTarget: Target;
    effort: Effort;
  },
): Promise<ApiRow> {
  // No query was ever asked before, so that nothing kept from earlier answers is of use.
  const numbered = () => ({
    path: `${path}${path.includes("?") ? "&" : "?"}q=Suite{number}+last-seen:<={day}`,
    first: NUMBERS_PER_SLICE * slices++,
  });
  const full = await takeTurns({
    program: () =>
      saturate({ ...target(scenario, program, path), numbered: numbered() }, effort.seconds),
    limit: () => saturate(limitTarget, effort.seconds),
  }, effort.rounds);
  return {
    endpoint,
    rps: median(full.program.map(({ rps }) => rps)),
    limit_rps: median(full.limit.map(({ rps }) => rps)),
    ratio: medianRatio(full.program, full.limit, ({ rps }) => rps),
    p50_ms: median(full.program.map(({ p50Ms }) => p50Ms)),
    p99_ms: median(full.program.map(({ p99Ms }) => p99Ms)),
    limit_p99_ms: median(full.limit.map(({ p99Ms }) => p99Ms)),
  };
}

/** Measures peers that answer the page of disruptive tests from the same database. */
export async function measurePeers(
  scenario: Scenario,
  { effort, peersFolder, report }: {
    effort: Effort;
    peersFolder: string;
    report: (line: string) => void;
  },
): Promise<PeerRow[]> {
  const program = await startProgram(scenario.databaseUrl);
  try {
    await storeAnswers(scenario, program);
    const path = scenario.endpoints.tests!;
    const rows: PeerRow[] = [];
    const peers = {
      fastify: async () => {
        const { text, parameters } = await callerStatement(scenario);
        return await startNode(
          peersFolder,
          "fastify.js",
          scenario.databaseUrl,
          text,
          JSON.stringify(parameters),
        );
      },
      postgraphile: () => startNode(peersFolder, "postgraphile.js", scenario.databaseUrl),
    };
    for (const [name, start] of Object.entries(peers)) {
      const peer = await start();
      try {
        const peerTarget = name === "postgraphile"
          ? await graphqlTarget(peer)
          : target(scenario, peer, path);
        if (name === "fastify") await checkSameBytes(scenario, program, peer, path);
        const turns = await takeTurns({
          program: () => saturate(target(scenario, program, path), effort.seconds),
          peer: () => saturate(peerTarget, effort.seconds),
        }, effort.rounds);
        rows.push({
          name,
          endpoint: "tests",
          rps: median(turns.peer.map(({ rps }) => rps)),
          ratio: medianRatio(turns.program, turns.peer, ({ rps }) => rps),
        });
        report(
          `${name}: ${rows.at(-1)!.rps.toFixed(0)} requests/s, ratio ${
            rows.at(-1)!.ratio.toFixed(2)
          }`,
        );
      } finally {
        await peer.stop();
      }
    }
    return rows;
  } finally {
    await program.stop();
  }
}

/** The first page as a client of PostGraphile would ask for it: ten tests with what they show. */
async function graphqlTarget(peer: Contestant): Promise<Target> {
  const body = JSON.stringify({
    query: `{ allDisruptiveTests(first: 10, orderBy: FIRST_DISRUPTION_AT_DESC) { totalCount
      nodes { testNo firstDisruptionAt latestCommitOid latestBuildUrl latestMessage
        positiveBuildUrl } pageInfo { endCursor hasNextPage } } }`,
  });
  const url = `${peer.url}/graphql`;
  const headers = { "content-type": "application/json" };
  const answer = await (await fetch(url, { method: "POST", headers, body })).json();
  if (answer.data?.allDisruptiveTests?.nodes?.length !== 10) {
    throw new Error(`PostGraphile answered ${JSON.stringify(answer)}`);
  }
  return { url, headers, body };
}

/** The statement that the API sends for a page that it has kept, written out once more. */
async function callerStatement({ token, endpoints }: Scenario) {
  const { hashToken } = await import("../../lib/token.ts");
  const { firstSubmissionId } = await import("../../lib/identity.ts");
  const { WINDOW_SECONDS } = await import("../../lib/timestamp.ts");
  const now = Math.floor(Date.now() / 1000);
  const [, , , owner, name] = endpoints.tests!.split("/");
  return {
    text: `select t.organization_id, r.repository_id::float8, r.owner_key, r.name_key,
        extract(epoch from r.created_at)::float8, r.data_version::float8,
        (select encode(s.submission_id, 'hex') from submission s
          where s.repository_id = r.repository_id and s.submission_id >= decode($1, 'hex')
          order by s.submission_id limit 1)
      from api_token t
      join organization o on o.organization_id = t.organization_id
      left join repository r on r.organization_id = t.organization_id
        and r.owner_key = $2 and r.name_key = $3
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

/** Stores what the program answers, for those that only hand the same bytes out. */
async function storeAnswers(scenario: Scenario, program: Contestant): Promise<void> {
  const database = await openDatabase({ databaseUrl: scenario.databaseUrl, dataDir: "" });
  try {
    await database.sql`
      create table if not exists bench_answer
        (path text primary key, media_type text not null, body text not null)`;
    for (const path of Object.values(scenario.endpoints)) {
      const response = await ask(scenario, program, path);
      await database.sql`
        insert into bench_answer
        values (${path}, ${response.headers.get("content-type")}, ${await response.text()})
        on conflict (path) do update set body = excluded.body`;
    }
  } finally {
    await database.close();
  }
}

async function checkSameBytes(
  scenario: Scenario,
  one: Contestant,
  other: Contestant,
  path: string,
): Promise<void> {
  const bodies = await Promise.all(
    [one, other].map(async (contestant) => await (await ask(scenario, contestant, path)).text()),
  );
  if (bodies[0] !== bodies[1] || !bodies[0]) throw new Error(`${path}: the answers differ`);
}

async function ask(scenario: Scenario, contestant: Contestant, path: string): Promise<Response> {
  const { url, headers } = target(scenario, contestant, path);
  const response = await fetch(url, { headers });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

function target(scenario: Scenario, contestant: Contestant, path: string): Target {
  return {
    url: `${contestant.url}${path}`,
    headers: { authorization: `Bearer ${scenario.token}` },
  };
}

function formatRow(row: ApiRow): string {
  return `${row.endpoint.padEnd(20)} ${row.rps.toFixed(0).padStart(7)} of ${
    row.limit_rps.toFixed(0).padStart(6)
  } requests/s, ratio ${row.ratio.toFixed(2)}, p99 ${row.p99_ms.toFixed(1)} ms (limit ${
    row.limit_p99_ms.toFixed(1)
  })`;
}
