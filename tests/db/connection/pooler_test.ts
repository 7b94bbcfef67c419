import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import process from "node:process";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import {
  type Database,
  type DatabaseOptions,
  openDatabase,
} from "../../../db/connection/connect.ts";
import { checkSchema, migrate } from "../../../db/schema/migrate.ts";
import { pause } from "../../../lib/base/delay.ts";
import { dropEverything, openTestServer, type TestDatabase } from "../../database.ts";
import { startForwarder } from "../../e2e/forwarder.ts";
import { hasPgBouncer, type PgBouncer, startPgBouncer } from "../../e2e/pgbouncer.ts";
import { commandLine } from "../../lib/cli/run_in_process.ts";

const serverUrl = process.env.TEST_DATABASE_URL ?? "";

/** Each transaction has a session other than the one before, from few. */
const TRANSACTION_MODE = { pool_mode: "transaction", default_pool_size: 3, server_round_robin: 1 };
const SESSION_MODE = { pool_mode: "session" };

/** The start-up parameters of a direct connection. */
const IGNORED = "jit,random_page_cost,statement_timeout,idle_in_transaction_session_timeout," +
  "client_connection_check_interval,default_transaction_read_only";

/** Whether each statement of many callers has its own rows, or else the codes of the errors. */
async function outcomesOfMany({ sql }: Database, milliseconds: number): Promise<Set<unknown>> {
  const outcomes = new Set<unknown>();
  const until = performance.now() + milliseconds;
  const shapes = [
    (n: number) => sql`select ${n}::int as n`,
    (n: number) => sql`select ${n}::int as n, 'two' as name, 3 as three`,
    (n: number) => sql.unsafe("select $1::int as n, 'text' as kind", [n], { prepare: true }),
    (n: number) => sql.begin((tx) => tx`select ${n}::int as n, now() as time`),
  ];
  await Promise.all(Array.from({ length: 16 }, async (_, caller) => {
    for (let n = caller; performance.now() < until; n += 16) {
      const asked = shapes[n % 3 === 0 ? caller % 4 : n % 4]!(n);
      const settled = new AbortController();
      const own = asked.then(([row]) => row?.n === n, ({ code }) => code);
      const unsettled = pause(5_000, settled.signal).then(() => "unsettled");
      outcomes.add(await Promise.race([own, unsettled]));
      settled.abort();
    }
  }));
  return outcomes;
}

describe("behind PgBouncer", { skip: !serverUrl || !hasPgBouncer() }, () => {
  let server: TestDatabase;
  before(async () => {
    server = await openTestServer(serverUrl);
  });
  after(() => server.close());

  const directUrl = () => server.place.databaseUrl!;

  async function refusal(databaseUrl: string): Promise<string> {
    return await openDatabase({ databaseUrl, dataDir: "" }).then(
      async ({ close }) => (await close(), "opened"),
      ({ message }) => message,
    );
  }

  for (const settings of [TRANSACTION_MODE, SESSION_MODE]) {
    describe(`in ${settings.pool_mode} mode`, () => {
      let bouncer: PgBouncer;
      before(async () => {
        bouncer = await startPgBouncer(directUrl(), settings);
      });
      after(() => bouncer.stop());

      async function using<T>(
        options: Partial<DatabaseOptions>,
        body: (database: Database) => Promise<T>,
      ): Promise<T> {
        const database = await openDatabase({
          databaseUrl: bouncer.url,
          dataDir: "",
          ...options,
        });
        try {
          return await body(database);
        } finally {
          await database.close();
        }
      }

      it("statements of many callers have their own rows", async () => {
        const outcomes = await using({}, (database) => outcomesOfMany(database, 1_000));
        assert.deepEqual(outcomes, new Set([true]));
      });

      it("connections that are opened read-only refuse writes", async () => {
        await using({ readOnly: true }, async ({ sql }) => {
          const code = "25006";
          await assert.rejects(sql`create table t (n integer)`, { code });
          await assert.rejects(sql.begin((tx) => tx`create table t (n integer)`), { code });
        });
      });

      it("statements and transactions have their timeouts and settings", async () => {
        await using({ statementTimeoutMs: 50 }, async ({ sql }) => {
          await assert.rejects(sql`select pg_sleep(5)`, { code: "57014" });
          await assert.rejects(sql.begin((tx) => tx`select pg_sleep(5)`), { code: "57014" });
          assert.deepEqual([
            ...await sql`
              select current_setting('jit') as jit,
                current_setting('idle_in_transaction_session_timeout') as idle`,
          ], [{ jit: "off", idle: "1min" }]);
        });
      });

      it("nothing remains in a session for its next user", async () => {
        await using({ readOnly: true }, ({ sql }) => Promise.all([sql`select 1`, sql`select 2`]));
        const other = postgres(bouncer.url, { max: 3, prepare: false, fetch_types: false });
        try {
          for (let count = 0; count < 6; count++) {
            const [row] = await other`
              select current_setting('jit') as jit, current_setting('statement_timeout') as timeout,
                current_setting('transaction_read_only') as "readOnly",
                (select count(*)::int from pg_prepared_statements) as prepared`;
            assert.deepEqual(row, { jit: "on", timeout: "0", readOnly: "off", prepared: 0 });
          }
        } finally {
          await other.end();
        }
      });

      it("several processes migrate an empty database once", async () => {
        await using({}, async (first) => {
          await dropEverything(first.sql);
          const outcomes = await using(
            {},
            (second) => Promise.all([migrate(first.sql), migrate(second.sql), migrate(first.sql)]),
          );
          assert.equal(outcomes.filter(({ from }) => from === 0).length, 1);
          assert.equal((await checkSchema(first.sql)).state, "current");
        });
      });

      it("a connection that is lost in a transaction fails that transaction only", async () => {
        // In a process of its own, because the test runner survives uncaught errors.
        const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
          args: ["run", "-A", fileURLToPath(new URL("lose_transactions.ts", import.meta.url))],
          env: { TEST_DATABASE_URL: bouncer.url },
          stdin: "null",
        }).output();
        assert.equal(
          new TextDecoder().decode(stdout),
          Array(4).fill("CONNECTION_CLOSED, then 1").join(", "),
          new TextDecoder().decode(stderr),
        );
      });

      it("doctor says so", async () => {
        const cli = commandLine(() => {
          throw new Error("the doctor opens the database by itself");
        });
        const { stdout } = await cli(["doctor", "--database-url", bouncer.url]);
        assert.match(stdout, /^ok\tdatabase\tPostgreSQL .* through a connection pooler; responds/m);
      });

      it("a refused setting of DATABASE_URL is named with what to change", async () => {
        assert.match(
          await refusal(`${bouncer.url}?search_path=public`),
          /a connection pooler refuses the setting "search_path" of DATABASE_URL: .*ignore_startup/,
        );
      });
    });
  }

  it("in statement mode it is refused", async () => {
    const bouncer = await startPgBouncer(directUrl(), { pool_mode: "statement" });
    try {
      assert.match(
        await refusal(bouncer.url),
        /a connection pooler closed .*; expected pool_mode = transaction or session of PgBouncer/,
      );
    } finally {
      await bouncer.stop();
    }
  });

  for (const ignored of ["", IGNORED]) {
    const what = `one that appears later and ${ignored ? "ignores" : "refuses"} settings`;
    it(`${what} is noticed, and no statement has the rows of another`, async () => {
      const bouncer = await startPgBouncer(directUrl(), {
        ...TRANSACTION_MODE,
        ignore_startup_parameters: ignored,
      });
      const forwarder = await startForwarder(Number(new URL(directUrl()).port));
      const databaseUrl = Object.assign(new URL(directUrl()), {
        host: new URL(forwarder.url).host,
      });
      const database = await openDatabase({
        databaseUrl: databaseUrl.href,
        dataDir: "",
        readOnly: true,
      });
      try {
        assert.deepEqual(await outcomesOfMany(database, 200), new Set([true]));
        forwarder.switchTo(Number(new URL(bouncer.url).port));
        database.renew();
        const outcomes = await outcomesOfMany(database, 1_000);
        assert.ok(!outcomes.has(false) && !outcomes.has("unsettled"), [...outcomes].join());
        assert.deepEqual(await outcomesOfMany(database, 200), new Set([true]));
        await assert.rejects(database.sql`create table t (n integer)`, { code: "25006" });
      } finally {
        await database.close();
        forwarder.close();
        await bouncer.stop();
      }
    });
  }
});
