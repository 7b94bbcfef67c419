/**
 * The page that shows the contract to people: one HTML document with everything in it, so that it
 * works behind any path prefix and loads nothing from anywhere.
 */
import { createHash } from "node:crypto";
import { DOCS_PAGE_SCRIPT } from "./script.ts";
import { DOCS_PAGE_STYLE } from "./style.ts";
import type { Json, JsonObject } from "../openapi/schemas.ts";

/** A page, and the headers that it needs. */
export interface DocsPage {
  html: string;
  headers: Record<string, string>;
}

// The rising bar of a run, drawn over: what flickers is what is looked for.
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" width="32" height="32">` +
  `<rect width="32" height="32" rx="7" fill="#0f766e"/>` +
  `<path d="M5 17h5l3-8 5 15 4-11 2 4h3" fill="none" stroke="#fff" stroke-width="2.6" ` +
  `stroke-linecap="round" stroke-linejoin="round"/></svg>`;

const HOW_TO_TRY = "Every request can be tried on this page: enter your token under " +
  "*Authentication*, fill in an endpoint's parameters, and press *Execute*.";

/**
 * Makes the page.
 *
 * @param contract the OpenAPI document
 * @param title name of the product
 * @param renderer script of the component that draws the contract
 * @throws {Error} when the renderer cannot stand inside an HTML document
 */
export function docsPage(
  { contract, title, renderer }: { contract: JsonObject; title: string; renderer: string },
): DocsPage {
  // Either would end the script, or make the browser look past its end.
  const [wrong] = /<\/script|<script/i.exec(renderer) ?? [];
  if (wrong) throw new Error(`the renderer contains "${wrong}": expected a script that does not`);
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}: API</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(LOGO)}">
<style>${DOCS_PAGE_STYLE}</style>
</head>
<body>
<header>
${LOGO}
<span class="product">${title}</span>
<nav aria-label="Other forms of this document">
<a href="openapi.yaml">OpenAPI</a>
<a href="llms-full.txt">Plain text</a>
</nav>
</header>
<openapi-explorer hide-server-selection hide-search
 schema-expand-level="2" response-area-height="420px"></openapi-explorer>
<noscript>This page needs JavaScript. The same is told by <a href="llms-full.txt">plain text</a>.
</noscript>
<script type="application/json" id="contract">${inlineJson(forPeople(contract))}</script>
<script>${renderer}</script>
<script>${DOCS_PAGE_SCRIPT}</script>
</body>
</html>
`;
  return { html, headers: headersOf([renderer, DOCS_PAGE_SCRIPT]) };
}

/**
 * The contract with one way to authenticate, because the others take the same token and a person
 * would wonder which of three fields to fill, and without what nobody reads on a page: the same
 * headers with every answer, shared responses as a list of their own, patterns.
 */
function forPeople(contract: JsonObject): JsonObject {
  const { info, paths, components } = contract as Record<string, JsonObject>;
  const { license: _, ...about } = info ?? {};
  const { securitySchemes, responses: shared, schemas } = components as Record<string, JsonObject>;
  const bearer = { ...securitySchemes?.bearer as JsonObject, description: "Your API token" };
  const security = [{ bearer: [] }];
  return {
    ...contract,
    info: { ...about, title: "Overview", description: `${HOW_TO_TRY}\n\n${about.description}` },
    security,
    paths: mapValues(paths ?? {}, (path) => mapValues(path, operationForPeople)),
    components: { schemas: withoutPatterns(schemas ?? {}), securitySchemes: { bearer } },
  };

  function operationForPeople(operation: JsonObject): JsonObject {
    const isPublic = Array.isArray(operation.security) && operation.security.length === 0;
    return {
      ...operation,
      responses: mapValues(operation.responses as JsonObject, responseForPeople),
      ...(!isPublic && { security }),
    };
  }

  function responseForPeople(response: JsonObject): JsonObject {
    const name = String(response.$ref ?? "").replace("#/components/responses/", "");
    const { headers: _, ...rest } = shared?.[name] as JsonObject | undefined ?? response;
    return rest;
  }
}

function withoutPatterns(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutPatterns);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([key, part]) => key !== "pattern" || typeof part !== "string")
      .map(([key, part]): [string, Json] => [key, withoutPatterns(part)]),
  );
}

function mapValues(object: JsonObject, change: (value: JsonObject) => JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [key, change(value as JsonObject)]),
  );
}

function inlineJson(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

/**
 * Only these very scripts run, and they reach only this service. Styles cannot be named one by one,
 * because the renderer writes some that depend on the width of the longest name it shows.
 */
function headersOf(scripts: string[]): Record<string, string> {
  const hashes = scripts.map((script) =>
    `'sha256-${createHash("sha256").update(script).digest("base64")}'`
  );
  return {
    "content-security-policy": [
      "default-src 'none'",
      `script-src ${hashes.join(" ")}`,
      "style-src 'unsafe-inline'",
      "connect-src 'self'",
      // A badge that was tried is shown from a blob, the icon from a data address.
      "img-src blob: data:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
  };
}
