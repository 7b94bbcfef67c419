/**
 * The reference in prose: one text that says everything, for language models and for people who
 * like to search. What the route table knows is taken from there.
 */
import { describedParameters } from "../openapi/parameters.ts";
import { templateOf } from "../openapi/document.ts";
import { API_SUMMARY, API_TITLE } from "../openapi/texts.ts";
import {
  ANSWERS,
  AUTHENTICATION,
  ERRORS,
  INTRODUCTION,
  LIMITS,
  ORDER_OF_CHECKS,
  PAGING,
  REQUESTS,
  WORDS,
} from "./chapters.ts";
import { endpointChapter } from "./endpoint.ts";
import { AGENT_TOOLS, BADGES, DATA, LISTS_OF_TESTS, SUBMISSIONS } from "./background.ts";
import { type Route, type Tag, TAGS } from "../request/route.ts";

/** What is told of a group before its endpoints. */
const GROUP_TEXTS: Partial<Record<Tag, string>> = {
  Repositories: SUBMISSIONS,
  Tests: LISTS_OF_TESTS,
  Badges: BADGES,
};

/** Makes the whole reference, as Markdown. */
export function proseReference(routes: readonly Route[]): string {
  return [
    `# ${API_TITLE}`,
    `> ${API_SUMMARY}`,
    INTRODUCTION,
    contents(routes),
    "## Words",
    Object.entries(WORDS).map(([word, meaning]) => `- **${word}**: ${meaning}`).join("\n"),
    "## Authentication",
    AUTHENTICATION,
    "## Requests",
    REQUESTS,
    "## Answers",
    ANSWERS,
    "## Pages",
    PAGING,
    "## Errors",
    table(["status", "body", "when"], ERRORS.map(({ status, body, when }) => [status, body, when])),
    ORDER_OF_CHECKS,
    "## Limits",
    table(["limit", "value"], [
      ...routes.flatMap(defaultPageSize),
      ...LIMITS.map(({ limit, value }) => [limit, value]),
    ]),
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

function contents(routes: readonly Route[]): string {
  return table(
    ["path", "answers"],
    routes.map(({ path, summary }) => [`\`${templateOf(path)}\``, summary]),
  );
}

function defaultPageSize(route: Route): string[][] {
  const limit = describedParameters(route).find(({ name }) => name === "limit");
  if (!limit) return [];
  return [[
    `items on a page of \`${templateOf(route.path)}\` without \`limit\``,
    String(limit.jsonSchema.default),
  ]];
}

function table(head: string[], rows: readonly (string | number)[][]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}
