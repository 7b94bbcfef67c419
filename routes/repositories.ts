import * as v from "valibot";
import { loadRepositoryDetails, type RepositoryDetails } from "../db/read/repositories.ts";
import { JSON_MEDIA_TYPE, jsonBody } from "../lib/http/request/json.ts";
import { defineRoute } from "../lib/http/request/route.ts";
import { checkVersion } from "../lib/http/request/stale_version.ts";
import { REPOSITORIES_EXAMPLE } from "./examples.ts";
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

/** `GET /api/me/repositories`: all repositories of the organization. */
export const repositories = defineRoute({
  path: "/api/me/repositories",
  operationId: "listMyRepositories",
  tag: "Account",
  summary: "Repositories of the organization",
  description: "All repositories that the token can read, by full_name in any case.",
  response: {
    status: 200,
    description: "All repositories",
    mediaType: JSON_MEDIA_TYPE,
    schema: v.pipe(
      v.strictObject({ repositories: v.array(repositorySchema) }),
      v.title("Repositories"),
    ),
    example: REPOSITORIES_EXAMPLE,
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
    return { body: jsonBody({ repositories: details.map(repositoryView) }) };
  },
});

function repositoryView(
  { repositoryNumber, owner, name, url }: RepositoryDetails,
): v.InferOutput<typeof repositorySchema> {
  return {
    id: String(repositoryNumber),
    name,
    full_name: `${owner}/${name}`,
    url,
    description: "",
  };
}
