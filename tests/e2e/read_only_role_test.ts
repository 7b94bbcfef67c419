import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import postgres from "postgres";
import { run, start } from "./program.ts";
import { installedServer, makeOwnServer, type OwnServer } from "./postgres.ts";

const SCRIPT = new URL("../../deploy/read_only_role.sql", import.meta.url);

describe("the role of deploy/read_only_role.sql", { skip: installedServer() === null }, () => {
  let server: OwnServer;
  let readerUrl: string;
  let token: string;

  before(async () => {
    // A server of its own, because roles belong to all databases of one.
    server = await makeOwnServer();
    const owner = { DATABASE_URL: server.url };
    await run(["org", "create", "acme"], owner);
    await run(["repo", "create", "acme/shop", "--org", "acme"], owner);
    token = (await run(["token", "create", "--org", "acme"], owner)).stdout.trim();
    await asOwner(async (sql) => {
      const script = await Deno.readTextFile(SCRIPT);
      // Twice: it may be run again.
      await sql.unsafe(script);
      await sql.unsafe(script);
    });
    const url = new URL(server.url);
    url.username = "test_analytics_reader";
    readerUrl = url.href;
  });
  after(() => server.remove());

  async function asOwner(use: (sql: postgres.Sql) => Promise<void>): Promise<void> {
    const sql = postgres(server.url, { max: 1, onnotice: () => {} });
    try {
      await use(sql);
    } finally {
      await sql.end();
    }
  }

  it("is enough for serve", async () => {
    const running = await start(["serve", "--port", "0"], { DATABASE_URL: readerUrl });
    try {
      const headers = { authorization: `Bearer ${token}` };
      for (
        const path of [
          "/api/repos/acme/shop/submissions",
          "/api/repos/acme/shop/tests",
          "/api/v1/flaky/tests?quarantine=false&include=tags,time_consumed",
          "/api/v1/flaky/badges?repository=shop",
          "/api/v1/coverage/badges?repository=shop",
        ]
      ) {
        const response = await fetch(`${running.url}${path}`, { headers });
        assert.equal(response.status, 200, path);
        await response.body?.cancel();
      }
    } finally {
      const { code, stderr } = await running.stop("SIGTERM");
      assert.equal(code, 0, stderr);
    }
  });

  it("is enough for doctor and serve --check", async () => {
    const environment = { DATABASE_URL: readerUrl };
    const doctor = await run(["doctor"], environment);
    assert.equal(doctor.code, 0, doctor.stdout);
    assert.match(doctor.stdout, /^ok\trole\tuser test_analytics_reader may only read\t$/m);
    const check = await run(["serve", "--check"], environment);
    assert.deepEqual([check.code, check.stdout], [0, "ok\n"]);
  });

  it("cannot write, even where it lifts its own guard", async () => {
    const sql = postgres(readerUrl, { max: 1 });
    try {
      const [row] = await sql`show default_transaction_read_only`;
      assert.equal(row?.default_transaction_read_only, "on");
      await sql`set default_transaction_read_only = off`;
      for (
        const write of [
          sql`delete from api_token`,
          sql`update organization set name = 'x'`,
          sql`insert into organization (name, name_key, created_at) values ('x', 'x', now())`,
          sql`create table mine (n integer)`,
          sql`truncate submission`,
        ]
      ) {
        await assert.rejects(Promise.resolve(write), { code: "42501" });
      }
    } finally {
      await sql.end();
    }
  });

  it("reads what later versions create", async () => {
    await asOwner(async (sql) => void await sql`create table later (n integer)`);
    const sql = postgres(readerUrl, { max: 1 });
    try {
      assert.deepEqual([...await sql`select * from later`], []);
    } finally {
      await sql.end();
    }
  });

  it("is told what to do when there is no schema yet", async () => {
    await asOwner(async (sql) => {
      await sql`delete from schema_migration`;
    });
    for (const args of [["serve", "--port", "0"], ["serve", "--check"]]) {
      const { code, stderr } = await run(args, { DATABASE_URL: readerUrl });
      assert.equal(code, 1, stderr);
      assert.match(stderr, /schema is missing and this user cannot migrate it/);
      assert.match(stderr, /run `test-analytics migrate` as/);
    }
  });
});
