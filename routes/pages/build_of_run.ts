// Tests: tests/routes/build_page_test.ts
/** `/repos/{owner}/{name}/build`: redirects to the build of a CI run, which clients know before it is stored. */
import { loadBuildOfRun } from "../../db/read/submissions.ts";
import { loadRepositoryDetails } from "../../db/read/repositories.ts";
import { emptyState } from "../../lib/html/elements.ts";
import { markup } from "../../lib/html/markup.ts";
import * as parameters from "../../lib/http/request/parameters.ts";
import { definePage } from "./page.ts";

const query = {
  url: parameters.text("Build URL of the CI run", {
    jsonSchema: { type: "string" },
    example: "https://ci.example.com/builds/7",
  }),
  key: parameters.text("Key of an upload without a build URL", {
    jsonSchema: { type: "string" },
    example: "acme/shop/20260131T091452Z-24d0c8b1f0a3e5d7.gz",
  }),
};

export const buildOfRunPage = definePage({
  path: "/repos/:owner/:name/build",
  resource: "repository in path",
  query,
  async show({ load, query: { url, key }, link, pathTo }) {
    const [[found], submissionId] = await Promise.all([
      load(loadRepositoryDetails, {}),
      load(loadBuildOfRun, { buildUrl: stored(url), key: stored(key) }),
    ]);
    const repository = found!;
    const { owner, name } = repository;
    if (submissionId) return pathTo(["repos", owner, name, "builds", submissionId]);
    return {
      title: "Build",
      crumbs: [link.repositories, link.repository(repository), link.builds(repository)],
      content: markup`<h1>Build</h1>${
        emptyState(
          markup`<p>This build is not stored: its reports are being read, or were not uploaded.
Reload this page in a moment, or look at ${link.builds(repository, "all builds")}.</p>`,
        )
      }`,
    };
  },
});

/** No stored text has a NUL character or an unpaired surrogate. */
function stored(text = ""): string {
  return text.includes("\0") || !text.isWellFormed() ? "" : text.trim();
}
