import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { sendLarge } from "../../../db/connection/sql.ts";
import { describeWithDatabases } from "../../database.ts";

describeWithDatabases("a statement with large values", (database) => {
  it("answers, and the client's query refers to its values no more", async () => {
    const value = "x".repeat(100_000);
    const query = database().sql<{ length: number }[]>`select length(${value}::text)`;
    // By these names, or they would be kept under others.
    const held = query as unknown as { args: unknown[]; parameters: unknown[] | undefined };
    assert.deepEqual(held.args, [value]);
    let whileSent: unknown;
    const sent = sendLarge(query);
    query.then(() => whileSent = held.parameters);
    assert.deepEqual([...await sent], [{ length: value.length }]);
    assert.deepEqual(whileSent, [value]);
    const values = Object.values(held).filter((each) => Array.isArray(each)).flat();
    assert.ok(!values.includes(value));
  });

  it("fails as it would alone", async () => {
    const failing = sendLarge(database().sql`select ${"x"}::text::int`);
    await assert.rejects(failing, { code: "22P02" });
  });
});
