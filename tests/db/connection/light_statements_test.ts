import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { openDatabase } from "../../../db/connection/connect.ts";
import { piece, send } from "../../../db/connection/pieces.ts";
import { describeWithDatabases } from "../../database.ts";

const PROGRAM = fileURLToPath(new URL("garbage_program.ts", import.meta.url));
const serverUrl = process.env.TEST_DATABASE_URL ?? "";

describeWithDatabases("light statements", (database) => {
  it("answer as those of the library do, whatever their values", async () => {
    const { sql } = database();
    for (const value of ["a", "", "ä\n'", null, 7, 1.5, true]) {
      const text = value === null ? null : String(value);
      const [row] = await send<{ text: string; one: number }[]>(
        sql,
        piece`select ${text}::text as text, ${piece`1 as one`}`,
      );
      assert.deepEqual({ ...row }, { text, one: 1 });
      const [other] = await sql`select ${text}::text as text, 1 as one`;
      assert.deepEqual({ ...row }, { ...other });
    }
    assert.equal((await send(sql, piece`select 1 where false`)).length, 0);
  });

  it("answer each its own, however many are sent at once", async () => {
    const numbers = Array.from({ length: 200 }, (_, number) => number);
    const ask = async (number: number) =>
      (await send<{ number: number }[]>(
        database().sql,
        piece`select ${number}::int as number`,
      ))[0]!.number;
    assert.deepEqual(await Promise.all(numbers.map(ask)), numbers);
  });

  it("fail with the database's error, and leave the connections as they were", async () => {
    const { sql } = database();
    for (let round = 0; round < 10; round++) {
      await assert.rejects(
        async () => await send(sql, piece`select * from nowhere where x = ${round}`),
        { code: "42P01" },
      );
      await assert.rejects(async () => await send(sql, piece`select 1 / ${0}::int`), {
        code: "22012",
      });
    }
    assert.deepEqual([...await sql`select 1 as one`], [{ one: 1 }]);
  });

  it("are sent as any other inside a transaction", async () => {
    const rows = await database().sql.begin(async (sql) => {
      await sql`set local search_path to pg_catalog`;
      return await send<{ path: string }[]>(
        sql,
        piece`select current_setting('search_path') as path`,
      );
    });
    assert.equal(rows[0]?.path, "pg_catalog");
  });
});

describe("light statements to a server", { skip: !serverUrl }, () => {
  it("fail when the database is closed", async () => {
    const { sql, close } = await openDatabase({ databaseUrl: serverUrl, dataDir: "" });
    await close();
    await assert.rejects(async () => await send(sql, piece`select 1`), {
      code: "CONNECTION_ENDED",
    });
  });

  it("are garbage that short collections find, unlike those of the library", async () => {
    assert.ok(await bytesLeftBehind("light") < 300);
    // Once this fails, the library has learned it, and nothing has to be light any more.
    assert.ok(await bytesLeftBehind("library") > 600);
  });
});

/** What one statement leaves behind for long collections. */
async function bytesLeftBehind(kind: "light" | "library"): Promise<number> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--v8-flags=--expose-gc", PROGRAM, serverUrl, kind],
    stdin: "null",
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return Number(new TextDecoder().decode(stdout));
}
