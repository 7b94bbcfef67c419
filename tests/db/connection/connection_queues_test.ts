/** `client.ts`: queues of connections stay short. */
import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import process from "node:process";
import type postgres from "postgres";
import { createClient } from "../../../db/connection/client.ts";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";

const serverUrl = process.env.TEST_DATABASE_URL ?? "";

describe("the connection queues", { skip: !serverUrl }, () => {
  let database: Database;
  before(async () => {
    database = await openDatabase({ databaseUrl: serverUrl, dataDir: "" });
  });
  after(() => database.close());

  /** Length of the longest array that is searched while `act` runs. */
  async function longestSearched(act: () => Promise<unknown>): Promise<number> {
    const { indexOf } = Array.prototype;
    let longest = 0;
    // deno-lint-ignore no-explicit-any -- as the platform has it
    Array.prototype.indexOf = function (this: any[], ...values: [any, number?]) {
      longest = Math.max(longest, this.length);
      return indexOf.apply(this, values);
    };
    try {
      await act();
    } finally {
      Array.prototype.indexOf = indexOf;
    }
    return longest;
  }

  const ask = (sql: postgres.Sql, value: number) => sql`select ${value}::int as value`;

  /** Sends more statements than there are connections. */
  async function load(sql: postgres.Sql): Promise<void> {
    await Promise.all(Array.from({ length: 20 }, async (_, client) => {
      for (let round = 0; round < 30; round++) {
        const [row] = await ask(sql, client * 100 + round);
        assert.equal(row?.value, client * 100 + round);
      }
    }));
  }

  it("grow in a client of postgres.js alone: when this fails, the workaround can go", async () => {
    const sql = createClient(serverUrl, { max: 4 });
    try {
      // How fast they grow depends on which responses come together.
      let longest = 0;
      for (let time = 0; time < 10 && longest <= 100; time++) {
        longest = Math.max(longest, await longestSearched(() => load(sql)));
      }
      assert.ok(longest > 100, `only ${longest} slots were searched`);
    } finally {
      await sql.end();
    }
  });

  it("do not grow with statements that are sent one by one", async () => {
    const longest = await longestSearched(async () => {
      for (let value = 0; value < 300; value++) await ask(database.sql, value);
    });
    assert.ok(longest < 50, `${longest} slots were searched`);
  });

  it("do not grow with more statements than connections", async () => {
    const longest = await longestSearched(() => load(database.sql));
    assert.ok(longest < 50, `${longest} slots were searched`);
  });

  it("still serve transactions among other statements", async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, async (_, number) => {
      if (number % 3 > 0) return (await ask(database.sql, number))[0]?.value;
      return await database.sql.begin(async (sql) => {
        const rows = await Promise.all([
          sql`select ${number}::int as value`,
          sql`select pg_sleep(0.005)`,
        ]);
        return rows[0][0]?.value;
      });
    }));
    assert.deepEqual(answers, Array.from({ length: 40 }, (_, number) => number));
  });
});
