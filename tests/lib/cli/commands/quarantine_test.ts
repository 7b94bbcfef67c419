// More in `fixtures/transcripts/quarantine.txt`.
import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { testHash, testId } from "../../../../lib/base/identity.ts";
import { describeWithDatabases } from "../../../database.ts";
import { commandLine, NOON } from "../run_in_process.ts";

describeWithDatabases("quarantine", (database) => {
  const cli = commandLine(() => database());
  let repositoryId = 0;
  let idPrefix = 0;

  before(async () => {
    await cli("org create acme");
    const created = await cli("repo create acme/shop --org acme --json");
    assert.equal(created.code, 0, created.stderr);
    const [row] = await database().sql<{ id: number; prefix: number }[]>`
      select repository_id::float8 as id, id_prefix::float8 as prefix from repository`;
    repositoryId = row!.id;
    idPrefix = row!.prefix;
  });

  let testNo = 0;
  /** Stores a test and returns its id. */
  async function makeTest(name: string): Promise<string> {
    const hash = testHash({ suite: "cart", class: "Cart", name, file: "cart.ts" });
    await database().sql`
      insert into test (repository_id, test_no, test_hash, suite, class, name, file)
      values (${repositoryId}, ${testNo++}, ${hash}, 'cart', 'Cart', ${name}, 'cart.ts')`;
    return testId(idPrefix, hash);
  }

  async function dataVersion(): Promise<number> {
    const [row] = await database().sql<{ version: number }[]>`
      select data_version::float8 as version from repository_state where repository_id = ${repositoryId}`;
    return row!.version;
  }

  it("changes the data version with every change, and only then", async () => {
    const id = await makeTest("version");
    const version = await dataVersion();
    await cli(`quarantine add ${id}`);
    assert.equal(await dataVersion(), version + 1);
    await cli(`quarantine add ${id} --by bob`);
    assert.equal(await dataVersion(), version + 1);
    await cli(`quarantine remove ${id}`);
    assert.equal(await dataVersion(), version + 2);
    await cli(`quarantine remove ${id}`);
    assert.equal(await dataVersion(), version + 2);
  });

  it("lists an organization's own, one line each whatever their names contain", async () => {
    await cli("org create globex");
    const id = await makeTest("a\tname\nof three lines\r");
    await cli(`quarantine add ${id}`, { now: () => NOON - 1 });
    const { stdout } = await cli("quarantine list --org acme");
    assert.deepEqual(stdout.split("\n")[0]?.split("\t"), [
      id,
      "acme/shop",
      "cart",
      "Cart",
      "a name of three lines ",
      "cart.ts",
      "2026-02-01T11:59:59Z",
      "",
      "manual",
      "",
      "",
      "",
      "",
    ]);
    const [first] = JSON.parse((await cli("quarantine list --org acme --json")).stdout);
    assert.equal(first.name, "a\tname\nof three lines\r");
    assert.equal((await cli("quarantine list --org globex")).stdout, "");
  });

  it("shows the environments that an entry is limited to, in the list and the log", async () => {
    const id = await makeTest("limited");
    await cli(`quarantine add ${id} --environment Windows*`);
    const lineOf = async (command: string) =>
      (await cli(command)).stdout.split("\n").find((line) => line.includes(id));
    assert.match((await lineOf("quarantine list --org acme"))!, /\tWindows\*$/);
    assert.match((await lineOf("quarantine log --org acme"))!, /\tWindows\*$/);
  });
});
