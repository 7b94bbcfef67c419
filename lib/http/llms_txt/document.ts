/**
 * llms-full.txt: the whole API as one Markdown text, generated from the route table, with chapters of
 * its own before and between the endpoints.
 */
import { MAX_OFFSET } from "../../base/cursor.ts";
import { MAX_BRANCH_CHARACTERS, MAX_BRANCH_PATTERNS } from "../../query/branches.ts";
import { MAX_QUERY_CHARACTERS } from "../../query/parse.ts";
import { describedParameters, pathTemplate } from "../openapi/parameters.ts";
import { API_SUMMARY, API_TITLE, GENERAL_RULES } from "../openapi/texts.ts";
import { MAX_LIMIT } from "../request/parameters.ts";
import { type Route, type Tag, TAGS } from "../request/route.ts";
import badges from "./badges.md" with { type: "text" };
import { endpointChapter } from "./endpoint.ts";
import introduction from "./introduction.md" with { type: "text" };
import otherInterfaces from "./other_interfaces.md" with { type: "text" };
import repositories from "./repositories.md" with { type: "text" };
import tests from "./tests.md" with { type: "text" };

/** Rows of the table of limits that belong to no single parameter. */
const LIMITS: readonly string[][] = [
  ["largest page; a larger `limit` is reduced to it", String(MAX_LIMIT)],
  ["window", "14 days"],
  ["events of one test", "the latest 10"],
  ["length of `q`", `${MAX_QUERY_CHARACTERS} characters`],
  ["length of `branch`", `${MAX_BRANCH_CHARACTERS} characters, ${MAX_BRANCH_PATTERNS} patterns`],
  ["length of a `message`", "1,000 characters"],
  ["offset in a cursor", String(MAX_OFFSET)],
  ["request rate", "unlimited"],
];

/** Text before the endpoints of a group. */
const GROUP_TEXTS: Partial<Record<Tag, string>> = {
  Repositories: repositories,
  Tests: tests,
  Badges: badges,
};

/** Renders the whole reference as Markdown. */
export function llmsText(routes: readonly Route[]): string {
  return [
    `# ${API_TITLE}`,
    `> ${API_SUMMARY}`,
    introduction.trimEnd(),
    table(
      ["path", "response"],
      routes.map(({ path, summary }) => [`\`${pathTemplate(path)}\``, summary]),
    ),
    GENERAL_RULES,
    "## Limits",
    table(["limit", "value"], [...routes.flatMap(defaultPageSize), ...LIMITS]),
    ...Object.entries(TAGS).flatMap(([tag, description]) => [
      `## ${tag}`,
      description,
      GROUP_TEXTS[tag as Tag]?.trimEnd(),
      ...routes.filter((route) => route.tag === tag).map(endpointChapter),
    ]),
    otherInterfaces.trimEnd(),
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
