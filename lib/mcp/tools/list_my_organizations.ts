import * as v from "valibot";
import { json } from "../api_client.ts";
import { defineTool, toolInput } from "./tool.ts";

const output = v.object({
  organizations: v.array(v.object({ id: v.string(), name: v.string(), slug: v.string() })),
});

/** `list_my_organizations`. */
export const listMyOrganizations = defineTool({
  name: "list_my_organizations",
  title: "List the organizations of this token",
  description:
    "The organization whose results this token reads; a token has exactly one. Use it to tell the " +
    "user whose data this is. No other tool needs its id. Next: list_repositories.",
  input: toolInput({}),
  output,
  run: (_input, get) =>
    get({
      path: ["api", "me", "organizations"],
      notFound: "This version of the service has no list of organizations. Go on without it.",
    }, json(output)),
});
