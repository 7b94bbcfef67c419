/** `submission_content.ts`: memory while a report is read. */
import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("memory_program.ts", import.meta.url));
const RESULTS = 200_000;
// 45 MB are taken, garbage included; with an object for each result it was 90.
const MOST_BYTES = 65e6;

it(
  "results that are read take little memory until they are stored, garbage included",
  { skip: Deno.build.os !== "linux" },
  async () => {
    const { success, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", PROGRAM, String(RESULTS)],
      stderr: "inherit",
    }).output();
    assert.ok(success);
    const bytes = Number(new TextDecoder().decode(stdout));
    assert.ok(bytes > 0 && bytes < MOST_BYTES, `${bytes} bytes for ${RESULTS} results`);
  },
);
