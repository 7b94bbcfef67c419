import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { installedServer, makeOwnServer, type OwnServer } from "./postgres.ts";
import { runHere } from "./prepare.ts";
import { start } from "./program.ts";

const SCRIPT = fileURLToPath(new URL("../../deploy/read_only_role.sql", import.meta.url));

/** Runs the script as the guide does. */
async function runScript(url: string): Promise<{ code: number; stderr: string }> {
  const { code, stderr } = await new Deno.Command(`${installedServer()}/psql`, {
    args: ["--no-psqlrc", url, "-f", SCRIPT],
  }).output();
  return { code, stderr: new TextDecoder().decode(stderr) };
}

describe("the role of deploy/read_only_role.sql", { skip: installedServer() === null }, () => {
  let server: OwnServer;
  let readerUrl: string;
  let token: string;

  before(async () => {
    // A server of its own, because roles belong to all databases of one.
    server = await makeOwnServer();
    const owner = { DATABASE_URL: server.url };
    await runHere(["org", "create", "acme"], owner);
    await runHere(["repo", "create", "acme/shop", "--org", "acme"], owner);
    token = (await runHere(["token", "create", "--org", "acme"], owner)).stdout.trim();
    // Twice: it may be run again.
    for (let n = 0; n < 2; n++) {
      const { code, stderr } = await runScript(server.url);
      assert.equal(code, 0, stderr);
    }
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

  it("is enough for doctor", async () => {
    const environment = { DATABASE_URL: readerUrl };
    const doctor = await runHere(["doctor"], environment);
    assert.equal(doctor.code, 0, doctor.stdout);
    assert.match(doctor.stdout, /^ok\trole\tuser test_analytics_reader can only read\t$/m);
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

  describe("run by an owner that is not a superuser", () => {
    let ownerUrl: string;

    /** A new database of a new user, migrated. */
    async function makeDatabase(name: string, roleOptions = ""): Promise<string> {
      await asOwner(async (sql) => {
        await sql.unsafe(`create role ${name} login ${roleOptions}`);
        await sql.unsafe(`create database ${name} owner ${name}`);
      });
      const url = new URL(server.url);
      url.username = name;
      url.pathname = `/${name}`;
      return url.href;
    }

    async function canRead(url: string, table: string): Promise<boolean> {
      const reader = new URL(url);
      reader.username = "test_analytics_reader";
      const sql = postgres(reader.href, { max: 1 });
      try {
        const [row] = await sql`select has_table_privilege(${table}, 'select') as can`;
        return row!.can;
      } finally {
        await sql.end();
      }
    }

    before(async () => {
      ownerUrl = await makeDatabase("plain_owner");
    });

    it("covers its tables, before and after they exist, and later ones", async () => {
      assert.deepEqual(await runScript(ownerUrl).then(({ code }) => code), 0);
      assert.equal((await runHere(["migrate"], { DATABASE_URL: ownerUrl })).code, 0);
      assert.ok(await canRead(ownerUrl, "submission"));
      const { code, stderr } = await runScript(ownerUrl);
      assert.equal(code, 0, stderr);
      const sql = postgres(ownerUrl, { max: 1 });
      await sql`create table later (n integer)`;
      await sql.end();
      assert.ok(await canRead(ownerUrl, "later"));
    });

    it("covers the owner's later tables when a superuser runs it", async () => {
      const url = await makeDatabase("other_owner");
      assert.equal((await runHere(["migrate"], { DATABASE_URL: url })).code, 0);
      const asSuperuser = new URL(url);
      asSuperuser.username = new URL(server.url).username;
      const { code, stderr } = await runScript(asSuperuser.href);
      assert.equal(code, 0, stderr);
      const sql = postgres(url, { max: 1 });
      await sql`create table later (n integer)`;
      await sql.end();
      assert.ok(await canRead(url, "submission") && await canRead(url, "later"));
    });

    it("stops at the first error, with nothing done", async () => {
      const sql = postgres(ownerUrl, { max: 1 });
      await sql`revoke select on submission from test_analytics_reader`;
      await sql.end();
      // Of another user: neither a superuser nor the owner.
      const url = new URL(ownerUrl);
      await asOwner(async (sql) => void await sql`create role stranger login`);
      url.username = "stranger";
      const { code, stderr } = await runScript(url.href);
      assert.equal(code, 3, stderr);
      assert.equal(stderr.match(/ERROR/g)?.length, 1, stderr);
      assert.ok(!await canRead(ownerUrl, "submission"));
      assert.equal((await runScript(ownerUrl)).code, 0);
    });

    it("lets doctor say what each role can do", async () => {
      const doctor = async (user: string) => {
        const url = new URL(ownerUrl);
        url.username = user;
        return (await runHere(["doctor"], { DATABASE_URL: url.href })).stdout;
      };
      assert.match(
        await doctor("plain_owner"),
        /^ok\trole\tuser plain_owner can write and migrate\t/m,
      );
      assert.match(await doctor("test_analytics_reader"), /^ok\trole\t.* can only read\t$/m);
      const sql = postgres(ownerUrl, { max: 1, onnotice: () => {} });
      try {
        await sql`grant select, insert, update, delete on all tables in schema public to stranger`;
        assert.match(
          await doctor("stranger"),
          /^ok\trole\tuser stranger can write, not migrate\t/m,
        );
      } finally {
        await sql.end();
      }
    });
  });

  it("may not read webhooks, and the command that does says what it lacks", async () => {
    const environment = { DATABASE_URL: readerUrl };
    const { code, stderr } = await runHere(["webhook", "list", "--org", "acme"], environment);
    assert.equal(code, 1);
    assert.equal(
      stderr,
      "error: the database user lacks a privilege: permission denied for table webhook: expected " +
        "the owner of the tables, or a user with that privilege (42501)\n",
    );
  });

  it("reads tables of later versions", async () => {
    await asOwner(async (sql) => void await sql`create table later (n integer)`);
    const sql = postgres(readerUrl, { max: 1 });
    try {
      assert.deepEqual([...await sql`select * from later`], []);
    } finally {
      await sql.end();
    }
  });

  it("gets an error with the next step when there is no schema yet", async () => {
    await asOwner(async (sql) => {
      await sql`delete from schema_migration`;
    });
    const { code, stderr } = await runHere(["serve", "--port", "0"], { DATABASE_URL: readerUrl });
    assert.equal(code, 1, stderr);
    assert.match(stderr, /schema is missing and this user cannot migrate it/);
    assert.match(stderr, /run `deno task cli migrate` as/);
  });
});
