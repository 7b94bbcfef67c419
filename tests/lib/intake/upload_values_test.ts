import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { branchNamed } from "../../../lib/ci/git_ref.ts";
import { authorOf } from "../../../lib/cli/author.ts";
import { readBranch, readBuildUrl, readGivenBuildUrl } from "../../../lib/intake/upload_values.ts";

describe("a build URL", () => {
  it("is a URL of http or https, as it is, without user and password", () => {
    const right = {
      "": "",
      " https://ci.example/7 ": "https://ci.example/7",
      "http://ci.example": "http://ci.example",
      "HTTPS://CI.example:8443/job/a b/7?x=1#y": "HTTPS://CI.example:8443/job/a b/7?x=1#y",
      "https://ada:s3cr3t@ci.example/7": "https://ci.example/7",
      "https://ada@ci.example/a@b": "https://ci.example/a@b",
    };
    for (const [text, url] of Object.entries(right)) assert.equal(readBuildUrl(text), url);
  });

  it("from an option is refused with a user or password, which the message omits", () => {
    assert.equal(readGivenBuildUrl(" https://ci.example/a@b "), "https://ci.example/a@b");
    for (const user of ["ada", "ada:s3cr3t"]) {
      const given = `https://${user}@ci.example/7?token=s3cr3t`;
      assert.throws(() => readGivenBuildUrl(given), (error: Error) => {
        assert.match(error.message, /^invalid build URL "https:\/\/ci\.example\/7" with a user/);
        return true;
      });
    }
  });

  it("is not any other text, which pages and clients would turn into a link", () => {
    const wrong = [
      "javascript:alert(1)",
      "JaVaScRiPt://https://ci.example/%0aalert(1)",
      "data:text/html,x",
      "vbscript:x",
      "file:///etc/passwd",
      "ftp://ada:s3cr3t@ci.example/7",
      "//ci.example/7",
      "https:/ci.example",
      "https:ci.example",
      "https://",
      "https:///7",
      "https://[::1/7",
      "build 7",
      "7",
      "https\u200b://ci.example",
    ];
    for (const text of wrong) {
      assert.throws(() => readBuildUrl(text), (error: Error) => {
        assert.equal(error.name, "SyntaxError", text);
        assert.match(
          error.message,
          /^invalid build URL ".*": expected one that begins with https:\/\/ or http:\/\/$/,
        );
        assert.doesNotMatch(error.message, /s3cr3t/);
        return true;
      }, text);
    }
    assert.throws(() => readBuildUrl("https://ci.example/\n7"), /control characters/);
  });

  it("is left out of the author of a change when the CI service has none", () => {
    const jenkins = { JENKINS_URL: "x", BUILD_URL: "unconfigured-jenkins-location" };
    assert.equal(authorOf(jenkins), "Jenkins");
    const BUILD_URL = "https://ci.example/job/7/";
    assert.equal(authorOf({ ...jenkins, BUILD_URL }), `Jenkins ${BUILD_URL}`);
  });
});

describe("a branch", () => {
  it("is the one that a reference names", () => {
    for (
      const text of [
        "refs/heads/fix/a",
        "heads/fix/a",
        "origin/fix/a",
        "remotes/origin/fix/a",
        "refs/remotes/origin/fix/a",
        "refs/heads/origin/fix/a",
      ]
    ) assert.equal(branchNamed(` ${text} `), "fix/a", text);
  });

  it("is not HEAD, an unset variable or the ref of a tag or pull request", () => {
    for (
      const text of [
        "HEAD",
        "refs/heads/HEAD",
        "(no branch)",
        "(HEAD detached at 0123456)",
        "(HEAD detached from v1)",
        "null",
        "undefined",
        "refs/pull/5/merge",
        "refs/pull/5/head",
        "refs/pull-requests/5/from",
        "refs/merge-requests/5/head",
        "5/merge",
        "origin/HEAD",
        "detached",
        "refs/tags/v1",
        "refs/changes/34/1234/5",
        "pull/5/head",
        "origin/pull/5/merge",
        "remotes/pull/5/merge",
        "merge-requests/5/head",
        "pull-requests/5/from",
      ]
    ) assert.equal(branchNamed(` ${text} `), "", text);
    const branches = ["head", "HEAD-1", "nullable", "fix/5/merge", "pull/5", "pull/fix/head"];
    for (const text of [...branches, "original", "upstream/fix", "tags/v1"]) {
      assert.equal(branchNamed(text), text);
    }
  });

  it("of a repository is one, without the remote", () => {
    assert.equal(readBranch("origin/release/1.x"), "release/1.x");
    assert.equal(readBranch(""), "");
    assert.throws(
      () => readBranch("origin/HEAD"),
      /^SyntaxError: "origin\/HEAD" names no branch: expected the name of one branch, such as main$/,
    );
    assert.throws(() => readBranch("release/*"), /is a pattern/);
    for (const several of ["main,release/1.x", "main, release", "main release", "main,"]) {
      assert.throws(
        () => readBranch(several),
        /has a comma or white space: .* one branch/,
        several,
      );
    }
    for (
      const wrong of [
        ...["a..b", "a~1", "a^", "acme:main", "what?", "a[1]", "a\\b", "a@{1}", "@", "-a", "/a"],
        ...["a/", "a//b", "a.", ".a", "a/.b", "a.lock", "a.lock/b"],
      ]
    ) {
      assert.throws(() => readBranch(wrong), /is not a valid branch name for git/, wrong);
    }
    for (const right of ["release/1.x", "a@b", "a-b_c.d", "feature/#12", "ä", "a.locks", "(x)"]) {
      assert.equal(readBranch(right), right);
    }
  });

  it("has at most 2,000 bytes, which an index of PostgreSQL can hold", () => {
    assert.equal(readBranch(` ${"x".repeat(2_000)} `).length, 2_000);
    assert.throws(
      () => readBranch("\u5b57".repeat(667)),
      /^RangeError: 2001 bytes: expected at most 2000$/,
    );
  });
});
