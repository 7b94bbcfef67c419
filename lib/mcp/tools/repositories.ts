/** Tools about the organization of the token and its repositories. */
import * as v from "valibot";
import { BADGE_FILLS, type BadgeColor, coverageColor, flakinessColor } from "../../badge/badge.ts";
import {
  defineTool,
  described,
  integer,
  pageOfRepository,
  repositoryArgument,
  unknownRepository,
} from "./tool.ts";

const organizations = v.array(v.object({ id: v.string(), name: v.string(), slug: v.string() }));

export const listMyOrganizations = defineTool({
  name: "list_my_organizations",
  description:
    "The organization whose results this token reads, exactly one. No other tool needs its id. Next: " +
    "list_repositories",
  input: {},
  output: { organizations },
  page: () => ["repos"],
  run: (_input, get) => get({ path: ["api", "me", "organizations"] }, v.object({ organizations })),
});

const MAX_REPOSITORIES = 100;

const repositories = v.array(v.object({ full_name: v.string(), id: v.string(), url: v.string() }));

export const listRepositories = defineTool({
  name: "list_repositories",
  description:
    `Repositories by full_name, which is owner/name; the first ${MAX_REPOSITORIES} that match. Next: ` +
    `get_build_verdicts or find_flaky_tests`,
  input: {
    search: v.optional(described(v.string(), "Part of owner/name"), ""),
  },
  output: { count: integer("All"), repositories },
  page: () => ["repos"],
  async run({ search }, get) {
    const all = await get({ path: ["api", "me", "repositories"] }, v.object({ repositories }));
    const part = search.trim().toLowerCase();
    const matching = all.repositories.filter((one) => one.full_name.toLowerCase().includes(part));
    return { count: matching.length, repositories: matching.slice(0, MAX_REPOSITORIES) };
  },
});

export const getRepoFlakiness = percentageTool({
  name: "get_repo_flakiness",
  description:
    "Percentage of a repository's builds of 14 days with a disruption, quarantined tests included; null: no " +
    "builds. Next: find_flaky_tests",
  path: ["api", "v1", "flaky", "badges"],
  colorOf: flakinessColor,
  percentage: "0 to 100",
});

export const getRepoCoverage = percentageTool({
  name: "get_repo_coverage",
  description:
    "Percentage of a repository's lines that its tests cover, by the latest coverage report of any branch; " +
    "null: none",
  path: ["api", "v1", "coverage", "badges"],
  colorOf: coverageColor,
  percentage: "0 to 100",
});

/** A tool that reads one of the two badges. */
function percentageTool({ path, colorOf, percentage, ...words }: {
  name: string;
  description: string;
  path: string[];
  colorOf: (tenths: number) => BadgeColor;
  /** Description of the number. */
  percentage: string;
}) {
  const badge = v.pipe(v.string(), v.includes("<svg"));
  return defineTool({
    ...words,
    input: { repository: repositoryArgument("Required, or owner and name") },
    output: {
      repository: v.string(),
      percentage: described(v.nullable(v.number()), percentage),
      color: v.picklist(Object.keys(BADGE_FILLS) as BadgeColor[]),
    },
    page: ({ repository }) => pageOfRepository(repository),
    async run({ repository }, get) {
      const notFound = unknownRepository(repository);
      const svg = await get({ path, query: { repository }, notFound }, badge);
      return { repository, ...readBadge(svg, colorOf) };
    },
  });
}

/** The percentage in an SVG badge, found as clients of the earlier service do, and its colour. */
export function readBadge(
  svg: string,
  colorOf: (tenths: number) => BadgeColor,
): { percentage: number | null; color: BadgeColor } {
  const digits = />(\d+(?:\.\d+)?)%</.exec(svg)?.[1];
  if (digits === undefined) return { percentage: null, color: "unknown" };
  const percentage = Number(digits);
  return { percentage, color: colorOf(Math.round(percentage * 10)) };
}
