import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { openDatabase } from "../../../db/connection/connect.ts";
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
});
