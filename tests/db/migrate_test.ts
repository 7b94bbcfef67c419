import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { checkSchema, migrate, SCHEMA_VERSION } from "../../db/migrate.ts";
import { describeWithDatabases } from "../database.ts";

describeWithDatabases("migrations", (database) => {
  it("find nothing to do in a current database", async () => {
    const { sql } = database();
    assert.deepEqual(await migrate(sql), { from: SCHEMA_VERSION, to: SCHEMA_VERSION });
    assert.equal(await checkSchema(sql), "current");
  });
});
