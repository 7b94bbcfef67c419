/** The functions of the schema for upload tokens. */
import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import type postgres from "postgres";
import { recordTokenUses } from "../../../db/admin/tokens.ts";
import { loadUploader, validUploadTokenHashes } from "../../../db/read/caller.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { migrations } from "../../../db/schema/migrations/mod.ts";
import { describeWithDatabases, dropEverything } from "../../database.ts";

const NOW = 1_700_000_000;
const HOUR = NOW - NOW % 3600;

describeWithDatabases("the functions for upload tokens", (database) => {
  it("find the tokens of a database of the first migration", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await migrate(sql, migrations.slice(0, 1));
    await sql`insert into organization (name, name_key, created_at) values ('Acme', 'acme', now())`;
    await sql`
      insert into api_token (organization_id, type, repository_id, hash, created_at, expires_at,
        revoked_at)
      select 1, type, case when type = 'badge' then 1 end, hash, now(), to_timestamp(expires_at),
        to_timestamp(revoked_at)
      from (values
        ('upload', 'valid', null::float8, null::float8),
        ('upload', 'expires', ${NOW + 1}::float8, null),
        ('upload', 'expired', ${NOW}::float8, null),
        ('upload', 'revoked', null, ${NOW + 1}::float8),
        ('api_token', 'api', null, null),
        ('legacy', 'legacy', null, null),
        ('badge', 'badge', null, null)) as t(type, hash, expires_at, revoked_at)`;
    await migrate(sql);
    const hashes = ["valid", "expires", "expired", "revoked", "api", "legacy", "badge", "%", ""];
    assert.deepEqual(
      await Promise.all(hashes.map((hash) => loadUploader(sql, "upload", { hash, now: NOW }))),
      [
        {
          id: "token 1",
          organizationId: 1,
          tokenId: 1,
          organizationName: "Acme",
          label: null,
          repository: null,
        },
        {
          id: "token 2",
          organizationId: 1,
          tokenId: 2,
          organizationName: "Acme",
          label: null,
          repository: null,
        },
        ...Array(7).fill(null),
      ],
    );
    assert.deepEqual(
      await validUploadTokenHashes(sql, { hashes, now: NOW }),
      new Set(["valid", "expires"]),
    );
  });

  it("record the last use by the hash, only forwards and not in the future", async () => {
    const { sql } = database();
    const lastUses = async () => {
      const rows = await sql<{ hash: string; hour: number }[]>`
        select hash, extract(epoch from last_used_at)::float8 as hour from api_token
        where last_used_at is not null order by hash`;
      return rows.map(({ hash, hour }) => [hash, hour]);
    };
    await recordTokenUses(sql, [
      { hash: "valid", hour: HOUR },
      { hash: "badge", hour: HOUR },
      { hash: "unknown", hour: HOUR },
    ]);
    assert.deepEqual(await lastUses(), [["badge", HOUR], ["valid", HOUR]]);
    await recordTokenUses(sql, [
      { hash: "valid", hour: HOUR - 3600 },
      { hash: "badge", hour: HOUR + 3600 },
    ]);
    assert.deepEqual(await lastUses(), [["badge", HOUR + 3600], ["valid", HOUR]]);
    await recordTokenUses(sql, [{ hash: "valid", hour: HOUR * 10 }]);
    const [, [, hour = 0] = []] = await lastUses();
    assert.ok(Math.abs(Number(hour) - Date.now() / 1000) < 60);
  });

  it("are all that a role needs, which can read no table", async () => {
    const { sql, kind } = database();
    // Roles of a server belong to all of its databases: tests/e2e/roles_test.ts has one of its own.
    if (kind === "server") return;
    await sql.begin(async (tx) => {
      await tx`create role test_analytics_receiver`;
      await tx`grant usage on schema public to test_analytics_receiver`;
      for (const name of ["upload_token", "record_token_use"]) {
        await refuses(tx, (it) => it`select * from ${it(name)}('valid', now())`);
        await tx`
          grant execute on function ${tx(name)}(text, timestamptz) to test_analytics_receiver`;
      }
      await tx`set local role test_analytics_receiver`;
      assert.equal(
        (await loadUploader(tx, "upload", { hash: "valid", now: NOW }))?.organizationName,
        "Acme",
      );
      await recordTokenUses(tx, [{ hash: "valid", hour: HOUR }]);
      await refuses(tx, (it) => it`select hash from api_token`);
      await refuses(tx, (it) => it`update api_token set last_used_at = now()`);
      await tx`reset role`;
      throw new Rollback();
    }).catch((error) => assert.ok(error instanceof Rollback, error));
  });
});

class Rollback extends Error {}

/** As the role, the statement is refused. */
async function refuses(
  tx: postgres.TransactionSql,
  send: (sql: postgres.TransactionSql) => postgres.PendingQuery<postgres.Row[]>,
): Promise<void> {
  await assert.rejects(
    tx.savepoint(async (it) => {
      await it`set local role test_analytics_receiver`;
      await send(it);
    }),
    { code: "42501" },
  );
}
