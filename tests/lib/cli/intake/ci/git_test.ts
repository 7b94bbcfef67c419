import { it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { repositoryOfGitUrl } from "../../../../../lib/cli/intake/ci/git.ts";

it("the address of a git repository tells its owner and name", () => {
  const cases = [
    ["https://github.com/acme/shop.git", "acme/shop"],
    ["https://github.com/acme/shop/", "acme/shop"],
    ["https://user:token@gitlab.example:8443/acme/web/shop.git", "acme/web/shop"],
    ["git@github.com:acme/shop.git", "acme/shop"],
    ["github.com:acme/shop", "acme/shop"],
    ["ssh://git@git.example:2222/acme/shop.git", "acme/shop"],
    ["https://dev.azure.com/org/Project/_git/shop", "Project/shop"],
    ["https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/shop", ""],
    ["/srv/git/shop.git", ""],
    ["https://github.com/shop", ""],
    ["", ""],
  ];
  for (const [url, expected] of cases) assert.equal(repositoryOfGitUrl(url!), expected, url);
});
