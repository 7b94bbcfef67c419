import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { isWriterRefused } from "../../../db/admin/diagnostics.ts";
import { describeWithDatabases } from "../../database.ts";

describeWithDatabases("a database that became read-only", (database) => {
  it("is distinguished from one that can be written", async () => {
    const { sql } = database();
    assert.equal(await isWriterRefused(sql), false);
    assert.equal(await sql.begin("read only", (tx) => isWriterRefused(tx)), true);
  });
});
