// More in `fixtures/transcripts/token.txt`.
import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { countExpiringTokens } from "../../../../db/admin/tokens.ts";
import { hashToken, makeToken } from "../../../../lib/base/token.ts";
import { describeWithDatabase } from "../../../database.ts";
import { commandLine, NOON } from "../run_in_process.ts";

describeWithDatabase("token", (database) => {
  const cli = commandLine(() => database());

  before(async () => {
    await cli("org create acme");
    await cli("org create globex --purchase-units 1");
  });

  it("is printed alone, and only its hash is kept", async () => {
    const { code, stdout, stderr } = await cli("token create --org acme");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^tk_[0-9a-f]{64}\n$/);
    const legacy = (await cli("token create --org globex --legacy")).stdout.trim();
    const dump = await dumpOfEverything();
    assert.ok(dump.includes(hashToken(stdout.trim(), "api_token")));
    assert.ok(dump.includes(hashToken(legacy, "legacy")));
    // What lists show of a token is there; any more would be too much.
    const shown = 8;
    assert.ok(!dump.includes(stdout.trim().slice(3, 3 + shown + 1)));
    assert.ok(!dump.includes(legacy.slice(0, shown + 1)));
    assert.ok(!dump.includes(stdout.trim().slice(-shown)) && !dump.includes(legacy.slice(-shown)));
  });

  /** Every row of every table, as text. */
  async function dumpOfEverything(): Promise<string> {
    const { sql } = database();
    const tables = await sql<{ name: string }[]>`
      select table_name as name from information_schema.tables where table_schema = 'public'`;
    const parts = await Promise.all(tables.map(({ name }) =>
      sql<{ row: string }[]>`
        select to_jsonb(t)::text as row from ${sql(name)} t`
    ));
    return parts.flat().map(({ row }) => row).join("\n");
  }

  it("for uploads opens nothing else, so it says its type", async () => {
    const { code, stdout, stderr } = await cli("token create --org acme --upload");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^up_[0-9a-f]{64}\n$/);
    const { stdout: list } = await cli("token list --org acme --json");
    const stored = JSON.parse(list).find(({ token_prefix: prefix }: { token_prefix: string }) =>
      prefix === stdout.slice(0, 11)
    );
    assert.deepEqual([stored.type, stored.repository], ["upload", null]);
  });

  it("for badges belongs to a repository, and goes with it", async () => {
    const line = "token create --org acme --badge --repo acme/pictured";
    await cli("repo create acme/Pictured --org acme");
    const { token, type, repository } = JSON.parse((await cli(`${line} --json`)).stdout);
    assert.match(token, /^bd_[0-9a-f]{64}$/);
    assert.deepEqual([type, repository], ["badge", "acme/Pictured"]);
    await cli("repo delete acme/pictured --org acme --yes");
    assert.ok(!(await cli("token list --org acme")).stdout.includes(token.slice(0, 11)));
  });

  it("is counted while it is valid and expires soon", async () => {
    const { sql } = database();
    const count = () => countExpiringTokens(sql, { now: NOON, by: NOON + 14 * 86_400 });
    const before = await count();
    const create = async (length: string) =>
      JSON.parse((await cli(`token create --org acme --json --expires-in ${length}`)).stdout);
    for (const length of ["14d", "1s", "15d", "never"]) await create(length);
    await cli("token create --org acme --expires-at 2026-02-01T12:00:00Z");
    await cli(`token revoke ${(await create("1d")).api_token_id}`);
    assert.equal(await count(), before + 2);
  });

  it("is not taken for its prefix", async () => {
    const { plain, hash } = makeToken("api_token");
    const { code, stderr } = await cli(`token import --org acme --hash ${hash} --prefix ${plain}`);
    assert.equal(code, 2);
    assert.ok(!stderr.includes(plain));
  });
});
