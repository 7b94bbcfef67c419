import * as v from "valibot";
import { badgeColor, type BadgeKind, readBadge } from "../read_badge.ts";
import { defineTool, repositoryArgument, toolInput, unknownRepository } from "./tool.ts";

const PATHS: Readonly<Record<BadgeKind, string>> = { flakiness: "flaky", coverage: "coverage" };

const input = toolInput({ repository: repositoryArgument("owner/name or name") });

/** `get_repo_flakiness`. */
export const getRepoFlakiness = percentageTool("flakiness", {
  name: "get_repo_flakiness",
  title: "Get the flakiness of a repository",
  description:
    "How unreliable a repository's CI is: the percentage of its builds in the last 14 days with " +
    "at least one disruption, quarantined tests included. green 0, yellow to 20, red above. Use it " +
    "for the overall picture. Next: find_flaky_tests for the tests behind it.",
  percentage: "0 to 100; null: no builds in the last 14 days",
  shown: "of builds in the last 14 days were disrupted by flaky tests",
  noData: "no builds in the last 14 days",
});

/** `get_repo_coverage`. */
export const getRepoCoverage = percentageTool("coverage", {
  name: "get_repo_coverage",
  title: "Get the coverage of a repository",
  description:
    "How many of a repository's lines its tests cover, by the latest coverage report of any " +
    "branch, in percent. green 100, light_green from 90, yellow from 70, red below. Says nothing " +
    "about flaky tests.",
  percentage: "0 to 100; null: no coverage report yet",
  shown: "of lines are covered",
  noData: "no coverage report yet",
});

/** A tool that reads one of the two badges. */
function percentageTool(
  kind: BadgeKind,
  { percentage, shown, noData, ...words }: {
    name: string;
    title: string;
    description: string;
    /** Description of the number. */
    percentage: string;
    /** Text after the number. */
    shown: string;
    noData: string;
  },
) {
  return defineTool({
    ...words,
    input,
    output: v.object({
      repository: v.string(),
      percentage: v.pipe(v.nullable(v.number()), v.description(percentage)),
      color: badgeColor,
    }),
    async run({ repository }, { api, baseUrl, signal }) {
      const svg = await api.getText({
        path: ["api", "v1", PATHS[kind], "badges"],
        query: { repository },
        notFound: unknownRepository(repository),
        signal,
      });
      return { repository, ...readBadge(svg, kind, baseUrl) };
    },
    text: ({ repository, percentage, color }) =>
      percentage === null
        ? `${repository}: ${kind} unknown, ${noData}.`
        : `${repository}: ${percentage}% ${shown} (${color}).`,
  });
}
