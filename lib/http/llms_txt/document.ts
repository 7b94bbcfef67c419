/** llms-full.txt: the whole API as one Markdown text, generated from the route table. */
import { describedParameters, pathTemplate } from "../openapi/parameters.ts";
import { API_SUMMARY, API_TITLE } from "../openapi/texts.ts";
import {
  AGENT_TOOLS,
  AUTHENTICATION,
  BADGES,
  DATA,
  ERRORS,
  INTRODUCTION,
  LIMITS,
  LISTS_OF_TESTS,
  PAGINATION,
  REQUESTS,
  RESPONSES,
  SUBMISSIONS,
  TERMS,
} from "./chapters.ts";
import { endpointChapter } from "./endpoint.ts";
import { type Route, type Tag, TAGS } from "../request/route.ts";

/** Text before the endpoints of a group. */
const GROUP_TEXTS: Partial<Record<Tag, string>> = {
  Repositories: SUBMISSIONS,
  Tests: LISTS_OF_TESTS,
  Badges: BADGES,
};

/** Renders the whole reference as Markdown. */
export function llmsText(routes: readonly Route[]): string {
  return [
    `# ${API_TITLE}`,
    `> ${API_SUMMARY}`,
    INTRODUCTION,
    table(
      ["path", "response"],
      routes.map(({ path, summary }) => [`\`${pathTemplate(path)}\``, summary]),
    ),
    "## Terms",
    Object.entries(TERMS).map(([term, meaning]) => `- **${term}**: ${meaning}`).join("\n"),
    "## Authentication",
    AUTHENTICATION,
    "## Requests",
    REQUESTS,
    "## Responses",
    RESPONSES,
    "## Pagination",
    PAGINATION,
    "## Errors",
    ERRORS,
    "## Limits",
    table(["limit", "value"], [...routes.flatMap(defaultPageSize), ...LIMITS]),
    ...Object.entries(TAGS).flatMap(([tag, description]) => [
      `## ${tag}`,
      description,
      GROUP_TEXTS[tag as Tag],
      ...routes.filter((route) => route.tag === tag).map(endpointChapter),
    ]),
    "## Getting data in",
    DATA,
    "## Tools for agents",
    AGENT_TOOLS,
  ].filter((part) => part !== undefined).join("\n\n") + "\n";
}

function defaultPageSize(route: Route): string[][] {
  const limit = describedParameters(route).find(({ name }) => name === "limit");
  if (!limit) return [];
  const { default: size } = limit.jsonSchema;
  return [[`default page size of \`${pathTemplate(route.path)}\``, String(size)]];
}

function table(head: string[], rows: readonly string[][]): string {
  const lines = [head, head.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
