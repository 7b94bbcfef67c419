import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { listTable, plainLine } from "../../../lib/cli/output.ts";
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

describe("a list on a terminal", () => {
  const items = [
    {
      api_token_id: 7,
      label: "dashboards",
      created_at: "2026-01-31T08:00:00Z",
      last_used_at: null,
    },
    { api_token_id: 12, label: null, created_at: "2026-02-01T08:00:00Z", last_used_at: null },
  ];

  it("has a header, and cuts texts only", () => {
    assert.deepEqual(listTable(items, undefined, 42), [
      "ID  LABEL      CREATED           LAST USED",
      " 7  dashboar…  2026-01-31 08:00",
      "12             2026-02-01 08:00",
    ]);
  });

  it("is empty without items", () => {
    assert.deepEqual(listTable([], undefined, 80), []);
  });
});
