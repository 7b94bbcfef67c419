import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import process from "node:process";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";

const serverUrl = process.env.TEST_DATABASE_URL ?? "";

describe("the queues of connections", { skip: !serverUrl }, () => {
  let database: Database;
  before(async () => {
    database = await openDatabase({ databaseUrl: serverUrl, dataDir: "" });
  });
  after(() => database.close());

  /** The longest list that was searched while something was done. */
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

  const ask = (value: number) => database.sql`select ${value}::int as value`;

  it("do not grow with the statements that are sent one by one", async () => {
    const longest = await longestSearched(async () => {
      for (let value = 0; value < 300; value++) await ask(value);
    });
    assert.ok(longest < 50, `${longest} places were searched`);
  });

  it("do not grow while more is sent than there are connections", async () => {
    const longest = await longestSearched(() =>
      Promise.all(Array.from({ length: 20 }, async (_, asker) => {
        for (let round = 0; round < 30; round++) {
          const [row] = await ask(asker * 100 + round);
          assert.equal(row?.value, asker * 100 + round);
        }
      }))
    );
    assert.ok(longest < 50, `${longest} places were searched`);
  });

  it("still hold connections for transactions beside statements", async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, async (_, number) => {
      if (number % 3 > 0) return (await ask(number))[0]?.value;
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
