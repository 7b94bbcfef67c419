import { hostname, userInfo } from "node:os";
import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { testHash, testId } from "../../../../lib/base/identity.ts";
import { describeWithDatabases } from "../../../database.ts";
import { commandLine, NOON } from "../run_in_process.ts";

/** The author of a change without a name. */
function authorHere(): string {
  return `${userInfo().username}@${hostname()}`;
}

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

  it("quarantines a test by its id alone, in any case", async () => {
    const id = await makeTest("aside");
    const { code, stdout, stderr } = await cli([
      ..."quarantine add --json --by".split(" "),
      "Ada L.",
      id.toUpperCase(),
    ]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.deepEqual(JSON.parse(stdout), {
      id,
      repository: "acme/shop",
      suite: "cart",
      class: "Cart",
      name: "aside",
      file: "cart.ts",
      quarantined_at: "2026-02-01T12:00:00Z",
      quarantined_by: "Ada L.",
      quarantine_type: "manual",
      quarantine_reason: null,
      quarantine_owner: null,
      quarantine_expires_at: null,
      quarantine_environment: null,
    });
  });

  it("limits an entry to environments: elsewhere the test is not quarantined", async () => {
    const id = await makeTest("limited");
    const add = (...more: string[]) => cli(["quarantine", "add", id, ...more, "--json"]);
    const { stdout } = await add("--environment", "Windows*, macOS-ARM64");
    const environments = (text: string) => JSON.parse(text).quarantine_environment;
    assert.equal(environments(stdout), "Windows*,macOS-ARM64");
    assert.equal(environments((await add("--reason", "slow")).stdout), "Windows*,macOS-ARM64");
    assert.equal(environments((await add("--environment", "Windows*")).stdout), "Windows*");
    const listed = JSON.parse((await cli("quarantine list --org acme --json")).stdout);
    const own = listed.find((test: { id: string }) => test.id === id);
    assert.equal(own.quarantine_environment, "Windows*");
    const log = JSON.parse((await cli(`quarantine log --org acme --test ${id} --json`)).stdout);
    assert.deepEqual(
      log.map((event: { quarantine_environment: string }) => event.quarantine_environment),
      ["Windows*,macOS-ARM64", "Windows*,macOS-ARM64", "Windows*"],
    );
  });

  it("keeps reason, owner and end of an entry, and changes them where they are given", async () => {
    const id = await makeTest("owned");
    const options = [
      "--reason",
      "slow mail server",
      "--owner",
      "@web",
      "--expires",
      "30d",
      "--json",
    ];
    const added = await cli(["quarantine", "add", id, ...options]);
    const fields = ({ stdout }: { stdout: string }) => {
      const { quarantine_reason, quarantine_owner, quarantine_expires_at } = JSON.parse(stdout);
      return [quarantine_reason, quarantine_owner, quarantine_expires_at];
    };
    assert.deepEqual(fields(added), ["slow mail server", "@web", "2026-03-03T12:00:00Z"]);
    const end = "2026-02-14T00:00:00+01:00";
    const changed = await cli(
      `quarantine add ${id} --owner @mail --expires ${end} --by bob --json`,
    );
    assert.equal(changed.stderr, `test ${id} is already quarantined and its entry is changed\n`);
    assert.deepEqual(fields(changed), ["slow mail server", "@mail", "2026-02-13T23:00:00Z"]);
    assert.equal(JSON.parse(changed.stdout).quarantined_by, null);
    const again = await cli(`quarantine add ${id} --owner @mail`);
    assert.equal(again.stderr, `test ${id} is already quarantined and unchanged\n`);
  });

  it("refuses an end that is no moment after now", async () => {
    const id = await makeTest("ends");
    for (
      const [expires, problem] of [
        ["2026-02-01T12:00:00Z", `"2026-02-01T12:00:00Z" is not after 2026-02-01T12:00:00Z`],
        ["30", `invalid end "30": expected a duration, such as 14d`],
        ["0d", `invalid duration "0d"`],
        ["tomorrow", `invalid end "tomorrow"`],
      ]
    ) {
      const { code, stderr } = await cli(`quarantine add ${id} --expires ${expires}`);
      assert.equal(code, 2, expires);
      assert.ok(stderr.includes(`--expires: ${problem}`), stderr);
    }
  });

  it("ends an entry at the second of its end, after which the test can be added again", async () => {
    const id = await makeTest("over");
    await cli(`quarantine add ${id} --by ada --expires 1h`);
    const listed = async (now: number) =>
      (await cli("quarantine list --org acme", { now: () => now })).stdout.includes(id);
    assert.deepEqual([await listed(NOON + 3599), await listed(NOON + 3600)], [true, false]);
    const later = { now: () => NOON + 3600 };
    assert.equal(
      (await cli(`quarantine remove ${id}`, later)).stderr,
      `test ${id} is not quarantined\n`,
    );
    const again = await cli(`quarantine add ${id} --json`, later);
    const { quarantined_at, quarantined_by, quarantine_expires_at } = JSON.parse(again.stdout);
    assert.equal(again.stderr, "");
    assert.deepEqual([quarantined_at, quarantined_by, quarantine_expires_at], [
      "2026-02-01T13:00:00Z",
      null,
      null,
    ]);
  });

  it("logs additions, changes, removals and ends", async () => {
    const id = await makeTest("logged");
    const at = (minutes: number) => ({ now: () => NOON + 60 * minutes });
    await cli(`quarantine add ${id} --by ada --reason slow --expires 1h`, at(0));
    await cli(`quarantine add ${id} --by bob --owner @web --expires 2h`, at(1));
    await cli(`quarantine add ${id}`, at(2));
    await cli(`quarantine add ${id} --by cyd --type automatic`, at(180));
    await cli(`quarantine remove ${id} --by dan --reason fixed`, at(181));
    const { stdout } = await cli(`quarantine log --org acme --test ${id} --json`, at(182));
    const events: Record<string, string | null>[] = JSON.parse(stdout);
    assert.deepEqual(
      events.map((event) => [
        event.at,
        event.action,
        event.author,
        event.quarantine_type,
        event.quarantine_reason,
        event.quarantine_owner,
        event.quarantine_expires_at,
      ]),
      [
        ["2026-02-01T12:00:00Z", "added", "ada", "manual", "slow", null, "2026-02-01T13:00:00Z"],
        [
          "2026-02-01T12:01:00Z",
          "changed",
          "bob",
          "manual",
          "slow",
          "@web",
          "2026-02-01T14:01:00Z",
        ],
        ["2026-02-01T14:01:00Z", "ended", "", "manual", "slow", "@web", "2026-02-01T14:01:00Z"],
        ["2026-02-01T15:00:00Z", "added", "cyd", "automatic", null, null, null],
        ["2026-02-01T15:01:00Z", "removed", "dan", "automatic", "fixed", null, null],
      ],
    );
    const plain = await cli("quarantine log --org acme", at(182));
    const line = plain.stdout.split("\n").find((line) => line.includes(`\tended\t${id}\t`));
    assert.equal(
      line,
      [
        "2026-02-01T14:01:00Z",
        "ended",
        id,
        "acme/shop",
        "cart",
        "Cart",
        "logged",
        "cart.ts",
        "",
        "manual",
      ]
        .concat("slow", "@web", "2026-02-01T14:01:00Z").join("\t"),
    );
  });

  it("keeps the log of a repository that is deleted", async () => {
    await cli("org create initech");
    const created = await cli("repo create initech/old --org initech --json");
    const [row] = await database().sql<{ id: number; prefix: number }[]>`
      select repository_id::float8 as id, id_prefix::float8 as prefix from repository
      where name = 'old'`;
    assert.equal(created.code, 0, created.stderr);
    const hash = testHash({ suite: "", class: "", name: "gone", file: "" });
    await database().sql`
      insert into test (repository_id, test_no, test_hash, suite, class, name, file)
      values (${row!.id}, 0, ${hash}, '', '', 'gone', '')`;
    await cli(`quarantine add ${testId(row!.prefix, hash)} --by ada --expires 1d`);
    await cli("repo delete initech/old --org initech --yes");
    // Its change has a field of the same name.
    await cli("token create --org initech --expires-in 90d");
    const { stdout } = await cli("quarantine log --org initech", { now: () => NOON + 90_000 });
    assert.deepEqual(
      stdout.trim().split("\n").map((line) => line.split("\t").filter((_, index) => index !== 2)),
      [
        [
          "2026-02-01T12:00:00Z",
          "added",
          "initech/old",
          "",
          "",
          "gone",
          "",
          "ada",
          "manual",
          "",
          "",
          "2026-02-02T12:00:00Z",
        ],
        [
          "2026-02-01T12:00:00Z",
          "removed",
          "initech/old",
          "",
          "",
          "gone",
          "",
          authorHere(),
          "manual",
          "repository deleted",
          "",
          "2026-02-02T12:00:00Z",
        ],
      ],
    );
  });

  it("keeps the first date, author and type", async () => {
    const id = await makeTest("first");
    await cli(`quarantine add ${id} --by ada --type automatic`);
    const version = await dataVersion();
    const again = await cli(`quarantine add ${id} --by bob --json`, { now: () => NOON + 60 });
    assert.equal(again.code, 0);
    assert.equal(again.stderr, `test ${id} is already quarantined and unchanged\n`);
    const { quarantined_at, quarantined_by, quarantine_type } = JSON.parse(again.stdout);
    assert.deepEqual([quarantined_at, quarantined_by, quarantine_type], [
      "2026-02-01T12:00:00Z",
      "ada",
      "automatic",
    ]);
    assert.equal(await dataVersion(), version);
  });

  it("releases a test, and says when there was nothing to release", async () => {
    const id = await makeTest("back");
    const untouched = await cli(`quarantine remove ${id}`);
    assert.deepEqual([untouched.code, untouched.stdout], [0, `${id}\n`]);
    assert.equal(untouched.stderr, `test ${id} is not quarantined\n`);
    await cli(`quarantine add ${id}`);
    assert.deepEqual(await cli(`quarantine remove ${id}`), {
      code: 0,
      stdout: `${id}\n`,
      stderr: "",
    });
  });

  it("changes the data version with every change, and only then", async () => {
    const id = await makeTest("version");
    const version = await dataVersion();
    await cli(`quarantine add ${id}`);
    assert.equal(await dataVersion(), version + 1);
    await cli(`quarantine remove ${id}`);
    assert.equal(await dataVersion(), version + 2);
    await cli(`quarantine remove ${id}`);
    assert.equal(await dataVersion(), version + 2);
  });

  it("knows no test that is not there", async () => {
    const id = testId(idPrefix, testHash({ suite: "", class: "", name: "none", file: "" }));
    for (const line of [`quarantine add ${id}`, `quarantine remove ${id}`]) {
      const { code, stdout, stderr } = await cli(line);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.equal(
        stderr,
        `error: test ${id} is unknown: expected an id as in the lists of tests\n`,
      );
    }
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
    ]);
    const [first] = JSON.parse((await cli("quarantine list --org acme --json")).stdout);
    assert.equal(first.name, "a\tname\nof three lines\r");
    assert.equal((await cli("quarantine list --org globex")).stdout, "");
  });
});
