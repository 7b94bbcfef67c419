import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { buildName, forgeOf, pullRequestOf } from "../../../lib/html/forge_links.ts";

const OID = "24d0c8b000000000000000000000000000000001";
const EARLIER = "1c04bba000000000000000000000000000000002";

describe("addresses at the forge", () => {
  for (
    const [url, commit, branch, pull, compare = `/compare/${EARLIER}...${OID}`] of [
      ["https://github.com/acme/shop", "/commit/", "/tree/a/b%23", "/pull/77"],
      [
        "https://gitlab.com/acme/team/shop",
        "/-/commit/",
        "/-/tree/a/b%23",
        "/-/merge_requests/77",
        `/-/compare/${EARLIER}...${OID}`,
      ],
      [
        "https://bitbucket.org/acme/shop",
        "/commits/",
        "/branch/a/b%23",
        "/pull-requests/77",
        `/branches/compare/${OID}%0D${EARLIER}`,
      ],
      [
        "https://dev.azure.com/acme/platform/_git/shop",
        "/commit/",
        "?version=GBa/b%23",
        "/pullrequest/77",
        `/branchCompare?baseVersion=GC${EARLIER}&targetVersion=GC${OID}&_a=commits`,
      ],
      ["https://gitea.acme.example/acme/shop", "/commit/", "/src/branch/a/b%23", "/pulls/77"],
      ["https://codeberg.org/acme/shop", "/commit/", "/src/branch/a/b%23", "/pulls/77"],
      ["https://git.acme.example:8443/acme/shop", "/commit/", "/tree/a/b%23", "/pull/77"],
    ] as readonly (readonly [string, string, string, string, string?])[]
  ) {
    it(`are known of ${url}`, () => {
      const forge = forgeOf(url)!;
      assert.equal(forge.commit(OID), `${url}${commit}${OID}`);
      assert.equal(forge.branch("a/b#"), url + branch);
      assert.equal(forge.pullRequest(77), url + pull);
      assert.equal(forge.compare(EARLIER, OID), url + compare);
    });
  }

  it("leave out user, query, a slash and .git at the end", () => {
    const forge = forgeOf("https://me:secret@github.com/acme/shop.git/?a=b#c")!;
    assert.equal(forge.pullRequest(1), "https://github.com/acme/shop/pull/1");
  });

  it("do not exist for other addresses, or for what is not a commit", () => {
    for (const url of ["", "javascript:alert(1)", "git@github.com:acme/shop.git", "https://"]) {
      assert.equal(forgeOf(url), null, url);
    }
    const forge = forgeOf("https://github.com/acme/shop")!;
    assert.equal(forge.commit("HEAD"), "");
    assert.equal(forge.compare("", OID) + forge.compare(OID, "HEAD"), "");
  });
});

describe("the name of a build", () => {
  it("is its branch or pull request, commit, and number of the CI run", () => {
    const commitOid = OID;
    const named = (branch: string, buildUrl = "") => buildName({ branch, commitOid, buildUrl });
    assert.equal(named("main"), "main · 24d0c8b");
    assert.equal(named("main", "https://ci.example/job/shop/77/"), "main · 24d0c8b · #77");
    assert.equal(named("refs/pull/8/merge", "https://ci.example/77"), "pull/8 · 24d0c8b · #77");
    assert.equal(named("refs/merge-requests/8/head"), "merge-requests/8 · 24d0c8b");
    assert.equal(named("", "https://github.com/a/b/actions/runs/12345678901"), "24d0c8b");
    assert.equal(buildName({ branch: "", commitOid: "HEAD" }), "HEAD");
    assert.equal(buildName({ branch: "", commitOid: "" }), "build");
  });

  it("finds the pull request in the refs of the forges", () => {
    for (
      const [branch, number] of [
        ["refs/pull/77/head", 77],
        ["pull/77", 77],
        ["refs/merge-requests/5/head", 5],
        ["refs/pull-requests/5/from", 5],
        ["pull/abc", null],
        ["feature/pull/77", null],
      ] as const
    ) assert.equal(pullRequestOf(branch), number, branch);
  });
});
