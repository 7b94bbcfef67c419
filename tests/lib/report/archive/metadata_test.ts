import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { parseMetadata, parseMetadataTimestamp } from "../../../../lib/report/archive/mod.ts";

const parse = (text: string) => parseMetadata(text, "build.gz: buildpulse.yml");

const FLAT = `---
:branch: main
:build_url: https://ci.example/first
:check: github-actions
:ci_provider: github-actions
:commit: 1e10
:environment: macOS-ARM64
:job: test
:workflow: CI
:repo_name_with_owner: acme/web/shop
:timestamp: 1780000000999999999
:tree: 0000000000000000000000000000000000000001
:tags:
- fast
- ''
- linux
:github_actor: octocat
:build_url: https://ci.example/last
:repository_url: https://github.com/acme/shop
:secret_token: "s3cr3t"
`;

describe("flat metadata", () => {
  it("is read with all its texts as they are", () => {
    assert.deepEqual(parse(FLAT), {
      repository: "acme/web/shop",
      commit: "1e10",
      tree: "0000000000000000000000000000000000000001",
      branch: "main",
      environment: "macOS-ARM64",
      job: "test",
      workflow: "CI",
      shard: "",
      attempt: "",
      runner: "",
      exitCode: "",
      buildUrl: "https://ci.example/last",
      repositoryUrl: "https://github.com/acme/shop",
      tags: ["fast", "linux"],
      timestamp: "1780000000999999999",
      checkoutFolder: "",
      organization: "",
      provider: "github-actions",
    });
  });

  it("may leave out everything", () => {
    assert.deepEqual(parse(":branch:\n:tree: ~\n:tags:\n- ''\n"), {
      repository: "",
      commit: "",
      tree: "",
      branch: "",
      environment: "",
      job: "",
      workflow: "",
      shard: "",
      attempt: "",
      runner: "",
      exitCode: "",
      buildUrl: "",
      repositoryUrl: "",
      tags: [],
      timestamp: "",
      checkoutFolder: "",
      organization: "",
      provider: "",
    });
  });

  it("has a time stamp in nanoseconds or as RFC 3339, whose fraction is cut", () => {
    const at = parseMetadataTimestamp;
    assert.equal(at("1780000000000000000"), 1_780_000_000);
    assert.equal(at("1779999999999999999"), 1_779_999_999);
    assert.equal(at("2026-05-28T22:26:40.999999999+02:00"), 1_780_000_000);
    assert.throws(() => at("yesterday"), {
      name: "SyntaxError",
      message: 'found "yesterday", expected nanoseconds since 1970 or RFC 3339 with a zone',
    });
    assert.throws(() => at("-5"), /expected nanoseconds/);
  });

  it("keeps texts that look like numbers, words that YAML 1.1 made booleans, and folded lines", () => {
    assert.equal(parse(":commit: 0123\n").commit, "0123");
    assert.equal(parse(":branch: no\n").branch, "no");
    assert.equal(parse(`:branch: "null"\n`).branch, "null");
    assert.equal(parse(":branch: null\n").branch, "");
    assert.equal(parse(":commit: null\n").commit, "null");
    assert.equal(parse(":branch: a long\n  name\n").branch, "a long name");
  });
});

describe("nested metadata", () => {
  it("has no unpaired surrogates, which no database can store", () => {
    const { branch, job, tags, repository } = parse(
      `:branch: "a\\ud800"\n:job: "\\udc00b"\n:tags: ["c\\ud800"]\n` +
        `:repo_name_with_owner: "acme/\\ud800"\n`,
    );
    assert.deepEqual([branch, job, tags, repository], [
      "a\ufffd",
      "\ufffdb",
      ["c\ufffd"],
      "acme/\ufffd",
    ]);
  });

  it("has the organization that received the archive, which flat metadata has not", () => {
    assert.equal(parse("organization: acme\ngit:\n  commit: abc\n").organization, "acme");
    assert.equal(parse(":organization: acme\n:commit: abc\n").organization, "");
  });

  it("is read", () => {
    const text = `version: "1.0"
git:
  commit: abc
  branch: main
  tree: def
  repository:
    owner: acme/web
    name: shop
  repository_url: https://gitlab.example/acme/web/shop
ci:
  environment: linux/amd64
  job: unit
  workflow: shop-ci
  shard: 2/4
  attempt: 2
  runner: agent-7
  provider: gitlab
  build_url: https://ci.example/1
tags: [a, b]
`;
    assert.deepEqual(parse(text), {
      repository: "acme/web/shop",
      commit: "abc",
      tree: "def",
      branch: "main",
      environment: "linux/amd64",
      job: "unit",
      workflow: "shop-ci",
      shard: "2/4",
      attempt: "2",
      runner: "agent-7",
      exitCode: "",
      buildUrl: "https://ci.example/1",
      repositoryUrl: "https://gitlab.example/acme/web/shop",
      tags: ["a", "b"],
      timestamp: "",
      checkoutFolder: "",
      organization: "",
      provider: "gitlab",
    });
  });
});

describe("metadata that cannot be read", () => {
  it("is refused with its place, without quoting it", () => {
    for (const text of [":token: s3cr3t\n  :x: [\n", "s3cr3t", "- s3cr3t\n", ":a: 's3cr3t"]) {
      assert.throws(() => parse(text), (error: Error) => {
        assert.match(
          error.message,
          /^build\.gz: buildpulse\.yml:\d+:\d+: found invalid YAML/,
        );
        assert.doesNotMatch(`${error.message} ${error.stack} ${error.cause}`, /s3cr3t/);
        return true;
      });
    }
  });

  it("is refused with anchors, aliases, and more tokens or levels than real ones have", () => {
    const refused = (text: string, message: RegExp) =>
      assert.throws(() => parse(text), { kind: "limit", message });
    refused(
      ":branch: &b x\n",
      /^build\.gz: buildpulse\.yml: found a YAML anchor or alias, expected/,
    );
    refused(":branch: *b\n", /found a YAML anchor or alias/);
    for (const deep of ["[", "{", "- ", "? ", "a: [{"]) {
      for (const depth of [100, 50_000]) {
        refused(`:a:\n ${deep.repeat(depth)}`, /found more than 20 YAML levels, expected fewer/);
      }
    }
    const pairs = Array.from({ length: 30 }, (_, i) => `a${i}: 1`);
    assert.equal(parse(`:branch: x\n:a: {${pairs}}\n:b: [${pairs.map(() => "[]")}]\n`).branch, "x");
    refused(":a: b\n".repeat(5_000), /found more than 10000 YAML tokens/);
    assert.equal(parse(":branch: a*b & c\n:commit: |\n  &a *b\n").commit, "&a *b");
    assert.equal(parse(":a: {b: c, d: e, f: g}\n:branch: '&a'\n").branch, "&a");
  });
});
