import * as v from "valibot";
import { caseKey, organizationUuid } from "../lib/base/identity.ts";
import { defineJsonRoute, selectedOrganization } from "../lib/http/request/route.ts";
import examples from "./examples.json" with { type: "json" };
import { textSchema } from "./schemas.ts";

const organizationSchema = v.pipe(
  v.strictObject({
    id: v.pipe(
      v.string(),
      v.regex(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      v.description("UUID; never changes"),
    ),
    name: textSchema("Name of the organization"),
    slug: textSchema("The name in lower case"),
  }),
  v.title("Organization"),
);

export const organizations = defineJsonRoute({
  path: "/api/me/organizations",
  operationId: "listMyOrganizations",
  tag: "Account",
  summary: "Organization of the token",
  description: "The organization that the token belongs to, as a list of one.",
  response: {
    description: "The organization",
    schema: v.pipe(
      v.strictObject({ organizations: v.array(organizationSchema) }),
      v.title("Organizations"),
    ),
    example: examples.organizations,
  },
  resource: "organization",
  handler(request) {
    const { organizationId, name } = selectedOrganization(request);
    return { organizations: [{ id: organizationUuid(organizationId), name, slug: caseKey(name) }] };
  },
});
