import * as v from "valibot";
import { loadRepositoryDetails } from "../db/read/repositories.ts";
import { defineJsonRoute } from "../lib/http/request/route.ts";
import { checkVersion } from "../lib/http/request/stale_version.ts";
import examples from "./examples.json" with { type: "json" };
import { textSchema } from "./schemas.ts";

const repositorySchema = v.pipe(
  v.strictObject({
    id: v.pipe(
      v.string(),
      v.regex(/^\d+$/),
      v.description("The value of repository_id, as a string"),
    ),
    name: textSchema("Name without the owner"),
    full_name: textSchema("owner/name"),
    url: textSchema('Page of the repository as CI reported it, "" when it is not known'),
    description: textSchema('Always ""'),
  }),
  v.title("Repository"),
);

export const repositories = defineJsonRoute({
  path: "/api/me/repositories",
  operationId: "listMyRepositories",
  tag: "Account",
  summary: "Repositories of the organization",
  description: "All repositories that the token can read, by full_name in any case.",
  response: {
    description: "All repositories",
    schema: v.pipe(
      v.strictObject({ repositories: v.array(repositorySchema) }),
      v.title("Repositories"),
    ),
    example: examples.repositories,
  },
  resource: "repositories in query",
  async handler({ repositories }, { sql }) {
    const details = await loadRepositoryDetails(
      sql,
      repositories.map(({ repositoryId }) => repositoryId),
    );
    const versions = new Map(details.map((one) => [one.repositoryId, one]));
    for (const repository of repositories) {
      checkVersion(repository, versions.get(repository.repositoryId) ?? null);
    }
    return {
      repositories: details.map(({ repositoryNumber, owner, name, url }) => ({
        id: String(repositoryNumber),
        name,
        full_name: `${owner}/${name}`,
        url,
        description: "",
      })),
    };
  },
});
