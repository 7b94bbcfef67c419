import { loadBuildCounts, loadLatestCoverage } from "../db/read/badges.ts";
import { coverageBadge, flakinessBadge } from "../lib/badge/badge.ts";
import * as parameters from "../lib/http/request/parameters.ts";
import { defineRoute, type ResponseDescription } from "../lib/http/request/route.ts";

const SVG_RESPONSE = {
  status: 200,
  mediaType: "image/svg+xml; charset=utf-8",
  // Not private: image proxies store badges, and revalidate them on each request.
  cacheControl: "no-cache",
} satisfies ResponseDescription;

export const flakyBadge = defineRoute({
  path: "/api/v1/flaky/badges",
  access: "token or badge token",
  operationId: "getFlakinessBadge",
  tag: "Badges",
  summary: "Badge of flakiness",
  description:
    "An SVG badge with the percentage of builds of the last 14 days that have at least one " +
    "disruption. Submissions with the same build URL are one build. 0 % is green, up to 20 % " +
    "yellow, above red, and unknown (grey) without any build.",
  query: { repository: parameters.requiredRepository },
  response: {
    ...SVG_RESPONSE,
    example: flakinessBadge({ disruptedBuildCount: 3, buildCount: 24 }).svg,
  },
  resource: "repository in query",
  async handler({ load }, { windowSeconds }) {
    const counts = await load(loadBuildCounts, {});
    return { body: flakinessBadge(counts, windowSeconds).svg };
  },
});

export const coverageBadgeRoute = defineRoute({
  path: "/api/v1/coverage/badges",
  access: "token or badge token",
  operationId: "getCoverageBadge",
  tag: "Badges",
  summary: "Badge of coverage",
  description:
    "An SVG badge with the percentage of covered lines in the latest coverage report of any " +
    "branch. 100 % is green, from 90 % light green, from 70 % yellow, below red, and unknown " +
    "(grey) without any report.",
  query: {
    repository: parameters.requiredRepository,
    branch_or_pr: parameters.text("Reserved, without effect", {
      jsonSchema: { type: "string" },
      example: "main",
    }),
  },
  response: {
    ...SVG_RESPONSE,
    example: coverageBadge({ coveredLineCount: 1_842, lineCount: 1_974 }).svg,
  },
  resource: "repository in query",
  async handler({ load }) {
    const coverage = await load(loadLatestCoverage, {});
    return { body: coverageBadge(coverage).svg };
  },
});
