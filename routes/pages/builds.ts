/** `/repos/{owner}/{name}/builds`: the page of the repository lists its builds. */
import { loadRepositoryDetails } from "../../db/read/repositories.ts";
import { definePage } from "./page.ts";

export const buildsPage = definePage({
  path: "/repos/:owner/:name/builds",
  resource: "repository in path",
  async show({ loadEach, pathTo }) {
    const [repository] = await loadEach(loadRepositoryDetails, {});
    return pathTo(["repos", repository!.owner, repository!.name]);
  },
});
