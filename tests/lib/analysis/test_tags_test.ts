import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { ownerTags } from "../../../lib/analysis/test_tags.ts";
import { parseCodeowners } from "../../../lib/report/codeowners.ts";

function contentOf(files: string[]) {
  return {
    testHashes: Float64Array.from(files, (_, index) => index),
    identityAt: (index: number) => ({
      suite: "",
      class: "",
      name: `t${index}`,
      file: files[index]!,
    }),
  };
}

describe("tags of owners", () => {
  it("are added to the tests whose files have an owner", () => {
    const codeowners = parseCodeowners("/web/ @b @a\n/api/ @c\n");
    const tags = ownerTags(contentOf(["web/x", "", "api/x", "none", "web/y"]), codeowners);
    assert.deepEqual(tags, {
      groups: [["owner:@a", "owner:@b"], ["owner:@c"]],
      groupOf: [1, 0, 2, 0, 1],
    });
  });

  it("are found for absolute paths below the checkout", () => {
    const codeowners = parseCodeowners("/web/ @a\n");
    const content = contentOf(["/ci/shop/web/x", "/ci/shopping/web/x"]);
    assert.deepEqual(ownerTags(content, codeowners, "/ci/shop")?.groupOf, [1, 0]);
    assert.equal(ownerTags(content, codeowners), null);
  });

  it("are null when no file has an owner", () => {
    assert.equal(ownerTags(contentOf(["a", ""]), parseCodeowners("/web/ @a\n")), null);
  });
});
