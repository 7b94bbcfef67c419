import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import {
  formatRepositoryName,
  parseRepositoryName,
  repositoryUrlFrom,
} from "../../../lib/base/repository_name.ts";

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

describe("the page of a repository from the address of a CI run", () => {
  it("is known where the forge runs CI for the repository itself", () => {
    const cases: [buildUrl: string, repository: string, page: string][] = [
      ["https://github.com/acme/shop/actions/runs/77", "acme/shop", "https://github.com/acme/shop"],
      [
        "https://github.com/Acme/Shop/actions/runs/77/job/5?pr=3#step:1",
        "acme/shop",
        "https://github.com/Acme/Shop",
      ],
      ["https://git.example:3000/a/b/actions/runs/5", "a/b", "https://git.example:3000/a/b"],
      [
        "https://gitlab.com/acme/web/shop/-/pipelines/9",
        "acme/web/shop",
        "https://gitlab.com/acme/web/shop",
      ],
      [
        "https://example.org/gitlab/acme/shop/-/jobs/9",
        "acme/shop",
        "https://example.org/gitlab/acme/shop",
      ],
      [
        "https://bitbucket.org/acme/shop/pipelines/results/9",
        "acme/shop",
        "https://bitbucket.org/acme/shop",
      ],
      [
        "https://bitbucket.org/acme/shop/addon/pipelines/home#!/results/9",
        "acme/shop",
        "https://bitbucket.org/acme/shop",
      ],
      ["https://user:secret@github.com/a/b/actions/runs/7", "a/b", "https://github.com/a/b"],
      // Of another repository, of a service without the repository in its address, or none at all.
      ["https://github.com/acme/ci/actions/runs/77", "acme/shop", ""],
      ["https://github.com/acme/workshop/actions/runs/77", "acme/shop", ""],
      ["https://github.com/acme/shop", "acme/shop", ""],
      ["https://ci.example.org/shop/77", "acme/shop", ""],
      ["https://dev.azure.com/acme/shop/_build/results?buildId=33", "acme/shop", ""],
      ["https://github.com/%/shop/actions/runs/7", "%/shop", ""],
      ["javascript:/acme/shop/actions/runs/7", "acme/shop", ""],
      ["", "acme/shop", ""],
    ];
    for (const [buildUrl, repository, page] of cases) {
      assert.equal(repositoryUrlFrom(buildUrl, repository), page, buildUrl);
    }
  });
});
