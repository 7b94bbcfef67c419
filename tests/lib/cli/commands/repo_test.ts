import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { findOrganization } from "../../../../db/admin/organizations.ts";
import { createRepository, findOrCreateRepository } from "../../../../db/admin/repositories.ts";
import { findRepository } from "../../../../db/admin/repositories.ts";
import { loadBaseBranch } from "../../../../db/read/base_branch.ts";
import { describeWithDatabase } from "../../../database.ts";
import type { Upload } from "../../../../db/write/store_submission.ts";
import { createFixture } from "../../../routes/fixture.ts";
import { commandLine, NOON } from "../run_in_process.ts";

describeWithDatabase("repo", (database) => {
  const cli = commandLine(() => database());
  const organization = async () => (await findOrganization(database().sql, "acme"))!;
  const stored = async (owner: string, name: string) =>
    (await findRepository(database().sql, { ...await organization(), owner, name }))!;

  before(async () => {
    await cli("org create acme");
    await cli("org create globex");
  });

  it("is created by an upload that succeeds; one that fails uses up no number", async () => {
    await cli("org create uploads");
    const creation = {
      organization: (await findOrganization(database().sql, "uploads"))!,
      owner: "a",
      name: "cut-off",
      createdAt: NOON,
    };
    const upload = database().sql.begin(async (tx) => {
      await findOrCreateRepository(tx, creation);
      throw new Error("cut off");
    });
    await assert.rejects(upload, /cut off/);
    assert.equal((await cli("repo list --org uploads")).stdout, "");
    for (const [name, number] of [["a/first", 1], ["a/cut-off", 2]] as const) {
      const { stdout } = await cli(`repo create ${name} --org uploads --json`);
      assert.equal(JSON.parse(stdout).repository_id, number);
    }
  });

  it("renames: the ids stay, and answers are known to have changed", async () => {
    await cli("repo create re/old --org acme");
    const before = await stored("re", "old");
    const version = await dataVersion(before.repositoryId);
    assert.equal((await cli("repo rename re/OLD re/new --org acme")).stdout, "re/new\n");
    const after = await stored("re", "new");
    assert.deepEqual(after, { ...before, name: "new" });
    assert.equal(await dataVersion(before.repositoryId), version + 1);
  });

  it("sets a base branch, and answers are known to have changed", async () => {
    await cli("repo create base/x --org acme");
    const { repositoryId } = await stored("base", "x");
    const version = await dataVersion(repositoryId);
    const set = await cli("repo set base/x --org acme --base trunk");
    assert.deepEqual(set, { code: 0, stdout: "base/x\n", stderr: "" });
    assert.equal(await dataVersion(repositoryId), version + 1);
    const base = () => loadBaseBranch(database().sql, { repositoryId, now: NOON });
    assert.equal(await base(), "trunk");
    const { stdout } = await cli("repo set base/x --org acme --json --base".split(" ").concat(""));
    assert.equal(JSON.parse(stdout).base_branch, null);
    assert.equal(await base(), "main");
  });

  it("says of a base branch without builds which branches have some", async () => {
    const fixture = await createFixture(database(), { name: "bases" });
    const repository = await fixture.addRepository("bases", "x");
    const upload = async (branch: string, days: number, more: Partial<Upload> = {}) =>
      await fixture.upload(repository, [{ name: "a" }], {
        ...{ branch, recordedAt: NOON - days * 86_400, buildUrl: `https://ci.example/${days}` },
        ...more,
      });
    for (const [days, branch] of ["main", "main", "next"].entries()) await upload(branch, days);
    await upload("old", 91);
    const noteOn = async (branch: string) =>
      (await cli(["repo", "set", "bases/x", "--base", branch])).stderr;
    assert.equal(await noteOn("main"), "");
    assert.equal(await noteOn(""), "");
    for (const branch of ["mian", "old"]) {
      assert.equal(
        await noteOn(branch),
        `no upload of the last 90 days names the branch "${branch}"; branches with builds: main, next\n`,
      );
      assert.equal(await loadBaseBranch(database().sql, { ...repository, now: NOON }), branch);
    }
    // Runs of its merge queue count.
    await upload("gh-readonly-queue/queued/pr-1-a", 3);
    assert.equal(await noteOn("queued"), "");
    const { code, stderr } = await cli(["repo", "set", "bases/x", "--base", "main,next"]);
    assert.equal(code, 2);
    assert.match(stderr, /"main,next" has a comma or white space: expected the name of one branch/);
  });

  it("makes other test ids for a new repository under a name that was renamed away", async () => {
    await cli("repo create ids/x --org acme");
    const { idPrefix } = await stored("ids", "x");
    await cli("repo rename ids/x ids/y --org acme");
    await cli("repo create ids/x --org acme");
    assert.notEqual((await stored("ids", "x")).idPrefix, idPrefix);
  });

  it("is created once by concurrent callers", async () => {
    const owner = await organization();
    const wanted = { organization: owner, owner: "race", name: "one", createdAt: NOON };
    const { sql } = database();
    const found = await Promise.all(
      Array.from({ length: 8 }, () => sql.begin((tx) => findOrCreateRepository(tx, wanted))),
    );
    assert.equal(new Set(found.map(({ repositoryId }) => repositoryId)).size, 1);
  });

  it("is created within a transaction too", async () => {
    const wanted = { organization: await organization(), owner: "tx", name: "1", createdAt: NOON };
    await database().sql.begin(async (tx) => {
      await createRepository(tx, wanted);
      await assert.rejects(createRepository(tx, wanted), /"tx\/1" already exists/);
    });
  });

  it("is deleted with its rows in every table, and no others", async () => {
    await cli("repo create del/ete --org acme");
    await cli("repo create del/keep --org acme");
    const { repositoryId } = await stored("del", "ete");
    const { repositoryId: keptId } = await stored("del", "keep");
    await fillAllTables(repositoryId);
    await fillAllTables(keptId);
    const kept = await rowCounts(keptId);
    assert.ok(Object.values(kept).every((count) => count > 0), JSON.stringify(kept));

    const ending = await cli("repo delete del/ete --org acme --yes");
    assert.deepEqual(ending, { code: 0, stdout: "del/ete\n", stderr: "" });
    assert.ok(Object.values(await rowCounts(repositoryId)).every((count) => count === 0));
    assert.deepEqual(await rowCounts(keptId), kept);
    assert.equal((await cli("repo delete del/ete --org acme --yes")).code, 1);
  });

  async function dataVersion(repositoryId: number): Promise<number> {
    const [row] = await database().sql<{ version: number }[]>`
      select data_version::float8 as version from repository_state
      where repository_id = ${repositoryId}`;
    return row!.version;
  }

  /** Rows of a repository by table, of all tables that have a repository_id. */
  async function rowCounts(repositoryId: number): Promise<Record<string, number>> {
    const { sql } = database();
    const tables = await sql<{ name: string }[]>`
      select table_name as name from information_schema.columns
      where table_schema = 'public' and column_name = 'repository_id'
      order by table_name`;
    const counts: Record<string, number> = {};
    for (const { name } of tables) {
      const [row] = await sql<{ count: number }[]>`
        select count(*)::int as count from ${sql(name)} where repository_id = ${repositoryId}`;
      counts[name] = row!.count;
    }
    return counts;
  }

  async function fillAllTables(repositoryId: number): Promise<void> {
    const { sql } = database();
    const at = sql`to_timestamp(${NOON})`;
    const id = sql`'\\x0102030405060708090a0b0c'::bytea`;
    await sql`
      insert into test (repository_id, test_no, test_hash, suite, class, name, file)
      values (${repositoryId}, 0, 1, '', '', 'test', '')`;
    await sql`
      insert into test_list (repository_id, test_list_no, list_hash, test_count, tests)
      values (${repositoryId}, 0, '\\x00', 1, '\\x00')`;
    await sql`insert into test_tag values (${repositoryId}, 'tag', '{[0,1)}')`;
    await sql`
      insert into test_tag_set (repository_id, digest, tag_groups)
      values (${repositoryId}, '\\x00', '[]')`;
    await sql`
      insert into api_token (organization_id, type, repository_id, hash, created_at)
      values (${(await organization()).organizationId}, 'badge', ${repositoryId},
        ${`hash ${repositoryId}`}, ${at})`;
    const { organizationId } = await organization();
    await sql`
      insert into trusted_issuer (organization_id, issuer, claims, repository_id, created_at)
      values (${organizationId}, 'https://ci.example', '{"id":"5"}', ${repositoryId}, ${at})`;
    const webhook = async (ofRepository: number | null) => {
      const [row] = await sql<{ webhookId: number }[]>`
        insert into webhook (organization_id, url, secret, events, repository_id, format,
          allows_private, created_at)
        values (${organizationId}, 'https://a.example', '', '{}', ${ofRepository}, 'json', false,
          ${at})
        returning webhook_id as "webhookId"`;
      await sql`
        insert into webhook_delivery (organization_id, webhook_id, message_id, repository_id, event,
          cause, subjects, data, created_at, due_at, next_attempt_at)
        values (${organizationId}, ${
        row!.webhookId
      }, 'msg', ${repositoryId}, 'test.flaky', '', '{}',
          '{}', ${at}, ${at}, ${at})`;
    };
    await webhook(repositoryId);
    await webhook(null);
    await sql`
      insert into archive (source, key, version, status, repository_id, found_at)
      values ('folder', ${`key ${repositoryId}`}, '1', 'processed', ${repositoryId}, ${at})`;
    await sql`
      insert into submission (repository_id, submission_id, recorded_at, uploaded_at, status, key,
        commit_oid, data_version)
      values (${repositoryId}, ${id}, ${at}, ${at}, 'processed', 'key', 'c0ffee', 1)`;
    await sql`
      insert into failure_evidence (repository_id, submission_id, test_no, evidence, is_on_base,
        base_run_count, base_failed_count, is_repeat)
      values (${repositoryId}, ${id}, 0, 'few', false, 0, 0, false)`;
    await sql`insert into truth_count values (${repositoryId}, 0, 'few', false, 1, 0)`;
    await sql`
      insert into negative_result (repository_id, submission_id, result_no, test_no, is_disruption,
        conclusion, text_id, fingerprint)
      values (${repositoryId}, ${id}, 0, 0, true, 'failure', '\\x00', '\\x00')`;
    await sql`
      insert into failure_text (repository_id, text_id, message, body)
      values (${repositoryId}, '\\x00', '', '\\x')`;
    await sql`
      insert into disruptive_test
      values (${repositoryId}, 0, ${at}, ${id}, 0, 'c0ffee', '', '', ${id}, '')`;
    await sql`
      insert into quarantine values (${repositoryId}, 0, ${at}, null, 'manual')`;
    await sql`
      insert into coverage_report (repository_id, recorded_at, covered_line_count, line_count)
      values (${repositoryId}, ${at}, 1, 2)`;
  }
});
