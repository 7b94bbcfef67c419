/**
 * llms-full.txt: the whole API as one Markdown text, generated from the route table, with chapters of
 * its own before and between the endpoints.
 */
import {
  API_SUMMARY,
  API_TITLE,
  type DescribedParameter,
  describedParameters,
  exampleRequest,
  exampleResponse,
  fieldLines,
  GENERAL_RULES,
  parameterType,
  pathTemplate,
} from "../openapi/description.ts";
import { type Access, type Route, type Tag, TAGS } from "../request/route.ts";
import badges from "./badges.md" with { type: "text" };
import introduction from "./introduction.md" with { type: "text" };
import otherInterfaces from "./other_interfaces.md" with { type: "text" };
import repositories from "./repositories.md" with { type: "text" };
import tests from "./tests.md" with { type: "text" };

/** Text before the endpoints of a group. */
const GROUP_TEXTS: Partial<Record<Tag, string>> = {
  Repositories: repositories,
  Tests: tests,
  Badges: badges,
};

const ACCESS: Record<Access, string> = {
  public: "No token required.",
  // As nearly all do: the chapter on authentication says so.
  token: "",
  "token or basic": "Requires a token, also accepted as the password of HTTP Basic.",
  "token or badge token": "Requires a token, or a badge token as the query parameter `token`.",
};

/** Parameters that at least so many endpoints have with the same description are described once. */
const COMMON_ENDPOINTS = 3;

/** Creates the text. */
export function llmsText(routes: readonly Route[]): string {
  const overview = routes.map(({ path, summary }) => `| \`${pathTemplate(path)}\` | ${summary} |`);
  const common = commonLines(routes);
  return [
    `# ${API_TITLE}`,
    `> ${API_SUMMARY}`,
    introduction.trimEnd(),
    ["| path | response |", "| --- | --- |", ...overview].join("\n"),
    GENERAL_RULES,
    "## Common parameters",
    "Many endpoints have these parameters; their chapters only name them.",
    [...common].join("\n"),
    ...Object.entries(TAGS).flatMap(([tag, description]) => [
      `## ${tag}`,
      description,
      GROUP_TEXTS[tag as Tag]?.trimEnd(),
      ...routes.filter((route) => route.tag === tag).map((route) => endpointChapter(route, common)),
    ]),
    otherInterfaces.trimEnd(),
  ].filter((part) => part !== undefined).join("\n\n") + "\n";
}

/** The lines of common parameters, by name. */
function commonLines(routes: readonly Route[]): ReadonlySet<string> {
  const lines = routes.flatMap((route) => describedParameters(route).map(parameterLine));
  const byLine = Map.groupBy(lines, (line) => line);
  const common = [...byLine].filter(([, { length }]) => length >= COMMON_ENDPOINTS);
  return new Set(common.map(([line]) => line).sort());
}

function endpointChapter(route: Route, common: ReadonlySet<string>): string {
  const { summary, description, access, path } = route;
  const [own, shared] = [false, true].map((isCommon) =>
    describedParameters(route).filter((one) => common.has(parameterLine(one)) === isCommon)
  ) as [DescribedParameter[], DescribedParameter[]];
  const names = shared.map(({ name }) => `\`${name}\``).join(", ");
  return [
    `### ${summary}: \`GET ${pathTemplate(path)}\``,
    description,
    ...(ACCESS[access] ? [ACCESS[access]] : []),
    ...(own.length > 0 ? ["Parameters:", own.map(parameterLine).join("\n")] : []),
    ...(shared.length > 0 ? [`Common parameters: ${names}.`] : []),
    responseText(route),
  ].join("\n\n");
}

function parameterLine(parameter: DescribedParameter): string {
  const { name, place, required, description, jsonSchema, example } = parameter;
  const facts = [
    place,
    parameterType(parameter),
    required ? "required" : "optional",
    jsonSchema.default !== undefined && `default \`${jsonSchema.default}\``,
  ].filter(Boolean).join(", ");
  return `- \`${name}\` (${facts}): ${description}.` + (example ? ` Example: \`${example}\`.` : "");
}

/** The response of a route with its fields and an example, as Markdown. */
export function responseText(route: Route): string {
  const { status, mediaType, schema } = route.response;
  const example = exampleResponse(route);
  return [
    `Response: ${status}, ${mediaType ? `\`${mediaType}\`` : "no body"}.`,
    ...(schema ? [fieldLines(schema).join("\n")] : []),
    "Example:",
    fenced("sh", exampleRequest(route)),
    ...(example === undefined ? [] : [fenced(schema ? "json" : "", example)]),
  ].join("\n\n");
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}
