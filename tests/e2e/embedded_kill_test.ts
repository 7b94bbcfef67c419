import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { join } from "node:path";
import { copyTemplate } from "../database.ts";
import { IS_PROOF, killCount } from "./kills.ts";
import { launch } from "./launch.ts";
import { run } from "./program.ts";
import { prepare } from "./prepare.ts";
import { pause } from "../../lib/base/delay.ts";

/** How many processes are killed. */
const KILLS = killCount({ inGate: 2 });
/** Enough for an upload to have moments at which it can be killed. */
const TESTS = 5_000;

function report(no: number): string {
  const cases = Array.from(
    { length: TESTS },
    (_, test) => `<testcase classname="c" name="test ${test} of ${no % 3}" time="0.001"/>`,
  );
  return `<testsuite name="unit">${cases.join("")}<testcase classname="c" name="flaky">` +
    `<flakyFailure message="no ${no}"/></testcase></testsuite>`;
}

describe("an embedded database whose users are killed", () => {
  it("keeps every acknowledged upload, and no partial one", async () => {
    const dataDir = await copyTemplate();
    const folder = await Deno.makeTempDir({ prefix: "test-analytics-kill-" });
    const environment = { DATA_DIR: dataDir };
    const ingestArgs = (no: number) => [
      ..."ingest --org acme --repo acme/shop --commit c0ffee0".split(" "),
      "--build-url",
      `https://ci.example.com/${no}`,
      join(folder, `${no}.xml`),
    ];
    /** Kills a process at a random moment, unless it was faster and ended by itself. */
    const killedOutput = async (args: string[], afterMs: number) => {
      const program = launch(args, environment);
      await pause(afterMs);
      const { code, stdout } = await program.kill();
      return { code, stdout: stdout.trim() };
    };
    try {
      await prepare(environment, ["org create acme"]);
      const acknowledged = new Map<number, string>();
      let killedCount = 0;
      for (let no = 0; killedCount < KILLS; no++) {
        await Deno.writeTextFile(join(folder, `${no}.xml`), report(no));
        // Every other time it is a service that has the database open, and dies instead.
        const isOwnerKilled = no % 2 === 1;
        const owner = isOwnerKilled
          ? killedOutput(["serve", "--port", "0"], 700 + Math.random() * 1_500)
          : null;
        if (owner) await pause(600);
        const { code, stdout } = owner
          ? await run(ingestArgs(no), environment)
          : await killedOutput(ingestArgs(no), 300 + Math.random() * 2_000);
        await owner;
        if (owner || code !== 0) killedCount++;
        if (code === 0) acknowledged.set(no, stdout.trim());
        else {
          // A client without a confirmation retries.
          const again = await run(ingestArgs(no), environment);
          assert.equal(again.code, 0, again.stderr);
          acknowledged.set(no, again.stdout.trim());
        }
      }
      const listed = await run(
        ["submission", "list", "--org", "acme", "--repo", "acme/shop", "--json"],
        environment,
      );
      const submissions: { key: string; status: string; test_result_count: number }[] = JSON.parse(
        listed.stdout,
      );
      assert.deepEqual(
        submissions.map(({ key }) => key).sort(),
        [...acknowledged.values()].sort(),
      );
      for (const { key, status, test_result_count } of submissions) {
        assert.deepEqual([status, test_result_count], ["processed", TESTS + 2], key);
      }
      // deno-lint-ignore no-console -- figures of the long proof
      if (IS_PROOF) console.log({ kills: killedCount, uploads: submissions.length });
    } finally {
      await Deno.remove(dataDir, { recursive: true });
      await Deno.remove(folder, { recursive: true });
    }
  });
});
