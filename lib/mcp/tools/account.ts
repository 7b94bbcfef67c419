import * as v from "valibot";
import { defineTool, described, integer, toolInput } from "./tool.ts";

const organizations = v.object({
  organizations: v.array(v.object({ id: v.string(), name: v.string(), slug: v.string() })),
});

export const listMyOrganizations = defineTool({
  name: "list_my_organizations",
  title: "List the organizations of this token",
  description:
    "The organization whose results this token reads; a token has exactly one. Use it to tell the " +
    "user whose data this is. No other tool needs its id. Next: list_repositories.",
  input: toolInput({}),
  output: organizations,
  run: (_input, get) =>
    get({
      path: ["api", "me", "organizations"],
      notFound: "This version of the service has no list of organizations. Go on without it.",
    }, organizations),
});

const MAX_REPOSITORIES = 100;

const repositories = v.array(v.object({ full_name: v.string(), id: v.string(), url: v.string() }));

export const listRepositories = defineTool({
  name: "list_repositories",
  title: "List the repositories",
  description: `Repositories of the organization by full_name, which is owner/name; the first ` +
    `${MAX_REPOSITORIES} that match. Use it to find out how a repository is named here. Next: ` +
    `get_recent_failures or find_flaky_tests.`,
  input: toolInput({
    search: v.optional(described(v.string(), "Part of owner/name, in any case"), ""),
  }),
  output: v.object({ count: integer("All that match"), repositories }),
  async run({ search }, get) {
    const page = await get({
      path: ["api", "me", "repositories"],
      notFound:
        "This version of the service has no list of repositories. Ask the user for owner/name.",
    }, v.object({ repositories }));
    const part = search.trim().toLowerCase();
    const matching = page.repositories.filter((one) => one.full_name.toLowerCase().includes(part));
    return { count: matching.length, repositories: matching.slice(0, MAX_REPOSITORIES) };
  },
});
