import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { formatRepositoryName, parseRepositoryName } from "../../../lib/base/repository_name.ts";

describe("OWNER/NAME", () => {
  it("splits at the last slash", () => {
    assert.deepEqual(parseRepositoryName("acme/shop"), { owner: "acme", name: "shop" });
    assert.deepEqual(parseRepositoryName("a/b/c"), { owner: "a/b", name: "c" });
  });

  it("is written as it was read", () => {
    assert.equal(formatRepositoryName(parseRepositoryName("Group/Sub/Shop")), "Group/Sub/Shop");
  });

  for (const text of ["", "shop", "/shop", "acme/", "a//b", "a/ b", "../b", "a/.", "a/b\n"]) {
    it(`is not ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseRepositoryName(text), SyntaxError);
    });
  }
});
