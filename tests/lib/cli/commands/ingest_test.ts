import { after, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { describeWithDatabases } from "../../../database.ts";
import { reportOf } from "../../report/archive/make_archive.ts";
import { commandLine } from "../run_in_process.ts";

describeWithDatabases("ingest", (database) => {
  const cli = commandLine(database);
  let folder: string;
  const path = (name: string) => join(folder, name);
  const ingest = (repository: string, ...more: string[]) =>
    cli([
      "ingest",
      "--org",
      "acme",
      "--repo",
      repository,
      "--commit",
      "abc0000000000000000000000000000000000000",
      ...more,
    ]);

  before(async () => {
    await cli("org create acme");
    folder = await Deno.makeTempDir();
    await Deno.writeTextFile(path("a.xml"), reportOf("a"));
    await Deno.writeTextFile(path("lcov.info"), "SF:a\nDA:1,1\nDA:2,0\nend_of_record\n");
    await Deno.writeTextFile(path("empty.info"), "SF:a\nend_of_record\n");
  });
  after(() => Deno.remove(folder, { recursive: true }));

  it("prints the coverage when there are no results", async () => {
    const plain = await ingest("acme/covered", "--coverage", path("lcov.info"));
    assert.deepEqual(plain, {
      code: 0,
      stdout: "",
      stderr: "stored coverage of acme/covered: 1 of 2 lines; no submission\n",
    });
    const json = await ingest("acme/covered", "--coverage", path("lcov.info"), "--json");
    const { key, status, coverage } = JSON.parse(json.stdout);
    assert.deepEqual({ key, status, coverage }, {
      key: null,
      status: null,
      coverage: { covered_line_count: 1, line_count: 2 },
    });
  });

  it("creates the repository of coverage without a coverable line", async () => {
    const { code, stderr } = await ingest("acme/uncovered", "--coverage", path("empty.info"));
    assert.equal(code, 0);
    assert.equal(stderr, "the coverage reports contain no coverable line: ignored\n");
    const { stdout } = await cli("repo list --org acme");
    assert.match(stdout, /^acme\/uncovered\t/m);
  });

  it("names a missing file and the remedy", async () => {
    const { code, stderr } = await ingest("acme/missing", "--coverage", path("none.xml"));
    assert.equal(code, 1);
    assert.equal(stderr, `error: file "${path("none.xml")}" not found: check --coverage\n`);
  });

  it("leaves out a file of a folder that is empty, and keeps the note", async () => {
    await Deno.mkdir(path("crashed"));
    await Deno.writeTextFile(path("crashed/a.xml"), reportOf("crashed"));
    await Deno.writeTextFile(path("crashed/empty.xml"), "");
    const { code, stdout, stderr } = await ingest("acme/crashed", path("crashed"));
    const note = `${path("crashed/empty.xml")}:1:1: found an empty file, expected a JUnit report ` +
      "in XML: left out";
    assert.deepEqual([code, stderr], [
      0,
      `${note}\nacme/crashed abc0000: 1 result, 0 failed\n`,
    ]);
    const list = await cli("submission list --org acme --repo acme/crashed --json");
    const [{ key, notes }] = JSON.parse(list.stdout);
    assert.deepEqual([key, notes], [stdout.trim(), [note]]);
  });

  it("stores nothing when a file that was named is empty or cut off", async () => {
    for (const text of ["", reportOf("cut").slice(0, -14)]) {
      await Deno.writeTextFile(path("cut.xml"), text);
      const { code, stdout } = await ingest("acme/named", path("a.xml"), path("cut.xml"));
      assert.deepEqual([code, stdout], [1, ""]);
    }
    const { stdout } = await cli("repo list --org acme");
    assert.doesNotMatch(stdout, /acme\/named/);
  });

  it("says what the tool hides, and the line that mends it", async () => {
    const report = '<testsuites><testsuite name="pytest"><testcase name="a" classname="b"/>' +
      "</testsuite></testsuites>";
    await Deno.writeTextFile(path("pytest.xml"), report);
    const { stderr } = await ingest("acme/pytest", path("pytest.xml"));
    assert.equal(
      stderr,
      "acme/pytest abc0000: 1 result, 0 failed\npytest wrote no file of the tests, which have " +
        "no owners: pytest --junitxml=report.xml -o junit_family=xunit1\n",
    );
  });

  it("warns of a report without results, which is stored", async () => {
    await Deno.writeTextFile(path("none.xml"), '<testsuites><testsuite tests="5"/></testsuites>');
    const { code, stderr } = await ingest("acme/none", path("none.xml"));
    assert.equal(code, 0);
    assert.equal(
      stderr,
      `${path("none.xml")}: found no test result, although it declares 5 tests\n` +
        "acme/none abc0000: 0 results, 0 failed\n",
    );
  });

  it("needs a report or coverage, as upload does", async () => {
    const upload = [
      "upload",
      "--to",
      path("inbox"),
      "--repo",
      "acme/none",
      "--commit",
      "abc0000000000000000000000000000000000000",
    ];
    for (
      const { code, stdout, stderr } of [
        await ingest("acme/none"),
        await ingest("acme/none", "--coverage", ""),
        await cli(upload),
      ]
    ) {
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, /^error: missing REPORTS: expected a report, or --coverage FILE\n/);
    }
    await assert.rejects(Deno.stat(path("inbox")), Deno.errors.NotFound);
  });

  it("names a file where upload needs a folder", async () => {
    for (const file of [path("a.xml"), path("a.xml/inbox")]) {
      const { code, stderr } = await cli([
        ..."upload --repo acme/none --commit abc0000000000000000000000000000000000000 --to".split(
          " ",
        ),
        file,
        path("a.xml"),
      ]);
      assert.equal(code, 1);
      assert.match(stderr, /^error: .+ .*a\.xml.*: check --to\n$/);
    }
  });

  it("passes over an empty value of a repeatable option", async () => {
    const files = ["--coverage", "", "--coverage", path("empty.info")];
    const { code, stderr } = await ingest("acme/unset", path("a.xml"), ...files);
    assert.equal(code, 0);
    assert.match(stderr, /^the coverage reports contain no coverable line: ignored\nacme\/unset /);
  });

  it("notes the tags that a duplicate does not have, with --json too", async () => {
    await ingest("acme/tags", path("a.xml"), "--tags", "linux");
    const { code, stderr } = await ingest("acme/tags", path("a.xml"), "--tags", "linux,nightly");
    assert.equal(code, 0);
    const notes =
      "these reports were already uploaded: nothing changed\nignored the new tags nightly\n";
    assert.equal(stderr, notes);
    const json = await ingest("acme/tags", path("a.xml"), "--tags", "linux,nightly", "--json");
    assert.equal(json.stderr, notes);
  });

  it("takes empty values of optional options as absent", async () => {
    const options = [
      "branch",
      "tags",
      "build-url",
      "tree",
      "recorded-at",
      "codeowners",
      "coverage",
    ];
    const { code, stdout, stderr } = await ingest(
      "acme/empty",
      path("a.xml"),
      "--json",
      ...options.flatMap((name) => [`--${name}`, ""]),
    );
    assert.deepEqual([code, stderr], [0, ""]);
    const { build_url, coverage } = JSON.parse(stdout);
    assert.deepEqual({ build_url, coverage }, { build_url: "", coverage: null });
    const required = await cli(["ingest", "--org", "", path("a.xml")]);
    assert.equal(required.code, 2);
    assert.match(required.stderr, /^error: --org: "" is empty: expected text\n/);
  });

  it("prints results, failures and newly flaky tests on standard error", async () => {
    const result = (name: string, failed: boolean) =>
      `<testcase classname="Cart" name="${name}" file="cart.ts">${
        failed ? "<failure/>" : ""
      }</testcase>`;
    const store = async (commit: string, results: string[]) => {
      const text = `<testsuite name="unit">${results.join("")}</testsuite>`;
      await Deno.writeTextFile(path("told.xml"), text);
      const argv = ["ingest", "--org", "acme", "--repo", "acme/told", "--commit", commit];
      const { code, stderr } = await cli([...argv, "--branch", "main", path("told.xml")]);
      assert.equal(code, 0, stderr);
      return stderr.split("\n");
    };
    const broken = [result("adds", true), result("pays", false)];
    assert.deepEqual(await store("abc0001000000000000000000000000000000000", broken), [
      "acme/told main abc0001: 2 results, 1 failed",
      "",
    ]);
    const retried = [
      '<testcase classname="Cart" name="adds" file="cart.ts"><flakyFailure/></testcase>',
      result("pays", false),
    ];
    assert.deepEqual(await store("abc0002000000000000000000000000000000000", retried), [
      "acme/told main abc0002: 3 results, 1 failed, 1 of them flaky",
      "new flaky tests: 1",
      "  adds (cart.ts)",
      "",
    ]);
    // Known from now on. The pass at abc0001000000000000000000000000000000000 makes an earlier failure of that commit flaky.
    assert.deepEqual(
      await store("abc0001000000000000000000000000000000000", [
        result("adds", false),
        result("pays", true),
      ]),
      [
        "acme/told main abc0001: 2 results, 1 failed, 1 of them flaky",
        "new flaky tests: 1",
        "  pays (cart.ts)",
        "",
      ],
    );
    const many = Array.from(
      { length: 23 },
      (_, n) => `<testcase name="t${n}" file="cart.ts"><flakyFailure/></testcase>`,
    );
    const lines = await store("abc0003000000000000000000000000000000000", many);
    assert.equal(lines[1], "new flaky tests: 23");
    assert.equal(lines.at(-2), "  and 3 more: deno task cli flaky --repo acme/told");
    assert.equal(lines.length, 24);
  });

  it("shows the command that creates an unknown organization", async () => {
    const argv = [
      "ingest",
      "--org",
      "it's new",
      "--repo",
      "a/b",
      "--commit",
      "abc0000000000000000000000000000000000000",
    ];
    const { code, stderr } = await cli([...argv, path("a.xml")]);
    assert.equal(code, 1);
    const command = "`deno task cli org create 'it'\\''s new'`";
    assert.ok(
      stderr.startsWith(
        `error: organization "it's new" is unknown: create it with ${command}, or `,
      ),
      stderr,
    );
  });
});
