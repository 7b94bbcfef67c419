import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { bufferedOutput } from "../../../lib/cli/log_output.ts";

describe("the output of a log", () => {
  it("is written in one piece, soon", async () => {
    const written: string[] = [];
    const output = bufferedOutput((text) => written.push(text));
    output.write("a", "info");
    output.write("b", "info");
    assert.deepEqual(written, []);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.deepEqual(written, ["a\nb\n"]);
  });

  it("writes warnings and errors at once", () => {
    const written: string[] = [];
    const output = bufferedOutput((text) => written.push(text));
    output.write("a", "info");
    output.write("b", "warn");
    output.write("c", "error");
    assert.deepEqual(written, ["a\nb\n", "c\n"]);
  });

  it("does not grow without bounds, and loses nothing at the end", () => {
    const written: string[] = [];
    const output = bufferedOutput((text) => written.push(text));
    for (let count = 0; count < 1_000; count++) output.write("x".repeat(99), "info");
    assert.ok(written.length >= 2 && written.length < 10);
    output.flush();
    assert.equal(written.join("").length, 100_000);
    output.flush();
    assert.ok(!written.includes(""));
  });
});
