/** `org log`, of `org.ts`. */
import { it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { hostname } from "node:os";
import { describeWithDatabase } from "../../../database.ts";
import { createShop, flaky, idOf } from "../../../routes/fixture.ts";
import { commandLine } from "../run_in_process.ts";

describeWithDatabase("org log", (database) => {
  const cli = commandLine(database);

  it("lists every change by a command, with author and detail, and no secret", async () => {
    const { fixture, shop } = await createShop(database());
    const { key } = await fixture.upload(shop, flaky("a"));
    const testId = idOf(shop, { name: "a" });
    const run = async (line: string) => {
      const { code, stdout, stderr } = await cli(line);
      assert.equal(code, 0, `${line}: ${stderr}`);
      return stdout.trim();
    };
    await run("org set acme --purchase-units 2");
    await run("repo create acme/new --org acme");
    await run("repo rename acme/new acme/newer --org acme");
    const token = await run("token create --org acme --label ci");
    const tokenId = JSON.parse(await run("token list --org acme --json")).at(-1).api_token_id;
    await run(`token revoke ${tokenId}`);
    await run(`quarantine add ${testId} --by ada`);
    await run(`quarantine remove ${testId}`);
    await run(`submission delete ${key} --org acme --yes`);
    await run("prune --keep 90d --org acme --repo acme/newer");
    await run("repo delete acme/newer --org acme --yes");
    // These change nothing.
    await run(`token revoke ${tokenId}`);
    await run("prune --keep 90d --org acme --dry-run");

    const changes = JSON.parse(await run("org log --org acme --json"));
    assert.deepEqual(
      changes.map(({ command, subject }: Record<string, string>) => `${command} ${subject}`),
      [
        "org set acme",
        "repo create acme/new",
        "repo rename acme/new",
        `token create ${tokenId}`,
        `token revoke ${tokenId}`,
        `quarantine add ${testId}`,
        `quarantine remove ${testId}`,
        `submission delete ${key}`,
        "prune acme/newer",
        "repo delete acme/newer",
      ],
    );
    assert.deepEqual(changes[2].detail, { new_name: "acme/newer" });
    assert.deepEqual(changes[5].detail, {
      quarantine: "added",
      repository: "acme/shop",
      suite: "suite",
      class: "Class",
      name: "a",
      file: "test.ts",
      by: "ada",
      type: "manual",
      reason: null,
      owner: null,
      expires_at: null,
    });
    assert.equal(changes[0].changed_at, "2026-02-01T12:00:00Z");
    assert.ok(changes[0].author.endsWith(`@${hostname()}`), changes[0].author);

    const plain = await run("org log --org acme");
    assert.match(
      plain,
      /^2026-02-01T12:00:00Z\t\S+@\S+\torg set\tacme\t\{"purchase_unit_count":2\}\n/,
    );
    assert.ok(!plain.includes(token));
  });

  it("names the CI job as the author", async () => {
    const environment = {
      GITHUB_ACTIONS: "true",
      GITHUB_SERVER_URL: "https://user:secret@github.com",
      GITHUB_REPOSITORY: "acme/shop",
      GITHUB_RUN_ID: "7",
    };
    await cli("org create job", { environment });
    const { stdout } = await cli("org log --org job");
    assert.match(
      stdout,
      /\tGitHub Actions https:\/\/github\.com\/acme\/shop\/actions\/runs\/7\torg create\tjob\t/,
    );
  });

  it("has no change of a command that failed", async () => {
    await cli("org create once");
    assert.equal((await cli("org create once")).code, 1);
    const { stdout } = await cli("org log --org once");
    assert.equal(stdout.trim().split("\n").length, 1);
  });
});
