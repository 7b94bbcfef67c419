/** `mod.ts`: memory after many calls. */
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("memory_program.ts", import.meta.url));
/** Half a kilobyte per call: nothing of a call may stay. */
const MAX_GROWTH_BYTES = 1_000_000;

describe("the memory of the agent tool server", () => {
  it("is the same after 2,500 calls as after 500", async () => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--v8-flags=--expose-gc", PROGRAM, "500", "2500"],
      stdin: "null",
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    const [before = NaN, after = NaN] = new TextDecoder().decode(stdout).trim().split("\n")
      .map(Number);
    assert.ok(after - before < MAX_GROWTH_BYTES, `${before} bytes, then ${after}`);
  });
});
