import { it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { describeWithDatabases } from "../../../database.ts";
import { commandLine } from "../run_in_process.ts";

describeWithDatabases("org", (database) => {
  const cli = commandLine(() => database());

  it("creates an organization and prints its name", async () => {
    assert.deepEqual(await cli("org create Acme"), { code: 0, stdout: "Acme\n", stderr: "" });
  });

  it("takes a name once, regardless of case", async () => {
    await cli("org create Größe");
    const { code, stdout, stderr } = await cli("org create GRÖSSE");
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "GRÖSSE\n", stderr: "" });
    assert.deepEqual(await cli("org create GRÖßE"), {
      code: 1,
      stdout: "",
      stderr: 'error: organization "GRÖßE" already exists\n',
    });
  });

  it("prints its result as JSON with the database's field names", async () => {
    const { stdout } = await cli("org create json --purchase-units 3 --json");
    const { organization_id, ...rest } = JSON.parse(stdout);
    assert.equal(typeof organization_id, "number");
    assert.deepEqual(rest, {
      name: "json",
      purchase_unit_count: 3,
      created_at: "2026-02-01T12:00:00Z",
    });
  });

  it("sets purchase units, of an organization that is there", async () => {
    await cli("org create units");
    assert.equal((await cli("org set UNITS --purchase-units 7")).stdout, "units\n");
    assert.match((await cli("org list")).stdout, /^units\t7\t2026-02-01T12:00:00Z$/m);
    const { code, stdout, stderr } = await cli("org set nobody --purchase-units 7");
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(
      stderr,
      /^error: organization "nobody" is unknown: create it with `deno task cli org create nobody`/,
    );
  });

  it("lists by name, as lines or as an array", async () => {
    await cli(["org", "create", "two words"]);
    const lines = (await cli("org list")).stdout.split("\n");
    assert.deepEqual(lines.filter((line) => line.startsWith("two")), [
      "two words\t0\t2026-02-01T12:00:00Z",
    ]);
    const names = JSON.parse((await cli("org list --json")).stdout)
      .map(({ name }: { name: string }) => name);
    assert.deepEqual(names, [...names].sort((a, b) => a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  });
});

describeWithDatabases("org list without organizations", (database) => {
  const cli = commandLine(() => database());

  it("prints nothing, or an empty array", async () => {
    assert.deepEqual(await cli("org list"), { code: 0, stdout: "", stderr: "" });
    assert.deepEqual(await cli("org list --json"), { code: 0, stdout: "[]\n", stderr: "" });
  });
});

describeWithDatabases("--org", (database) => {
  const run = commandLine(database);

  it("may be left out where there is one organization", async () => {
    const none = await run("token list");
    assert.deepEqual([none.code, none.stdout], [1, ""]);
    assert.match(none.stderr, /^error: no organization yet: create one with .* org create NAME/);
    await run("org create acme");
    assert.equal((await run("repo create acme/shop")).stdout, "acme/shop\n");
    assert.match((await run("repo list")).stdout, /^acme\/shop\t1\t/);
    await run("org create beta");
    const several = await run("repo list");
    assert.equal(several.code, 2);
    assert.match(several.stderr, /'--org <name>': expected one of "acme", "beta"/);
  });
});
