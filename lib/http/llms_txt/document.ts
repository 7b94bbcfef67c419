/** llms-full.txt: the whole API as one Markdown text, generated from the route table. */
import { describedParameters, pathTemplate } from "../openapi/parameters.ts";
import { API_SUMMARY, API_TITLE, GENERAL_RULES } from "../openapi/texts.ts";
import { GROUP_TEXTS, INTRODUCTION, LIMITS, OTHER_INTERFACES } from "./chapters.ts";
import { endpointChapter } from "./endpoint.ts";
import { type Route, type Tag, TAGS } from "../request/route.ts";

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
    GENERAL_RULES,
    "## Limits",
    table(["limit", "value"], [...routes.flatMap(defaultPageSize), ...LIMITS]),
    ...Object.entries(TAGS).flatMap(([tag, description]) => [
      `## ${tag}`,
      description,
      GROUP_TEXTS[tag as Tag],
      ...routes.filter((route) => route.tag === tag).map(endpointChapter),
    ]),
    OTHER_INTERFACES,
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
