/**
 * `docs/reference/api.md`, served as llms-full.txt: the whole API as one Markdown text, generated from the
 * route table, with chapters of its own before and between the endpoints.
 */
import {
  API_SUMMARY,
  API_TITLE,
  type DescribedField,
  describedFields,
  type DescribedParameter,
  describedParameters,
  exampleRequest,
  exampleResponse,
  GENERAL_RULES,
  parameterType,
  pathTemplate,
  TAGS,
} from "./description.ts";
import type { Access, Route, Tag } from "../../lib/http/request/route.ts";
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

/** Minimum number of endpoints that share a field before it is described once. */
const COMMON_ENDPOINTS = 4;

/** The lines of parameters and fields that are described once. */
interface Common {
  parameters: ReadonlySet<string>;
  fields: ReadonlySet<string>;
}

/** Creates the text. */
export function llmsText(routes: readonly Route[]): string {
  const overview = routes.map(({ path, summary }) => `| \`${pathTemplate(path)}\` | ${summary} |`);
  const common = {
    parameters: commonLines(routes, (route) => describedParameters(route).map(parameterLine)),
    fields: commonFields(routes),
  };
  return [
    `# ${API_TITLE}`,
    `> ${API_SUMMARY}`,
    introduction.trimEnd(),
    ["| path | response |", "| --- | --- |", ...overview].join("\n"),
    GENERAL_RULES,
    "## Common parameters",
    "Many endpoints have these parameters; their chapters only name them.",
    [...common.parameters].join("\n"),
    commonFieldsText(common.fields),
    ...Object.entries(TAGS).flatMap(([tag, description]) => [
      `## ${tag}`,
      description,
      GROUP_TEXTS[tag as Tag]?.trimEnd(),
      ...routes.filter((route) => route.tag === tag).map((route) => endpointChapter(route, common)),
    ]),
    otherInterfaces.trimEnd(),
  ].filter((part) => part !== undefined).join("\n\n") + "\n";
}

/** The lines of fields that several responses have, by name. */
export function commonFields(routes: readonly Route[]): ReadonlySet<string> {
  return commonLines(routes, (route) => fieldsOf(route).filter(isDescribed).map(fieldLine));
}

/** The chapter of common fields. */
export function commonFieldsText(fields: ReadonlySet<string>): string {
  return [
    "## Common fields",
    "Many responses have these fields; their chapters only name them.",
    [...fields].join("\n"),
  ].join("\n\n");
}

/** The lines that several endpoints have, by name. */
function commonLines(
  routes: readonly Route[],
  linesOf: (route: Route) => string[],
): ReadonlySet<string> {
  const lines = routes.flatMap((route) => [...new Set(linesOf(route))]);
  const common = [...Map.groupBy(lines, (line) => line)]
    .filter(([, { length }]) => length >= COMMON_ENDPOINTS).map(([line]) => line);
  // A name that means one of two things is described where it is.
  const byName = Map.groupBy(common, (line) => line.split(" (")[0]);
  return new Set(common.filter((line) => byName.get(line.split(" (")[0])!.length === 1).sort());
}

function endpointChapter(route: Route, common: Common): string {
  const { summary, description, access, path } = route;
  const [shared, own] = partition(
    describedParameters(route),
    (one) => common.parameters.has(parameterLine(one)),
  );
  return [
    `### ${summary}: \`GET ${pathTemplate(path)}\``,
    description,
    ...(ACCESS[access] ? [ACCESS[access]] : []),
    ...(own.length > 0 ? ["Parameters:", own.map(parameterLine).join("\n")] : []),
    ...(shared.length > 0
      ? [`Common parameters: ${shared.map(({ name }) => code(name)).join(", ")}.`]
      : []),
    responseText(route, common.fields),
  ].join("\n\n");
}

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
}

function code(text: string): string {
  return `\`${text}\``;
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

function fieldsOf({ response: { schema } }: Route): DescribedField[] {
  return schema ? describedFields(schema) : [];
}

function isDescribed({ meaning }: DescribedField): boolean {
  return meaning.includes("): ");
}

/** The line of a field, by its name alone. */
function fieldLine({ name, meaning }: DescribedField): string {
  return `- ${code(name)} ${meaning}`;
}

/**
 * The response of a route with its fields and an example, as Markdown; fields whose lines are common are
 * only named.
 */
export function responseText(route: Route, common: ReadonlySet<string> = new Set()): string {
  const { status, mediaType, schema } = route.response;
  const example = exampleResponse(route);
  const [shared, own] = partition(fieldsOf(route), (field) => common.has(fieldLine(field)));
  return [
    `Response: ${status}, ${mediaType ? code(mediaType) : "no body"}.`,
    ...(own.length > 0
      ? [own.map(({ path, meaning }) => `- ${code(path)} ${meaning}`).join("\n")]
      : []),
    ...(shared.length > 0
      ? [`Common fields: ${shared.map(({ path }) => code(path)).join(", ")}.`]
      : []),
    "Example:",
    fenced("sh", exampleRequest(route)),
    ...(example === undefined ? [] : [fenced(schema ? "json" : "", example)]),
  ].join("\n\n");
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}
