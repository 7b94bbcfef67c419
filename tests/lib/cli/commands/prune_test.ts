import { before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { describeWithDatabases } from "../../../database.ts";
import { commandLine, NOON, withoutDatabase } from "../run_in_process.ts";

const DAY = 86_400;
const REPORT =
  `<testsuite name="cart"><testcase name="adds"/><testcase name="removes"/></testsuite>`;

describe("usage errors of prune", () => {
  const wrong: Record<string, RegExp> = {
    "prune": /required option '--keep <duration>'/,
    "prune --keep 90": /--keep: invalid duration "90": expected a number above 0 and a unit/,
    "prune --keep 13d": /--keep: "13d" is too short: expected at least 14d/,
    "prune --keep 90d --repo acme/shop": /--org: missing: --repo requires it/,
  };
  for (const [line, expected] of Object.entries(wrong)) {
    it(`says so: ${line}`, async () => {
      const { code, stdout, stderr } = await withoutDatabase(line);
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, expected);
      assert.match(stderr, /^Try: deno task cli prune --keep 90d$/m);
    });
  }
});

/** Tables whose space was made free. */
const vacuumed: string[] = [];

/** Called when submissions are about to be deleted. */
let onDeletion = () => {};

function onStatement(text: string): void {
  const [, table] = /^\s*vacuum analyze "(\w+)"/.exec(text) ?? [];
  if (table) vacuumed.push(table);
  if (/\bdelete from submission\b/.test(text)) onDeletion();
}

describeWithDatabases("prune", (database) => {
  const cli = commandLine(() => database());

  before(async () => {
    const report = await Deno.makeTempFile({ suffix: ".xml" });
    await Deno.writeTextFile(report, REPORT);
    for (const [org, repo] of [["acme", "acme/shop"], ["acme", "acme/web"], ["globex", "g/x"]]) {
      await cli(`org create ${org}`);
      for (const days of [20, 40, 100]) {
        const { code, stderr } = await cli(
          `ingest --org ${org} --repo ${repo} --commit c00${days}000 ${report}`,
          { now: () => NOON - days * DAY },
        );
        assert.equal(code, 0, stderr);
      }
    }
    await Deno.remove(report);
  });

  async function submissionCount(org: string, repo: string): Promise<number> {
    const { stdout } = await cli(`submission list --org ${org} --repo ${repo} --json`);
    return JSON.parse(stdout).length;
  }

  it("prints the submissions to delete, and deletes nothing", async () => {
    const { code, stdout, stderr } = await cli("prune --keep 90d --dry-run");
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    assert.equal(
      stdout,
      "acme\tacme/shop\t1\t2\nacme\tacme/web\t1\t2\nglobex\tg/x\t1\t2\n",
    );
    assert.equal(await submissionCount("acme", "acme/shop"), 3);
  });

  it("takes one repository", async () => {
    const { stdout } = await cli("prune --keep 90d --org acme --repo ACME/Shop --json");
    assert.deepEqual(JSON.parse(stdout), [{
      organization: "acme",
      repository: "acme/shop",
      submission_count: 1,
      test_result_count: 2,
    }]);
    assert.equal(await submissionCount("acme", "acme/shop"), 2);
    assert.equal(await submissionCount("acme", "acme/web"), 3);
  });

  it("takes one organization", async () => {
    const { stdout } = await cli("prune --keep 5w --org ACME");
    assert.equal(stdout, "acme\tacme/shop\t1\t2\nacme\tacme/web\t2\t4\n");
    assert.equal(await submissionCount("globex", "g/x"), 3);
  });

  it("stops at a signal with exit code 1, and continues the next time", async () => {
    const stopped = await cli("prune --keep 14d", { stop: AbortSignal.abort() });
    assert.deepEqual([stopped.code, stopped.stdout], [1, ""]);
    assert.match(stopped.stderr, /^error: stopped before the end: run it again to continue$/m);
    const { code, stdout } = await cli("prune --keep 14d");
    assert.equal(code, 0);
    assert.equal(
      stdout,
      "acme\tacme/shop\t1\t2\nacme\tacme/web\t1\t2\nglobex\tg/x\t3\t6\n",
    );
    assert.deepEqual(await cli("prune --keep 14d --json"), { code: 0, stdout: "[]\n", stderr: "" });
  });

  it("makes the space free that it emptied, and touches no table when it emptied none", async () => {
    const report = await Deno.makeTempFile({ suffix: ".xml" });
    await Deno.writeTextFile(report, REPORT);
    await cli(`ingest --org acme --repo acme/shop --commit 01d0000 ${report}`, {
      now: () => NOON - 40 * DAY,
    });
    await Deno.remove(report);
    vacuumed.length = 0;
    const stop = new AbortController();
    onDeletion = () => stop.abort();
    const { code, stdout } = await cli("prune --keep 14d", { stop: stop.signal });
    onDeletion = () => {};
    assert.deepEqual([code, stdout], [1, "acme\tacme/shop\t1\t2\n"]);
    // A server does it by itself.
    assert.equal(vacuumed.includes("submission"), database().kind === "embedded");
    await cli("prune --keep 14d");
    vacuumed.length = 0;
    assert.equal((await cli("prune --keep 14d")).code, 0);
    assert.deepEqual(vacuumed, []);
  });

  it("shows its progress where a person watches", async () => {
    const { code, stderr } = await cli("prune --keep 14d", { stderrIsTerminal: true });
    assert.equal(code, 0);
    // Only on a slow machine; cleared at the end.
    const shown = stderr.replaceAll("\r\x1b[K", "\n");
    assert.match(shown, /^(\n\S+: \d+ submissions, \d+ results deleted)*\n?$/);
  });

  it("names an organization or repository that is unknown", async () => {
    assert.match(
      (await cli("prune --keep 14d --org none")).stderr,
      /organization "none" is unknown/,
    );
    const { code, stderr } = await cli("prune --keep 14d --org acme --repo acme/none");
    assert.equal(code, 1);
    assert.match(stderr, /repository "acme\/none" is unknown in "acme"/);
  });
}, { onStatement });
