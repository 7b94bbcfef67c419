// Tests: tests/routes/contract_test.ts
/** The routes about what the token can read: its organization and the repositories of it. */
import * as v from "valibot";
import { loadRepositoryDetails } from "../db/read/repositories.ts";
import { caseKey, organizationUuid } from "../lib/base/identity.ts";
import { defineJsonRoute } from "../lib/http/request/route.ts";
import * as schemas from "./schemas.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const organizationSchema = schemas.object("Organization", {
  id: schemas.described(v.pipe(v.string(), v.regex(UUID)), "UUID; never changes"),
  name: schemas.text("Name of the organization"),
  slug: schemas.text("The name in lower case"),
});

export const organizations = defineJsonRoute({
  path: "/api/me/organizations",
  operationId: "listMyOrganizations",
  tag: "Account",
  summary: "Organization of the token",
  description: "The organization that the token belongs to, as a list of one.",
  list: { field: "organizations" },
  schema: schemas.object("Organizations", { organizations: v.array(organizationSchema) }),
  resource: "organization",
  handler({ caller, organizationName }) {
    const id = organizationUuid(caller!.organizationId);
    const name = organizationName!;
    return { organizations: [{ id, name, slug: caseKey(name) }] };
  },
});

const repositorySchema = schemas.object("Repository", {
  id: schemas.described(
    v.pipe(v.string(), v.regex(/^\d+$/)),
    "The value of repository_id, as a string",
  ),
  name: schemas.text("Name without the owner"),
  full_name: schemas.text("owner/name"),
  url: schemas.text('Page of the repository as CI reported it, "" when it is not known'),
  description: schemas.text('Always ""'),
});

export const repositories = defineJsonRoute({
  path: "/api/me/repositories",
  operationId: "listMyRepositories",
  tag: "Account",
  summary: "Repositories of the organization",
  description: "All repositories that the token can read, sorted by full_name (case-insensitive).",
  list: { field: "repositories" },
  schema: schemas.object("Repositories", { repositories: v.array(repositorySchema) }),
  resource: "repositories in query",
  async handler({ load }) {
    const details = await load(loadRepositoryDetails, {});
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
