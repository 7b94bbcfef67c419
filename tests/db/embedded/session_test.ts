import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { openDatabase } from "../../../db/connect.ts";
import { copyTemplate } from "../../database.ts";
import { run } from "./run.ts";

const PROCESSES = 3;

describe("clients of the embedded database", () => {
  it("do not get into each other's statements", async () => {
    const dataDir = await copyTemplate();
    const database = await openDatabase({ dataDir });
    try {
      await database.sql`create table hammer (process integer, round integer)`;
      const outcomes = await Promise.all(
        Array.from({ length: PROCESSES }, () => run("hammer", dataDir)),
      );
      assert.deepEqual(outcomes, Array(PROCESSES).fill("ok\n"));
    } finally {
      await database.close();
      await Deno.remove(dataDir, { recursive: true });
    }
  });
});
