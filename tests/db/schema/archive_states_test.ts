/** Migration 3, with archives of earlier builds. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { it } from "@std/testing/bdd";
import { migrate } from "../../../db/schema/migrate.ts";
import { migrations } from "../../../db/schema/migrations/mod.ts";
import { describeWithDatabases, dropEverything } from "../../database.ts";

describeWithDatabases("archives of earlier builds", (database) => {
  it("get the key of their submission, with its suffix", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await migrate(sql, migrations.slice(0, 2));
    const digest = createHash("sha256").update("second").digest("hex").slice(0, 8);
    await sql`
      insert into archive (source, key, version, status, repository_id, found_at)
      values ('first', 'a.gz', '1', 'processed', 1, now()),
        ('second', 'a.gz', '1', 'processed', 1, now()),
        ('third', 'a.gz', '1', 'processed', 2, now()),
        ('third', 'b.gz#01234567', '1', 'failed', 2, now()),
        ('third', 'c.gz', '1', 'failed', null, now())`;
    for (const [no, key] of ["a.gz", `a.gz#${digest}`, "b.gz#01234567"].entries()) {
      await sql`
        insert into submission (repository_id, submission_id, recorded_at, uploaded_at, status, key,
          commit_oid, data_version)
        values (${no === 2 ? 2 : 1}, decode(lpad(${String(no)}, 24, '0'), 'hex'), now(), now(),
          'processed', ${key}, 'abc', 1)`;
    }
    await migrate(sql);
    const rows = await sql<{ source: string; key: string | null }[]>`
      select source, submission_key as key from archive order by source, archive.key`;
    assert.deepEqual(rows.map(({ source, key }) => [source, key]), [
      ["first", "a.gz"],
      ["second", `a.gz#${digest}`],
      ["third", "a.gz"],
      ["third", "b.gz#01234567"],
      ["third", null],
    ]);
  });
});
