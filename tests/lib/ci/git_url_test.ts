import { it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { readGitUrl } from "../../../lib/ci/git_url.ts";

it("the address of a git repository has its owner and name", () => {
  const cases = [
    ["https://github.com/acme/shop.git", "acme/shop"],
    ["https://github.com/acme/shop/", "acme/shop"],
    ["https://user:token@gitlab.example:8443/acme/web/shop.git", "acme/web/shop"],
    ["git@github.com:acme/shop.git", "acme/shop"],
    ["github.com:acme/shop", "acme/shop"],
    ["ssh://git@git.example:2222/acme/shop.git", "acme/shop"],
    ["https://dev.azure.com/org/Project/_git/shop", "Project/shop"],
    ["https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/shop", ""],
    ["git@ssh.dev.azure.com:v3/org/Project/shop", ""],
    ["work:acme/shop", "acme/shop"],
    ["/srv/git/shop.git", ""],
    ["C:/git/acme/shop", ""],
    ["https://github.com/shop", ""],
    ["", ""],
  ];
  for (const [url, expected] of cases) assert.equal(readGitUrl(url!).repository, expected, url);
});

it("the page of a git repository follows from its address, without credentials", () => {
  const cases = [
    ["https://github.com/acme/shop.git", "https://github.com/acme/shop"],
    ["https://github.com/acme/shop/", "https://github.com/acme/shop"],
    ["https://github.com/acme/shop?token=x#y", "https://github.com/acme/shop"],
    ["https://user:token@gitlab.example:8443/a/b/shop.git", "https://gitlab.example:8443/a/b/shop"],
    ["http://git.example/acme/shop", "http://git.example/acme/shop"],
    ["git@github.com:acme/shop.git", "https://github.com/acme/shop"],
    ["github.com:acme/shop", "https://github.com/acme/shop"],
    ["ssh://git@git.example:2222/acme/shop.git", "https://git.example/acme/shop"],
    ["git://git.example/acme/shop.git", "https://git.example/acme/shop"],
    ["https://dev.azure.com/org/A%20B/_git/shop", "https://dev.azure.com/org/A%20B/_git/shop"],
    ["git@ssh.dev.azure.com:v3/org/Project/shop", ""],
    ["https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/shop", ""],
    ["javascript:alert(1)//acme/shop", ""],
    ["work:acme/shop", ""],
    ["file:///srv/git/shop.git", ""],
    ["/srv/git/shop.git", ""],
    ["C:/git/acme/shop", ""],
    ["https://github.com/shop", ""],
    ["https://github.com/acme/sh op", ""],
    [`https://github.com/acme/${"s".repeat(2_000)}`, ""],
    ["", ""],
  ];
  for (const [url, expected] of cases) assert.equal(readGitUrl(url!).page, expected, url);
});
