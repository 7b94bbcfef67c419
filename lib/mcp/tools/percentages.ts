import * as v from "valibot";
import { type BadgeColor, coverageColor, flakinessColor } from "../../badge/badge.ts";
import { defineTool, described, repositoryArgument, toolInput, unknownRepository } from "./tool.ts";

const input = toolInput({ repository: repositoryArgument("owner/name or name") });

const badgeColor = v.picklist(
  ["green", "light_green", "yellow", "red", "unknown"] satisfies BadgeColor[],
);

export const getRepoFlakiness = percentageTool({
  name: "get_repo_flakiness",
  title: "Get the flakiness of a repository",
  description:
    "How unreliable a repository's CI is: the percentage of its builds in the last 14 days with " +
    "at least one disruption, quarantined tests included. green 0, yellow to 20, red above. Use it " +
    "for the overall picture. Next: find_flaky_tests for the tests behind it.",
  path: ["api", "v1", "flaky", "badges"],
  colorOf: flakinessColor,
  percentage: "0 to 100; null: no builds in the last 14 days",
});

export const getRepoCoverage = percentageTool({
  name: "get_repo_coverage",
  title: "Get the coverage of a repository",
  description:
    "How many of a repository's lines its tests cover, by the latest coverage report of any " +
    "branch, in percent. green 100, light_green from 90, yellow from 70, red below. Says nothing " +
    "about flaky tests.",
  path: ["api", "v1", "coverage", "badges"],
  colorOf: coverageColor,
  percentage: "0 to 100; null: no coverage report yet",
});

/** A tool that reads one of the two badges. */
function percentageTool({ path, colorOf, percentage, ...words }: {
  name: string;
  title: string;
  description: string;
  path: string[];
  colorOf: (tenths: number) => BadgeColor;
  /** Description of the number. */
  percentage: string;
}) {
  const badge = v.pipe(
    v.string(),
    v.includes("<svg"),
    v.transform((svg) => readBadge(svg, colorOf)),
  );
  return defineTool({
    ...words,
    input,
    output: v.object({
      repository: v.string(),
      percentage: described(v.nullable(v.number()), percentage),
      color: badgeColor,
    }),
    async run({ repository }, get) {
      const notFound = unknownRepository(repository);
      return { repository, ...await get({ path, query: { repository }, notFound }, badge) };
    },
  });
}

/**
 * The percentage in an SVG badge, found as clients of the earlier service do, and its colour. `null`
 * means no data.
 */
export function readBadge(
  svg: string,
  colorOf: (tenths: number) => BadgeColor,
): { percentage: number | null; color: BadgeColor } {
  const digits = />(\d+(?:\.\d+)?)%</.exec(svg)?.[1];
  if (digits === undefined) return { percentage: null, color: "unknown" };
  const percentage = Number(digits);
  return { percentage, color: colorOf(Math.round(percentage * 10)) };
}
