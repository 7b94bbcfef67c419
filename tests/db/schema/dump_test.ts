/** The committed dump of the schema. */
import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { isDistributed } from "../../../db/schema/distribute.ts";
import { dumpSchema, REGENERATE } from "../../../tools/dump_schema.ts";
import { describeWithDatabases } from "../../database.ts";

describeWithDatabases("the schema", (database) => {
  it("is the one that db/schema/schema.sql shows", async () => {
    // Which changes the language of functions.
    if (await isDistributed(database().sql)) return;
    const committed = await Deno.readTextFile(
      new URL("../../../db/schema/schema.sql", import.meta.url),
    );
    assert.equal(
      await dumpSchema(database().sql),
      committed,
      `db/schema/schema.sql differs from the migrations; update it with: ${REGENERATE}`,
    );
  });
});
