/** One endpoint as Markdown: description, parameters, response and an example. */
import { type DescribedParameter, describedParameters } from "../openapi/parameters.ts";
import { templateOf } from "../openapi/document.ts";
import { fieldLines } from "./fields.ts";
import type { Access, Route } from "../request/route.ts";

const ACCESS: Record<Access, string> = {
  public: "No token required.",
  token: "Requires a token.",
  "token or basic": "Requires a token, also accepted as the password of HTTP Basic.",
};

/** Renders a route as a Markdown chapter. */
export function endpointChapter(route: Route): string {
  const { summary, description, access, response, resource } = route;
  const parameters = describedParameters(route);
  const parts = [
    `### ${summary}: \`GET ${templateOf(route.path)}\``,
    description,
    [ACCESS[access], resource && "404 if the resource does not exist."]
      .filter(Boolean).join(" "),
  ];
  if (parameters.length > 0) {
    parts.push("Parameters:", parameters.map(parameterLine).join("\n"));
  }
  const { status, mediaType, schema, example } = response;
  parts.push(
    mediaType
      ? `Response: ${status}, \`${mediaType}\`. ${response.description}.`
      : `Response: ${status}, no body. ${response.description}.`,
  );
  if (schema) parts.push(fieldLines(schema).join("\n"));
  parts.push("Example:", fenced("sh", exampleRequest(route)));
  if (example !== undefined) {
    const isText = typeof example === "string";
    parts.push(
      fenced(isText ? "" : "json", isText ? example.trim() : JSON.stringify(example, null, 2)),
    );
  }
  return parts.join("\n\n");
}

function parameterLine(parameter: DescribedParameter): string {
  const { name, place, required, description, jsonSchema, example } = parameter;
  const facts = [
    place,
    typeOf(jsonSchema),
    required ? "required" : "optional",
    jsonSchema.default !== undefined && `default \`${jsonSchema.default}\``,
  ].filter(Boolean).join(", ");
  return `- \`${name}\` (${facts}): ${description}.` + (example ? ` Example: \`${example}\`.` : "");
}

function typeOf({ type, enum: values }: Record<string, unknown>): string {
  if (Array.isArray(values)) return values.map((value) => `\`${value}\``).join(" or ");
  return type === "array" ? "comma-separated list" : String(type);
}

function exampleRequest(route: Route): string {
  const query = new URLSearchParams();
  let path = templateOf(route.path);
  for (const { name, place, required, example = "" } of describedParameters(route)) {
    if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(example));
    else if (required) query.set(name, example);
  }
  for (const [name, value] of Object.entries(route.response.exampleQuery ?? {})) {
    query.set(name, value);
  }
  // Slashes and commas are legal in a query and easier to read unescaped.
  const search = String(query).replaceAll("%2F", "/").replaceAll("%2C", ",");
  const authorization = route.access === "public" ? "" : '-H "Authorization: Bearer $TOKEN" ';
  const output = route.response.status === 204 ? '-o /dev/null -w "%{http_code}\\n" ' : "";
  return `curl -sS ${output}${authorization}"$BASE_URL${path}${search && `?${search}`}"`;
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}
