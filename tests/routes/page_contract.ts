/** What holds for every page, which the OpenAPI document does not describe. */
import { gunzipSync } from "node:zlib";
import { describedParameters, pathTemplate } from "../../tools/documentation/description.ts";
import { pages } from "../../routes/mod.ts";
import type { Operation, ParameterObject, SeenResponse, SentRequest } from "./contract.ts";
import { assertHarmless, parseHtml } from "./html.ts";

/** The pages as operations, for random requests. */
export const PAGE_OPERATIONS: readonly Operation[] = pages.map((page) => ({
  path: pathTemplate(page.path),
  operationId: page.path,
  parameters: describedParameters(page).map(({ name, place, required, jsonSchema }) => ({
    name,
    in: place,
    required: required ?? false,
    schema: jsonSchema as ParameterObject["schema"],
  })),
  responses: {},
}));

const STATUSES = [200, 302, 304, 400, 401, 404, 405];

/** What is wrong with the response of a page. */
export function pageProblems({ method }: SentRequest, response: SeenResponse): string[] {
  const { status, headers, body } = response;
  const problems: string[] = [];
  const expect = (name: string, pattern: RegExp) => {
    const value = headers.get(name) ?? "";
    if (!pattern.test(value)) problems.push(`page with ${name}: ${value}`);
  };
  if (!STATUSES.includes(status)) problems.push(`page with status ${status}`);
  expect("cache-control", /^private, no-cache$/);
  expect("x-request-id", /./);
  if (status === 302) expect("location", /^(\.\.\/)*[a-z-]+(\/[^/?]+)*(\?[^#/]*)?$/);
  if (status === 401) expect("www-authenticate", /^Basic realm="/);
  if (status === 405) expect("allow", /^GET, HEAD$/);
  if (status === 200 || status === 304) expect("etag", /^(W\/)?"[\w-]{22}"$/);
  if (status === 302 || status === 304) return problems;
  expect("content-type", /^text\/html; charset=utf-8$/);
  expect(
    "content-security-policy",
    new RegExp(
      "^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; frame-ancestors 'none'; " +
        "img-src data:; form-action 'self'$",
    ),
  );
  if (method === "HEAD") return body.length > 0 ? [...problems, "page with a body"] : problems;
  expect("content-length", new RegExp(`^${body.length}$`));
  const plain = headers.get("content-encoding") === "gzip" ? gunzipSync(body) : body;
  assertHarmless(parseHtml(new TextDecoder("utf-8", { fatal: true }).decode(plain)));
  return problems;
}
