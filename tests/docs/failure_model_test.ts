import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { FAULTS, readOptions } from "../../tools/measure/faults/main.ts";

const text = await Deno.readTextFile(new URL("../../docs/failure_model.md", import.meta.url));

describe("the failure model", () => {
  it("has commands that work and lists every fault", () => {
    const commands = [...text.matchAll(/^deno task measure faults(.*)$/gm)]
      .map(([, args = ""]) => args.replace(/#.*/, "").trim().split(/\s+/).filter(Boolean));
    assert.ok(commands.length > 0);
    for (const args of commands) readOptions(args);
    for (const name of Object.keys(FAULTS)) assert.ok(text.includes(`\`${name}\``), name);
  });

  it("has the table that the runs print, with nothing lost except by asynchronous fail-over", () => {
    const rows = text.split("\n").filter((line) =>
      line.startsWith("| ") && !/^\| (---|fault)/.test(line)
    )
      .map((line) => line.split(" | ").map((cell) => cell.replaceAll("|", "").trim()))
      .filter((cells) => cells.length === 6);
    assert.ok(rows.length > 10);
    for (const [fault = "", , , , lost] of rows) {
      if (!/asynchronous/.test(fault)) assert.equal(lost, "nothing", fault);
    }
  });
});
