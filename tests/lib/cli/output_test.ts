import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { plainLine } from "../../../lib/cli/output.ts";
import { oneLine } from "../../../lib/base/text.ts";

describe("a plain line", () => {
  it("separates its cells by tabs, and writes nothing for null", () => {
    assert.equal(plainLine(["acme", 3, null, ""]), "acme\t3\t\t");
  });

  it("holds whatever a value contains", () => {
    assert.equal(plainLine(["a\tb", "c\nd\r\n", "\x1b[31mred"]), "a b\tc d  \t [31mred");
    assert.equal(oneLine("a\u2028b\u0085c"), "a b c");
    assert.equal(oneLine("invoice\u202efdp.exe"), "invoice[U+202E]fdp.exe");
  });
});
