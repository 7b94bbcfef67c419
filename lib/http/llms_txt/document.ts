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
  token: "Requires a token.",
  "token or basic": "Requires a token, also accepted as the password of HTTP Basic.",
  "token or badge token": "Requires a token, or a badge token as the query parameter `token`.",
};

/** Creates the text. */
export function llmsText(routes: readonly Route[]): string {
  const overview = routes.map(({ path, summary }) => `| \`${pathTemplate(path)}\` | ${summary} |`);
  return [
    `# ${API_TITLE}`,
    `> ${API_SUMMARY}`,
    introduction.trimEnd(),
    ["| path | response |", "| --- | --- |", ...overview].join("\n"),
    GENERAL_RULES,
    ...Object.entries(TAGS).flatMap(([tag, description]) => [
      `## ${tag}`,
      description,
      GROUP_TEXTS[tag as Tag]?.trimEnd(),
      ...routes.filter((route) => route.tag === tag).map(endpointChapter),
    ]),
    otherInterfaces.trimEnd(),
  ].filter((part) => part !== undefined).join("\n\n") + "\n";
}

function endpointChapter(route: Route): string {
  const { summary, description, access, resource, path } = route;
  const parameters = describedParameters(route);
  return [
    `### ${summary}: \`GET ${pathTemplate(path)}\``,
    description,
    ACCESS[access] + (resource ? " 404 if the resource does not exist." : ""),
    ...(parameters.length > 0 ? ["Parameters:", parameters.map(parameterLine).join("\n")] : []),
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
