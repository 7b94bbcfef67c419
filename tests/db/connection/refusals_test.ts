import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { openDatabase } from "../../../db/connection/connect.ts";
import { describeWithDatabases } from "../../database.ts";

describeWithDatabases("a server short of connections", (database) => {
  it("answers every statement and transaction with those that it gives", async () => {
    const { sql, kind } = database();
    if (kind === "embedded") return;
    const name = `test_limit_${crypto.randomUUID().slice(0, 8)}`;
    const role = `${name}_role`;
    await sql.unsafe(`create database ${name} connection limit 2`);
    await sql.unsafe(`create role ${role} login password 'pw'`);
    const url = new URL(Deno.env.get("TEST_DATABASE_URL")!);
    Object.assign(url, { pathname: `/${name}`, username: role, password: "pw" });
    // A superuser would not be limited.
    const limited = await openDatabase({ databaseUrl: url.href, dataDir: "", maxConnections: 4 });
    try {
      const outcomes: unknown[] = [];
      const client = async (no: number) => {
        for (let time = 0; time < 10; time++) {
          const [row] = time % 2 === 0
            ? await limited.sql<{ no: number }[]>`select ${no}::int as no, pg_sleep(0.01)`
            : await limited.sql.begin((tx) => tx<{ no: number }[]>`select ${no}::int as no`);
          outcomes.push(row?.no);
        }
      };
      await Promise.all(Array.from({ length: 8 }, (_, no) => client(no)));
      assert.equal(outcomes.length, 80);
    } finally {
      await limited.close();
      await sql.unsafe(`drop database ${name} with (force)`);
      await sql.unsafe(`drop role ${role}`);
    }
  });
});
