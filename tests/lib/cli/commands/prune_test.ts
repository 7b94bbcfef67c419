// More in `fixtures/transcripts/prune.txt`.
import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { describeWithDatabases } from "../../../database.ts";
import { commandLine, NOON } from "../run_in_process.ts";

const DAY = 86_400;
const REPORT =
  `<testsuite name="cart"><testcase name="adds"/><testcase name="removes"/></testsuite>`;

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
    await cli("org create acme");
    for (const days of [20, 40]) {
      const { code, stderr } = await cli(
        `ingest --org acme --repo acme/shop --commit c00${days}000 ${report}`,
        { now: () => NOON - days * DAY },
      );
      assert.equal(code, 0, stderr);
    }
    await Deno.remove(report);
  });

  it("stops at a signal with exit code 1, and continues the next time", async () => {
    const stopped = await cli("prune --keep 14d", { stop: AbortSignal.abort() });
    assert.deepEqual([stopped.code, stopped.stdout], [1, ""]);
    assert.match(stopped.stderr, /^error: stopped before the end: run it again to continue$/m);
    const { code, stdout } = await cli("prune --keep 14d");
    assert.equal(code, 0);
    assert.equal(stdout, "acme\tacme/shop\t2\t4\n");
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
}, { onStatement });
