import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { isGitId, shortCommit } from "../../../lib/base/commit.ts";

describe("ids of git", () => {
  it("have 7 to 64 hex digits", () => {
    for (const id of ["24d0c8b", "24D0C8B", "a".repeat(40), "a".repeat(64)]) {
      assert.ok(isGitId(id), id);
    }
    for (const text of ["", "HEAD", "24d0c8", "24d0c8b\n", " 24d0c8b", "a".repeat(65)]) {
      assert.ok(!isGitId(text), text);
    }
  });

  it("are shortened to the digits that git shows, and other texts stay", () => {
    assert.equal(shortCommit("24d0c8b91f7e5a3c6d2b4e8f0a1c3d5e7f9b1d3f"), "24d0c8b");
    assert.equal(shortCommit("24d0c8b"), "24d0c8b");
    assert.equal(shortCommit("refs/heads/a-long-name"), "refs/heads/a-long-name");
  });
});
