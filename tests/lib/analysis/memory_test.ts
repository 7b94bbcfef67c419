/** `submission_content.ts`: memory while a report is read. */
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("memory_program.ts", import.meta.url));
const RESULTS = 200_000;

/** Greatest memory that results of a conclusion took, garbage included. */
async function memoryOf(conclusion: "passing" | "failure"): Promise<number> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", PROGRAM, String(RESULTS), conclusion],
    stderr: "inherit",
  }).output();
  assert.ok(success);
  return Number(new TextDecoder().decode(stdout));
}

describe("until they are stored", { skip: Deno.build.os !== "linux" }, () => {
  it("results that are read take little memory", async () => {
    // 45 MB are taken; with an object for each result it was 90.
    const bytes = await memoryOf("passing");
    assert.ok(bytes > 0 && bytes < 65e6, `${bytes} bytes for ${RESULTS} results`);
  });

  it("failures with different texts take little more", async () => {
    const bytes = await memoryOf("failure");
    assert.ok(bytes > 0 && bytes < 160e6, `${bytes} bytes for ${RESULTS} failures`);
  });
});
