import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { openTestServer, type TestDatabase } from "../database.ts";
import { hasPgBouncer, startPgBouncer } from "./pgbouncer.ts";
import { runHere } from "./prepare.ts";
import { type Running, start } from "./program.ts";
import { flakyReport } from "./replicas.ts";

const serverUrl = process.env.TEST_DATABASE_URL ?? "";

/** How long requests are sent in each mode; for longer runs the numbers of responses are printed. */
const SECONDS = Number(process.env.POOLER_SECONDS ?? 2);

const CLIENTS = 32;

/** An organization whose name is part of all that it owns. */
interface Owner {
  name: string;
  token: string;
}

/** Sends requests of all owners at once; returns how many responses had which status or were foreign. */
async function requestAll(serve: Running, owners: Owner[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const until = performance.now() + SECONDS * 1000;
  await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
    for (let count = client; performance.now() < until; count++) {
      const { name, token } = owners[client % owners.length]!;
      const limit = 1 + count % 50;
      const paths = [
        `/api/v1/flaky/tests?limit=${limit}`,
        `/api/repos/${name}/shop/tests?limit=${limit}`,
        `/api/repos/${name}/shop/submissions?limit=${limit}`,
        `/api/v1/flaky/badges?repository=shop`,
        `/api/repos/${name}/shop/tests?q=${name}_${limit}`,
      ];
      const response = await fetch(serve.url + paths[count % paths.length], {
        headers: { authorization: `Bearer ${token}` },
      });
      const body = await response.text();
      const isForeign = owners.some((other) => other.name !== name && body.includes(other.name));
      const outcome = isForeign ? "foreign" : response.status;
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
  }));
  return counts;
}

describe("the program behind PgBouncer", { skip: !serverUrl || !hasPgBouncer() }, () => {
  let server: TestDatabase;
  let folder: string;
  before(async () => {
    server = await openTestServer(serverUrl);
    folder = await Deno.makeTempDir({ prefix: "test-analytics-pooler-" });
  });
  after(async () => {
    await server.close();
    await Deno.remove(folder, { recursive: true });
  });

  for (
    const [mode, more] of [["transaction", { server_round_robin: 1 }], ["session", {}]] as const
  ) {
    it(`takes uploads and gives two organizations their own rows in ${mode} mode`, async () => {
      const bouncer = await startPgBouncer(server.place.databaseUrl!, { pool_mode: mode, ...more });
      const environment = { DATABASE_URL: bouncer.url };
      const succeed = async (...args: string[]) => {
        const { code, stdout, stderr } = await runHere(args, environment);
        assert.equal(code, 0, stderr);
        return stdout.trim();
      };
      try {
        const owners: Owner[] = [];
        for (const name of [`first_${mode}`, `second_${mode}`]) {
          const report = join(folder, `${name}.xml`);
          await Deno.writeTextFile(
            report,
            flakyReport(Array.from({ length: 60 }, (_, index) => `${name}_${index}`)),
          );
          await succeed("org", "create", name);
          const upload =
            `ingest --org ${name} --repo ${name}/shop --build-url https://ci.example/1`;
          await succeed(...upload.split(" "), "--commit", "a".repeat(40), report);
          owners.push({ name, token: await succeed("token", "create", "--org", name) });
        }
        const serve = await start(["serve", "--port", "0"], environment);
        const counts = await requestAll(serve, owners);
        const { code, stderr } = await serve.stop("SIGTERM");
        if (SECONDS > 2) process.stdout.write(`${mode} mode: ${JSON.stringify(counts)}\n`);
        assert.deepEqual(Object.keys(counts), ["200"], JSON.stringify(counts) + stderr);
        assert.equal(code, 0, stderr);
        assert.match(await succeed("doctor"), /through a connection pooler/);
      } finally {
        await bouncer.stop();
      }
    });
  }
});
