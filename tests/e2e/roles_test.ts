import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { openDatabase } from "../../db/connection/connect.ts";
import { migrate } from "../../db/schema/migrate.ts";
import { migrations } from "../../db/schema/migrations/mod.ts";
import { hashToken } from "../../lib/base/token.ts";
import { withDatabase } from "../database.ts";
import { installedServer, makeServer, type OwnServer } from "./postgres.ts";
import { runHere } from "./prepare.ts";
import { start } from "./program.ts";

const DEPLOY = fileURLToPath(new URL("../../deploy", import.meta.url));
const SCRIPTS = ["read_only_role.sql", "upload_role.sql", "writer_role.sql"];
const ROLES = ["test_analytics_reader", "test_analytics_receiver", "test_analytics_writer"];
const REPORT = '<testsuite name="a"><testcase name="b"/></testsuite>';

/** What deploy/upload_role.sql granted before there were functions. */
const EARLIER_GRANTS = `
  grant select on schema_migration, api_token to test_analytics_receiver;
  grant select (organization_id, name) on organization to test_analytics_receiver;
  grant update (last_used_at) on api_token to test_analytics_receiver;`;

describe("the roles of deploy/*.sql", { skip: installedServer() === null }, () => {
  let server: OwnServer;
  /** A database whose tables were there first. */
  let url = "";
  let folder = "";
  let tokens = { api: "", upload: "", other: "", quarantine: "" };

  before(async () => {
    // A server of its own, because roles belong to all databases of one.
    server = await makeServer();
    url = await createDatabase("tables_first");
    await cli(["migrate"]);
    // Twice: they can be repeated.
    for (let n = 0; n < 2; n++) await runScripts(url);
    folder = await Deno.makeTempDir();
    await cli(["org", "create", "acme"]);
    await cli(["org", "create", "other"]);
    tokens = {
      api: await cli(["token", "create", "--org", "acme"]),
      upload: await cli(["token", "create", "--org", "acme", "--upload"]),
      other: await cli(["token", "create", "--org", "other", "--upload"]),
      quarantine: await cli(["token", "create", "--org", "acme", "--quarantine"]),
    };
  });
  after(async () => {
    await server.remove();
    await Deno.remove(folder, { recursive: true });
  });

  async function createDatabase(name: string): Promise<string> {
    const sql = postgres(server.url, { max: 1 });
    await sql.unsafe(`create database ${name}`);
    await sql.end();
    return withDatabase(server.url, name);
  }

  async function runScripts(databaseUrl: string): Promise<void> {
    for (const script of SCRIPTS) {
      const { success, stderr } = await new Deno.Command(`${installedServer()}/psql`, {
        args: ["--no-psqlrc", databaseUrl, "-f", `${DEPLOY}/${script}`],
      }).output();
      assert.ok(success, new TextDecoder().decode(stderr));
    }
  }

  function as(role: string, databaseUrl = url): string {
    return Object.assign(new URL(databaseUrl), { username: `test_analytics_${role}` }).href;
  }

  /** Runs a command as the owner of the tables; returns its output. */
  async function cli(line: string[], databaseUrl = url): Promise<string> {
    const { code, stdout, stderr } = await runHere(line, { DATABASE_URL: databaseUrl });
    assert.equal(code, 0, stderr);
    return stdout.trim();
  }

  async function withSql<T>(
    databaseUrl: string,
    use: (sql: postgres.Sql) => Promise<T>,
  ): Promise<T> {
    const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
    try {
      return await use(sql);
    } finally {
      await sql.end();
    }
  }

  /** Each statement is refused for lack of a privilege. */
  async function refuses(role: string, statements: string[]): Promise<void> {
    await withSql(as(role), async (sql) => {
      for (const statement of statements) {
        await assert.rejects(
          Promise.resolve(sql.unsafe(statement)),
          { code: "42501" },
          `${role}: ${statement}`,
        );
      }
    });
  }

  /** What the roles may do with tables, columns, sequences and functions, such as `submission select`. */
  function privileges(databaseUrl: string): Promise<Record<string, string[]>> {
    return withSql(databaseUrl, async (sql) => {
      const rows = await sql<{ role: string; all: string[] }[]>`
        select role, json_agg(privilege order by privilege) as all
        from unnest(string_to_array(${ROLES.join()}, ',')) as role
        cross join lateral (
          select c.relname || ' ' || p as privilege
          from pg_class c cross join unnest(array[
            'select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as p
          where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
            and has_table_privilege(role, c.oid, p)
          union all
          select a.attrelid::regclass || '.' || a.attname || ' ' || p
          from pg_attribute a join pg_class c on c.oid = a.attrelid
          cross join unnest(array['select', 'insert', 'update', 'references']) as p
          where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
            and a.attnum > 0 and not a.attisdropped
            and has_column_privilege(role, a.attrelid, a.attnum, p)
            and not has_table_privilege(role, a.attrelid, p)
          union all
          select c.relname || ' ' || p from pg_class c cross join unnest(array['usage', 'update']) as p
          where c.relnamespace = 'public'::regnamespace and c.relkind = 'S'
            -- Those of identity columns belong to their tables.
            and c.relname = 'repository_id_sequence' and has_sequence_privilege(role, c.oid, p)
          union all
          select oid::regprocedure || ' execute' from pg_proc
          where pronamespace = 'public'::regnamespace and prosecdef
            and has_function_privilege(role, oid, 'execute')) as granted
        group by role`;
      return Object.fromEntries(rows.map((row) => [row.role, row.all]));
    });
  }

  it("allow the same whether the tables or the roles were there first", async () => {
    const rolesFirst = await createDatabase("roles_first");
    await runScripts(rolesFirst);
    await cli(["migrate"], rolesFirst);
    assert.deepEqual(await privileges(rolesFirst), await privileges(url));
  });

  it("let receive call its functions and nothing else", async () => {
    const { test_analytics_receiver: granted } = await privileges(url);
    assert.deepEqual(granted, [
      "change_quarantine(text,timestamp with time zone,bigint,bigint,jsonb,jsonb) execute",
      "lock_test(text,timestamp with time zone,bigint,bigint) execute",
      "quarantine_token(text,timestamp with time zone) execute",
      "record_token_use(text,timestamp with time zone) execute",
      "trusts_of_issuer(text) execute",
      "upload_token(text,timestamp with time zone) execute",
    ]);
    await refuses("receiver", [
      "select hash from api_token",
      "select last_used_at from api_token",
      "update api_token set last_used_at = now()",
      "update api_token set revoked_at = null",
      "insert into organization (name, name_key, created_at) values ('x', 'x', now())",
      "delete from api_token",
      "select name from organization",
      "select * from repository",
      "select * from submission",
      "select * from schema_migration",
      "select * from quarantine",
      "select * from valid_token('upload', 'x', now())",
      "select * from trusted_issuer",
      "select * from webhook",
      "select * from webhook_delivery",
      "select add_webhook_messages(1, 1, 'test.flaky', '', now(), '{}', '[{}]')",
      "insert into change (organization_id) values (1)",
      "select nextval('repository_id_sequence')",
      "create table mine (n integer)",
      "create function f() returns integer language sql as 'select 1'",
      "create or replace function upload_token(token_hash text, moment timestamptz) " +
      "returns setof uploader language sql as 'select 1, 1, ''acme'''",
      "set role test_analytics_writer",
    ]);
  });

  it("let receive find a token by its hash alone, whatever it creates itself", async () => {
    const hash = hashToken(tokens.upload, "upload");
    await withSql(as("receiver"), async (sql) => {
      const find = (text: string) => sql`select * from upload_token(${text}, now())`;
      const [found, ...more] = await find(hash);
      assert.deepEqual([found?.organization_name, more], ["acme", []]);
      for (const text of ["", "%", `${hash.slice(0, -1)}_`, hashToken(tokens.api, "api_token")]) {
        assert.deepEqual([...await find(text)], [], text);
      }
      // Tables and operators of its own do not lead the functions astray.
      await sql`
        create temporary table api_token (organization_id integer, api_token_id integer, hash text,
          type text, revoked_at timestamptz, expires_at timestamptz)`;
      await sql`insert into pg_temp.api_token values (1, 1, 'mine', 'upload')`;
      await sql`set search_path = pg_temp, public`;
      assert.deepEqual([...await sql`select * from public.upload_token('mine', now())`], []);
    });
  });

  it("let receive record the use of a token that it saw, not of others and not at will", async () => {
    const lastUses = () =>
      withSql(url, async (sql) => {
        const rows = await sql`
          select extract(epoch from now() - last_used_at)::integer as age from api_token
          order by api_token_id`;
        return rows.map(({ age }) => age);
      });
    const hash = hashToken(tokens.other, "upload");
    await withSql(as("receiver"), async (sql) => {
      await sql`select record_token_use('', now()), record_token_use('%', now())`;
      assert.deepEqual(await lastUses(), [null, null, null, null]);
      await sql`select record_token_use(${hash}, now() - interval '1 day')`;
      const [first, second, day, last] = await lastUses();
      assert.deepEqual([first, second, last], [null, null, null]);
      assert.ok(day >= 86_399 && day < 86_460, String(day));
      // Neither into the future nor back.
      await sql`select record_token_use(${hash}, 'infinity')`;
      await sql`select record_token_use(${hash}, '2001-01-01')`;
      const [, , age] = await lastUses();
      assert.ok(age >= 0 && age < 60, String(age));
      await assert.rejects(Promise.resolve(sql`select last_used_at from api_token`));
    });
  });

  it("let watch store uploads, and read or change no token, organization or log", async () => {
    await refuses("writer", [
      "select hash from api_token",
      "select api_token_id from api_token",
      "update api_token set last_used_at = now()",
      "delete from api_token",
      `select * from upload_token('${hashToken(tokens.upload, "upload")}', now())`,
      "select * from lock_test('', now(), 0, 0)",
      "select change_quarantine('', now(), 0, 0, null, null)",
      "select record_token_use('', now())",
      "insert into organization (name, name_key, created_at) values ('x', 'x', now())",
      "update organization set purchase_unit_count = 1",
      "delete from organization",
      "update change set author = ''",
      "delete from change",
      "delete from repository",
      "select * from trusted_issuer",
      "insert into trusted_issuer (organization_id) values (1)",
      "select * from trusts_of_issuer('')",
      "insert into webhook (organization_id) values (1)",
      "update webhook set url = ''",
      "delete from webhook",
      "delete from schema_migration",
      "truncate submission",
      "alter table submission add column mine integer",
      "drop table submission",
      "create table mine (n integer)",
    ]);
  });

  it("let serve read, and write nothing", async () => {
    await refuses("reader", [
      "set transaction read write; delete from api_token",
      "select secret from webhook",
      "select webhook_id from webhook",
      "select data from webhook_delivery",
      "set transaction read write; select nextval('repository_id_sequence')",
      "set transaction read write; select record_token_use('', now())",
      "select * from upload_token('', now())",
      "set transaction read write; delete from trusted_issuer",
      "select * from trusts_of_issuer('')",
    ]);
  });

  it("are enough for the processes of deploy/compose.yaml, from an upload to the API", async () => {
    const messages: string[] = [];
    const receiver = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      async (request) => {
        messages.push((await request.json()).type);
        return new Response();
      },
    );
    const hook = `http://127.0.0.1:${receiver.addr.port}/`;
    await cli(["webhook", "add", "--org", "acme", "--allow-private", "--url", hook]);
    const receive = await start(
      ["receive", "--to", folder, "--port", "0"],
      { DATABASE_URL: as("receiver") },
    );
    const response = await fetch(`${receive.url}/upload/acme/shop?commit=4f2a9c1`, {
      method: "PUT",
      headers: { authorization: `Bearer ${tokens.upload}` },
      body: REPORT,
    });
    assert.equal(response.status, 202, await response.text());
    const watch = await runHere(["watch", folder, "--once"], { DATABASE_URL: as("writer") });
    assert.equal(watch.code, 0, watch.stderr);

    const id = await withSql(url, async (sql) => {
      const [row] = await sql`
        select lpad(to_hex(id_prefix), 11, '0') || lpad(to_hex(test_hash), 13, '0') as id
        from test join repository using (repository_id)`;
      return row!.id;
    });
    const quarantined = await fetch(`${receive.url}/quarantine/acme/shop`, {
      method: "POST",
      headers: { authorization: `Bearer ${tokens.quarantine}` },
      body: new URLSearchParams({ test: id, reason: "flaky" }),
    });
    assert.equal(quarantined.status, 200, await quarantined.text());
    const removed = await fetch(`${receive.url}/quarantine/acme/shop/${id}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${tokens.quarantine}` },
    });
    assert.equal((await removed.json()).outcome, "removed");
    const sending = await runHere(["watch", folder, "--once"], { DATABASE_URL: as("writer") });
    assert.equal(sending.code, 0, sending.stderr);
    assert.deepEqual(messages, ["quarantine.added", "quarantine.removed"]);
    await receiver.shutdown();
    const ended = await receive.stop("SIGTERM");
    assert.equal(ended.code, 0, ended.stderr);
    assert.doesNotMatch(ended.stderr, /token uses/);

    const serve = await start(["serve", "--port", "0"], { DATABASE_URL: as("reader") });
    const headers = { authorization: `Bearer ${tokens.api}` };
    const submissions = await fetch(`${serve.url}/api/repos/acme/shop/submissions`, { headers });
    assert.equal((await submissions.json()).count, 1);
    await serve.stop("SIGTERM");

    const listed = JSON.parse(await cli(["token", "list", "--org", "acme", "--json"]));
    const { last_used_at } = listed.find(({ type }: { type: string }) => type === "upload");
    assert.match(last_used_at, /^\d{4}-\d\d-\d\dT\d\d:00:00Z$/);
  });

  it("are named to an operator who took the wrong one", async () => {
    for (
      const [line, role, message] of [
        [
          "up --port 0 --upload-port 0",
          "reader",
          /"test_analytics_reader" .* cannot write results/,
        ],
        ["up --port 0 --upload-port 0", "writer", /"test_analytics_writer" .* cannot read tokens/],
        [
          "up --port 0 --upload-port 0",
          "receiver",
          /may not read the database schema: use the owner/,
        ],
        ["serve --port 0", "writer", /"test_analytics_writer" .*read_only_role\.sql.*_reader/],
        ["serve --check", "writer", /"test_analytics_writer" .*read_only_role\.sql.*_reader/],
        ["serve --port 0", "receiver", /may not read the database schema: .*read_only_role\.sql/],
        ["serve --check", "receiver", /may not read the database schema: .*read_only_role\.sql/],
        [`watch ${folder} --once`, "reader", /cannot write results: .*deploy\/writer_role\.sql/],
        [`receive --to ${folder} --port 0`, "reader", /upload_role\.sql.*test_analytics_receiver/],
        [`receive --to ${folder} --port 0`, "writer", /upload_role\.sql.*test_analytics_receiver/],
        ["token list --org acme", "receiver", /may not read the database schema: use the owner/],
      ] as const
    ) {
      const environment = { DATABASE_URL: as(role), DATA_DIR: folder };
      const { code, stderr } = await runHere(line.split(" "), environment);
      assert.equal(code, 1, `${line} as ${role}: ${stderr}`);
      assert.match(stderr, message, `${line} as ${role}`);
    }
    const doctor = await runHere(["doctor"], { DATABASE_URL: as("receiver") });
    assert.match(
      doctor.stdout,
      /^fail\tschema\t.* may read no table\t`receive` works as this user/m,
    );
  });

  it("know less after a migration of a database with data that granted tables to receive", async () => {
    const upgraded = await createDatabase("upgraded");
    const database = await openDatabase({ databaseUrl: upgraded, dataDir: "" });
    const { sql } = database;
    try {
      await migrate(sql, migrations.slice(0, 1));
      await sql`insert into organization (name, name_key, created_at) values ('acme', 'acme', now())`;
      await sql`
        insert into api_token (organization_id, type, repository_id, hash, created_at, expires_at,
          revoked_at)
        select 1, type, case when type = 'badge' then 1 end, hash, now(), expires_at, revoked_at
        from (values
          ('upload', 'valid', null::timestamptz, null::timestamptz),
          ('upload', 'expired', now() - interval '1 s', null),
          ('upload', 'revoked', null, now()),
          ('api_token', 'other', null, null),
          ('badge', 'badge', null, null)) as t(type, hash, expires_at, revoked_at)`;
      await sql.unsafe(EARLIER_GRANTS).simple();
    } finally {
      await database.close();
    }
    await withSql(as("receiver", upgraded), async (sql) => {
      assert.equal((await sql`select hash from api_token`).length, 5, "as it was");
    });
    const early = await runHere(["receive", "--to", folder, "--port", "0"], {
      DATABASE_URL: as("receiver", upgraded),
    });
    assert.match(early.stderr, /schema is older and this user cannot migrate it/);

    await cli(["migrate"], upgraded);
    const { test_analytics_receiver: receiver } = await privileges(url);
    assert.deepEqual((await privileges(upgraded)).test_analytics_receiver, receiver);
    await withSql(as("receiver", upgraded), async (sql) => {
      const found = [];
      for (const hash of ["valid", "expired", "revoked", "other", "badge"]) {
        found.push(...await sql`select * from upload_token(${hash}, now())`);
      }
      assert.deepEqual(found.map((row) => ({ ...row })), [
        {
          organization_id: 1,
          api_token_id: 1,
          organization_name: "acme",
          label: null,
          repository_id: null,
          repository_owner: null,
          repository_name: null,
        },
      ]);
      await assert.rejects(Promise.resolve(sql`select hash from api_token`), { code: "42501" });
    });
  });
});
