import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { follow } from "./child.ts";

/** A shell that has begun to run a script. */
async function shell(script: string) {
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const child = follow(
    new Deno.Command("sh", {
      args: ["-c", script],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn(),
    () => resolve(),
  );
  await begun;
  return child;
}

describe("a process that receives a signal", () => {
  it("says what it left behind", async () => {
    const child = await shell(
      "trap 'exit 3' TERM; echo out; echo err >&2; while :; do sleep 0.05; done",
    );
    assert.deepEqual(await child.end("SIGTERM"), { code: 3, stdout: "out\n", stderr: "err\n" });
    assert.equal(child.isOver(), true);
    assert.equal((await child.end("SIGTERM")).code, 3, "once more changes nothing");
  });

  it("is killed at the deadline, which says that it went on", async () => {
    const child = await shell("trap '' TERM; echo deaf >&2; while :; do sleep 0.05; done");
    await assert.rejects(
      child.end("SIGTERM", 200),
      /^Error: the process, standard output, standard error did not end within 200 ms of SIGTERM; .*"deaf\\n"$/,
    );
    assert.equal(child.isOver(), true);
  });

  it("is not waited for beyond the deadline when another holds its output", async () => {
    const child = await shell("sleep 2 2>/dev/null & echo begun >&2; exec 2>&-; exit 0");
    await assert.rejects(child.end("SIGTERM", 300), /^Error: standard output did not end within/);
  });
});
