/** One endpoint as Markdown: description, parameters, response and an example. */
import { fieldsOf } from "../openapi/fields.ts";
import {
  type DescribedParameter,
  describedParameters,
  exampleRequest,
  exampleResponse,
  parameterType,
  pathTemplate,
} from "../openapi/parameters.ts";
import type { Access, Route } from "../request/route.ts";

const ACCESS: Record<Access, string> = {
  public: "No token required.",
  token: "Requires a token.",
  "token or basic": "Requires a token, also accepted as the password of HTTP Basic.",
  "token or badge token": "Requires a token, or a badge token as the query parameter `token`.",
};

/** Renders a route as a Markdown chapter. */
export function endpointChapter(route: Route): string {
  const { summary, description, access, response, resource } = route;
  const { status, mediaType, schema } = response;
  const parameters = describedParameters(route);
  const example = exampleResponse(route);
  return [
    `### ${summary}: \`GET ${pathTemplate(route.path)}\``,
    description,
    ACCESS[access] + (resource ? " 404 if the resource does not exist." : ""),
    ...(parameters.length > 0 ? ["Parameters:", parameters.map(parameterLine).join("\n")] : []),
    `Response: ${status}, ${mediaType ? `\`${mediaType}\`` : "no body"}. ${response.description}.`,
    ...(schema ? [fieldLines(schema)] : []),
    "Example:",
    fenced("sh", exampleRequest(route)),
    ...(example === undefined ? [] : [fenced(schema ? "json" : "", example)]),
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

function fieldLines(schema: Parameters<typeof fieldsOf>[0]): string {
  return fieldsOf(schema).map(({ path, type, isRequired, description }) =>
    `- \`${path}\` (${type}${isRequired ? "" : ", with `include`"})` +
    (description ? `: ${description}` : "")
  ).join("\n");
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}
