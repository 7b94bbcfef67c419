import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import {
  claimedBranch,
  claimedBuildUrl,
  claimedRun,
  type Claims,
  hasClaim,
} from "../../../lib/ci/claims.ts";
import { GITHUB_CLAIMS } from "../intake/receive/issuer.ts";

const NONE = { repositoryClaim: null, repository: null };
const SHOP = { owner: "acme", name: "shop" };

function runOf(claims: Claims, options: Partial<Parameters<typeof claimedRun>[1]> = {}) {
  const run = claimedRun(claims, { ...NONE, ...options });
  assert.ok(run);
  return run;
}

describe("the claims of GitHub", () => {
  const github = (claims: Claims = {}) =>
    runOf({
      iss: "https://token.actions.githubusercontent.com",
      ...GITHUB_CLAIMS,
      ...claims,
    });

  it("name repository, commit, branch, attempt and the page of the run", () => {
    const { repository, commit, branch, attempt, buildUrl } = github();
    assert.deepEqual({ repository, commit, branch, attempt, buildUrl }, {
      repository: SHOP,
      commit: GITHUB_CLAIMS.sha,
      branch: "feature",
      attempt: "2",
      buildUrl: "https://github.com/acme/shop/actions/runs/4711",
    });
  });

  it("have the page of the server that issued them", () => {
    for (
      const [iss, page] of [
        ["https://token.actions.githubusercontent.com/acme", "https://github.com"],
        ["https://token.actions.acme.ghe.com", "https://acme.ghe.com"],
        ["https://git.example/_services/token", "https://git.example"],
        ["https://git.example/api/actions", ""],
        ["https://token.actions.githubusercontent.com.evil.example", ""],
      ] as const
    ) {
      const path = page && "/acme/shop/actions/runs/4711";
      assert.equal(github({ iss }).buildUrl, page + path, iss);
    }
  });

  it("name no branch for a tag", () => {
    const run = github({ ref: "refs/tags/v1", ref_type: "tag" });
    assert.equal(claimedBranch(run, "main"), "");
  });

  it("name the branch of a pull request, to which the client may add the owner of the fork", () => {
    const run = github({
      event_name: "pull_request",
      ref: "refs/pull/5/merge",
      head_ref: "feature",
      base_ref: "main",
    });
    for (
      const [given, expected] of [
        ["", "feature"],
        ["main", "feature"],
        ["someone:feature", "someone:feature"],
        ["someone:main", "feature"],
      ] as const
    ) assert.equal(claimedBranch(run, given), expected, given);
  });

  it("name no branch for a pull request from a branch with the name of its base", () => {
    const run = github({ ref: "refs/pull/5/merge", head_ref: "main", base_ref: "main" });
    assert.equal(claimedBranch(run, "main"), "");
    assert.equal(claimedBranch(run, "someone:main"), "someone:main");
  });

  for (const event_name of ["workflow_run", "issue_comment", "pull_request_target"]) {
    it(`leave commit and branch of ${event_name} to the client, except for the base branch`, () => {
      const run = github({ event_name, ref: "refs/heads/main", base_ref: "release" });
      assert.equal(run.commit, undefined);
      assert.equal(run.attempt, "2");
      for (
        const [given, expected] of [
          ["someone:main", "someone:main"],
          ["feature", "feature"],
          ["main", ""],
          ["release", ""],
          ["gh-readonly-queue/main/pr-5-0123456", ""],
          ["", ""],
        ] as const
      ) assert.equal(claimedBranch(run, given), expected, given);
    });
  }

  it("name the branch of a merge queue", () => {
    const ref = "refs/heads/gh-readonly-queue/main/pr-5-0123456";
    assert.equal(
      claimedBranch(github({ event_name: "merge_group", ref }), ""),
      "gh-readonly-queue/main/pr-5-0123456",
    );
  });
});

describe("the claims of GitLab", () => {
  const gitlab = (claims: Claims = {}) =>
    runOf({
      iss: "https://gitlab.example",
      project_path: "acme/group/shop",
      sha: GITHUB_CLAIMS.sha,
      ref: "topic",
      ref_type: "branch",
      ref_path: "refs/heads/topic",
      pipeline_id: 88,
      ...claims,
    });

  it("name repository, commit, branch and the page of the pipeline", () => {
    const { repository, commit, branch, buildUrl } = gitlab();
    assert.deepEqual({ repository, commit, branch, buildUrl }, {
      repository: { owner: "acme/group", name: "shop" },
      commit: GITHUB_CLAIMS.sha,
      branch: "topic",
      buildUrl: "https://gitlab.example/acme/group/shop/-/pipelines/88",
    });
  });

  it("name no branch for a tag, and leave the owner of a merge request to the client", () => {
    assert.equal(claimedBranch(gitlab({ ref_type: "tag", ref: "v1" }), "main"), "");
    assert.equal(claimedBranch(gitlab(), "someone:topic"), "topic");
    const run = gitlab({ ref_path: "refs/merge-requests/7/head" });
    assert.equal(claimedBranch(run, "someone:topic"), "someone:topic");
  });
});

describe("the claims of another service", () => {
  it("name the repository alone, by an address or a path", () => {
    for (
      const text of [
        "acme/shop",
        "https://git.example/acme/shop.git",
        "git@git.example:acme/shop.git",
        "github.com/acme/shop",
      ]
    ) {
      const run = runOf({ origin: text, sha: "0123456" }, { repositoryClaim: "origin" });
      assert.deepEqual(run.repository, SHOP, text);
      assert.equal(run.commit, undefined);
      assert.equal(claimedBranch(run, "main"), "main");
      assert.equal(claimedBuildUrl(run, "https://ci.example/1"), "https://ci.example/1");
    }
  });

  it("that name no repository are of the only one that is trusted", () => {
    assert.equal(claimedRun({ pipeline_slug: "shop" }, NONE), null);
    assert.equal(claimedRun({ repository: "shop" }, NONE), null);
    assert.equal(claimedRun({ repository: "../shop" }, NONE), null);
    assert.deepEqual(runOf({ pipeline_slug: "shop" }, { repository: SHOP }).repository, SHOP);
  });

  it("that lack the claim of the repository are of none, not even of the only one that is trusted", () => {
    for (const claims of [{}, { origin: "" }, { origin: ["acme/shop"] }]) {
      const trust = { repositoryClaim: "origin", repository: SHOP };
      assert.equal(claimedRun({ ...GITHUB_CLAIMS, ...claims }, trust), null);
    }
  });
});

describe("the URL of a build", () => {
  it("counts if it has the number of the claimed run as a number of its own", () => {
    const run = runOf({ ...GITHUB_CLAIMS, iss: "https://git.example/_services/token" });
    const own = "https://git.example/acme/shop/actions/runs/4711";
    for (
      const [given, expected] of [
        [own, own],
        [`${own}/attempts/2`, `${own}/attempts/2`],
        ["https://ci.example/?run=4711", "https://ci.example/?run=4711"],
        ["https://ci.example/47110", own],
        ["https://ci.example/4711x", own],
        ["https://ci.example/5", own],
        ["", own],
      ] as const
    ) assert.equal(claimedBuildUrl(run, given), expected, given);
  });
});

describe("a claim", () => {
  it("has exactly one value", () => {
    const claims = { a: "x", n: 5, b: true, list: ["x"], object: { x: 1 }, none: null };
    for (const [name, value] of [["a", "x"], ["n", "5"], ["b", "true"]] as const) {
      assert.ok(hasClaim(claims, name, value));
    }
    for (
      const [name, value] of [
        ["a", "X"],
        ["a", ""],
        ["list", "x"],
        ["object", ""],
        ["none", "null"],
        ["toString", ""],
        ["missing", ""],
      ] as const
    ) assert.ok(!hasClaim(claims, name, value), name);
  });
});
