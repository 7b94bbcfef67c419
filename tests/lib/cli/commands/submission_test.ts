import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { describeWithDatabase } from "../../../database.ts";
import { commandLine, NOON } from "../run_in_process.ts";

const REPORT =
  `<testsuite name="cart"><testcase name="adds"/><testcase name="removes"/></testsuite>`;

describeWithDatabase("submission", (database) => {
  const cli = commandLine(() => database());
  const keys: string[] = [];

  before(async () => {
    await cli("org create acme");
    await cli("org create globex");
    const report = await Deno.makeTempFile({ suffix: ".xml" });
    await Deno.writeTextFile(report, REPORT);
    for (const [age, url] of [[60, "https://ci/1"], [20 * 86_400, "https://ci/2"]] as const) {
      const { code, stdout, stderr } = await cli(
        `ingest --org acme --repo acme/shop --commit c0ffee0 --build-url ${url} ${report}`,
        { now: () => NOON - age },
      );
      assert.equal(code, 0, stderr);
      keys.push(stdout.trim());
    }
    await Deno.remove(report);
  });

  it("list shows all, newest first, the old ones too", async () => {
    const { stdout } = await cli("submission list --org acme --repo ACME/SHOP");
    assert.deepEqual(
      stdout,
      [
        [keys[0], "2026-02-01T11:59:00Z", "processed", 2, "c0ffee0", "https://ci/1"].join("\t") +
        "\n",
        [keys[1], "2026-01-12T12:00:00Z", "processed", 2, "c0ffee0", "https://ci/2"].join("\t") +
        "\n",
      ].join(""),
    );
  });

  it("list shows the database's field names as JSON", async () => {
    const [first] = JSON.parse(
      (await cli("submission list --org acme --repo acme/shop --json")).stdout,
    );
    assert.deepEqual(first, {
      key: keys[0],
      status: "processed",
      recorded_at: "2026-02-01T11:59:00Z",
      uploaded_at: "2026-02-01T11:59:00Z",
      build_url: "https://ci/1",
      commit_oid: "c0ffee0",
      tree_oid: null,
      branch: null,
      environment: null,
      job: null,
      attempt: null,
      runner: null,
      shard: null,
      pull_number: null,
      pull_title: null,
      author: null,
      exit_code: null,
      test_result_count: 2,
      notes: [],
    });
  });

  it("list names a repository that is unknown", async () => {
    const { code, stderr } = await cli("submission list --org acme --repo acme/none");
    assert.equal(code, 1);
    assert.match(stderr, /repository "acme\/none" is unknown in "acme"/);
  });

  it("delete takes the organization's own, once", async () => {
    const foreign = await cli(`submission delete ${keys[0]} --org globex --yes`);
    assert.deepEqual([foreign.code, foreign.stdout], [1, ""]);
    const line = `submission delete ${keys[0]} --org acme --yes`;
    assert.deepEqual(await cli(line), { code: 0, stdout: `${keys[0]}\n`, stderr: "" });
    const again = await cli(line);
    assert.equal(again.code, 1);
    assert.match(
      again.stderr,
      /is unknown: `deno task cli submission list --org \w+ --repo OWNER\/NAME` shows all/,
    );
    const left = await cli("submission list --org acme --repo acme/shop");
    assert.equal(left.stdout.split("\n").length, 2);
  });
});
