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

  it("is printed with its stored fields, except the hash, as JSON", async () => {
    const line = ["token", "create", "--org", "acme", "--label", "my board", "--json"];
    const { token, api_token_id, organization_id, token_prefix, ...rest } = JSON.parse(
      (await cli([...line, "--expires-in", "90d"])).stdout,
    );
    assert.match(token, /^tk_[0-9a-f]{64}$/);
    assert.equal(token_prefix, token.slice(0, 11));
    assert.deepEqual([typeof api_token_id, typeof organization_id], ["number", "number"]);
    assert.deepEqual(rest, {
      type: "api_token",
      label: "my board",
      created_at: "2026-02-01T12:00:00Z",
      expires_at: "2026-05-02T12:00:00Z",
      revoked_at: null,
      last_used_at: null,
      repository: null,
    });
  });

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

  it("is made in the earlier shape when asked, with a note about purchase units", async () => {
    const legacy = await cli("token create --org globex --legacy");
    assert.match(legacy.stdout, /^[0-9a-f]{40}\n$/);
    assert.equal(legacy.stderr, "");
    const [row] = await database().sql`
      select type from api_token where hash = ${hashToken(legacy.stdout.trim(), "legacy")}`;
    assert.equal(row?.type, "legacy");
    const unpaid = await cli("token create --org acme --legacy");
    assert.match(
      unpaid.stderr,
      /^organization "acme" has 0 purchase units: the token is invalid/,
    );
  });

  it("is imported by its hash, in either shape", async () => {
    const hex = makeToken("api_token");
    const line = `token import --org acme --json --prefix ${hex.prefix}`;
    const imported = JSON.parse((await cli(`${line} --hash ${hex.hash.toUpperCase()}`)).stdout);
    assert.deepEqual([imported.type, imported.token_prefix], ["api_token", hex.prefix]);
    const [row] = await database().sql`
      select hash from api_token where api_token_id = ${imported.api_token_id}`;
    assert.equal(row?.hash, hex.hash);

    const legacy = makeToken("legacy");
    const { stdout } = await cli(`token import --org acme --hash ${legacy.hash} --json`);
    assert.equal(JSON.parse(stdout).type, "legacy");
  });

  it("imported again stays as it is, and another organization does not learn whose it is", async () => {
    const { hash } = makeToken("api_token");
    const first = await cli(`token import --org acme --hash ${hash}`);
    const again = await cli(`token import --org acme --hash ${hash} --expires-at ${PAST}`);
    assert.deepEqual([again.code, again.stdout], [0, first.stdout]);
    assert.match(again.stderr, /already exists and is unchanged\n$/);
    const elsewhere = await cli(`token import --org globex --hash ${hash}`);
    assert.deepEqual([elsewhere.code, elsewhere.stdout], [1, ""]);
    assert.ok(!elsewhere.stderr.includes("acme"));

    await cli(`token revoke ${first.stdout.trim()}`);
    const revoked = await cli(`token import --org acme --hash ${hash}`);
    assert.match(revoked.stderr, /and it is revoked/);
  });

  it("is not taken for its prefix", async () => {
    const { plain, hash } = makeToken("api_token");
    const { code, stderr } = await cli(`token import --org acme --hash ${hash} --prefix ${plain}`);
    assert.equal(code, 2);
    assert.ok(!stderr.includes(plain));
  });

  it("is revoked once, and the first moment stays", async () => {
    const { api_token_id: id } = JSON.parse((await cli("token create --org acme --json")).stdout);
    assert.deepEqual(await cli(`token revoke ${id}`), { code: 0, stdout: `${id}\n`, stderr: "" });
    const again = await cli(`token revoke ${id} --json`, { now: () => NOON + 60 });
    assert.equal(again.code, 0);
    assert.equal(again.stderr, `token ${id} is already revoked\n`);
    assert.equal(JSON.parse(again.stdout).revoked_at, "2026-02-01T12:00:00Z");
  });

  it("is listed with its state, never with its hash", async () => {
    await cli("org create lister");
    await cli("token create --org lister --label board");
    await cli(`token create --org lister --expires-at 2026-02-01T12:00:00Z`);
    await cli("token create --org lister --legacy");
    const { api_token_id } = JSON.parse((await cli("token create --org lister --json")).stdout);
    await cli(`token revoke ${api_token_id}`);

    const { stdout } = await cli("token list --org lister");
    const cells = stdout.slice(0, -1).split("\n").map((line) => line.split("\t"));
    assert.deepEqual(cells.map((line) => line.length), [11, 11, 11, 11]);
    assert.deepEqual(cells.map((line) => line[7]), ["active", "expired", "no_plan", "revoked"]);
    assert.deepEqual(cells[0]?.slice(1, 3), ["board", "api_token"]);
    const [first] = JSON.parse((await cli("token list --org lister --json")).stdout);
    assert.deepEqual(Object.keys(first), [
      "organization_id",
      "api_token_id",
      "type",
      "token_prefix",
      "label",
      "created_at",
      "expires_at",
      "revoked_at",
      "last_used_at",
      "repository",
      "state",
      "opens",
    ]);
  });
});

const PAST = "2020-01-01T00:00:00Z";
