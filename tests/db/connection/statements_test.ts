import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { it } from "@std/testing/bdd";
import type postgres from "postgres";
import { createClient } from "../../../db/connection/client.ts";
import { openDatabase } from "../../../db/connection/connect.ts";
import { pause } from "../../../lib/base/delay.ts";
import { describeWithDatabases } from "../../database.ts";

describeWithDatabases("statements of a connection", (database) => {
  it("have all rows and no others after one that failed between two rows", async () => {
    const { sql, close } = await openDatabase({ ...database().place, maxConnections: 1 });
    try {
      await assert.rejects(sql`select 1 / (3 - n) from generate_series(1, 5) as n`, /by zero/);
      assert.deepEqual([...await sql`select 7 as n`], [{ n: 7 }]);
      await assert.rejects(sql`select 1 / (3 - n) from generate_series(1, 5) as n`, /by zero/);
      assert.deepEqual([...await sql`select 7 as n where false`], []);
      assert.deepEqual([...await sql`select 8 as n union all select 9`], [{ n: 8 }, { n: 9 }]);
    } finally {
      await close();
    }
  });

  it("of a transaction are sent together, even if the connection does not know them", async () => {
    const sent: string[] = [];
    /** How many of three statements were sent when the first of them had its result. */
    const sentTogether = async (sql: postgres.Sql) => {
      sent.length = 0;
      return await sql.begin(async (tx) => {
        let count = 0;
        await Promise.all([
          tx`select ${1}::int as a`.then(() => count = sent.length),
          tx`select ${2}::int as b`,
          tx`select ${3}::int as c`,
        ]);
        return count;
      });
    };
    const onStatement = (text: string) => {
      if (text.startsWith("select $1")) sent.push(text);
    };
    const { sql, close } = await openDatabase({
      ...database().place,
      maxConnections: 1,
      onStatement,
    });
    try {
      assert.equal(await sentTogether(sql), 3);
    } finally {
      await close();
    }
    const { databaseUrl } = database().place;
    if (!databaseUrl) return;
    const client = createClient(databaseUrl, {
      max: 1,
      debug: (_connection, text) => onStatement(text),
    });
    try {
      assert.equal(await sentTogether(client), 2, "postgres.js needs no describeFirst any more");
    } finally {
      await client.end();
    }
  });

  it("are prepared once for all callers that send the same one at a time", async () => {
    const { sql, close } = await openDatabase({ ...database().place, maxConnections: 1 });
    try {
      await Promise.all(Array.from({ length: 20 }, (_, n) => sql`select ${n}::int as same_one`));
      const names = await sql`
        select name from pg_prepared_statements where statement like 'select $1::int as same_one%'`;
      assert.equal(names.length, 1);
    } finally {
      await close();
    }
  });

  it("have the same parameters the first time as later", async () => {
    const { sql, close } = await openDatabase({ ...database().place, maxConnections: 1 });
    try {
      const bytes = Uint8Array.of(0, 1, 255);
      const values = { text: "a'b", number: -7, big: 2 ** 40, half: 0.5, bytes, none: null };
      for (const isTrue of [true, false]) {
        const [row] = await sql`
          select ${values.text}::text as text, ${values.number}::int as number,
            ${values.big}::float8 as big, ${values.half}::float8 as half,
            ${values.bytes}::bytea as bytes, ${values.none}::text as none,
            ${isTrue}::boolean as "isTrue", ${`{"a":[1]}`}::text::json->'a' as json`;
        assert.deepEqual(row, { ...values, isTrue, json: [1] });
      }
    } finally {
      await close();
    }
  });

  it("never run after the function of their transaction has ended", async () => {
    const { sql, close } = await openDatabase({ ...database().place, maxConnections: 1 });
    const admin = database().sql;
    await admin`create table late (n integer)`;
    let late: Promise<unknown> | undefined;
    try {
      const failed = sql.begin(async (tx) => {
        const division = tx`select 1 / 0`.then(() => {});
        // Sent while `rollback` is under way.
        late = division.catch(() => setImmediate()).then(() => tx`insert into late values (1)`);
        late.catch(() => {});
        await division;
      });
      await assert.rejects(failed, /by zero/);
      await assert.rejects(late!);
      assert.deepEqual([...await sql`select n from late`], []);
    } finally {
      await close();
      await admin`drop table late`;
    }
  });

  it("never have the rows of others when a migration changes their columns", async () => {
    const { sql, close } = await openDatabase({ ...database().place, maxConnections: 2 });
    const admin = database().sql;
    await admin`create table widening (n integer)`;
    await admin`insert into widening select generate_series(0, 99)`;
    let isOver = false;
    const outcomes = new Set<unknown>();
    const ask = async (caller: number) => {
      for (let n = caller; !isOver; n = (n + 7) % 100) {
        // Statements that change and statements that do not.
        const asked = caller % 2
          ? sql`select *, ${n}::int as asked from widening where n = ${n}::int`
          : sql`select n, ${n}::int as asked from widening where n = ${n}::int`;
        outcomes.add(
          await asked.then(([row]) => row?.n === n && row.asked === n, ({ code }) => code),
        );
      }
    };
    try {
      const callers = Array.from({ length: 16 }, (_, caller) => ask(caller));
      for (let count = 0; count < 5; count++) {
        await pause(100);
        await admin.begin(async (tx) => {
          await tx`set local lock_timeout = 2000`;
          await tx.unsafe(`alter table widening add column c${count} integer`);
        });
      }
      await pause(100);
      isOver = true;
      const settled = new AbortController();
      await Promise.race([
        Promise.all(callers).then(() => settled.abort()),
        pause(10_000, settled.signal),
      ]);
      assert.ok(settled.signal.aborted, "a statement did not settle");
    } finally {
      isOver = true;
      await close();
      await admin`drop table widening`;
    }
    // 0A000: it fails, and works from the next time on.
    assert.deepEqual(outcomes, new Set([true, "0A000"]));
  });

  it("never have the rows of others when one of them cannot be sent", async () => {
    const { sql, close } = await openDatabase({ ...database().place, maxConnections: 1 });
    const ask = (n: number | undefined) =>
      // deno-lint-ignore no-explicit-any -- a mistake that the types prevent
      sql`select ${n as any}::int as n`.then(([row]) => row?.n, ({ code }) => code);
    try {
      assert.equal(await ask(0), 0);
      const outcomes = await Promise.all([1, 2, undefined, 4, 5].map(ask));
      for (const [index, outcome] of outcomes.entries()) {
        const allowed = [index + 1, "UNDEFINED_VALUE", "CONNECTION_CLOSED"];
        assert.ok(allowed.includes(outcome), `${index + 1} received ${outcome}`);
      }
      assert.deepEqual(await Promise.all([6, 7].map(ask)), [6, 7]);
    } finally {
      await close();
    }
  });
});
