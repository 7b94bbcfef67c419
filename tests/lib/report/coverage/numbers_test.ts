/** `format_reader.ts`: how numbers are read, in any format. */
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { ran, wholeNumber } from "../../../../lib/report/coverage/format_reader.ts";

describe("numbers of coverage reports", () => {
  it("are taken as tools write them", () => {
    assert.equal(wholeNumber(" +12 ", "line number"), 12);
    for (const text of ["1", "0.5", ".5", "7.", "1e3", "18446744073709551615", " +1 "]) {
      assert.equal(ran(text, "execution count"), true);
    }
    for (const text of ["0", "-1", "0.0"]) {
      assert.equal(ran(text, "execution count"), false);
    }
  });

  it("are refused if they are not numbers, however long", () => {
    const started = performance.now();
    const long = "9".repeat(1_000_000);
    for (const text of [`${long}x`, `${long}.${long}x`, `1e${long}x`, `1${" ".repeat(1e6)}x`]) {
      assert.throws(() => ran(text, "execution count"), /expected a number/);
      assert.throws(() => wholeNumber(text, "line number"), /expected a whole number/);
    }
    assert.ok(performance.now() - started < 10_000);
  });
});
