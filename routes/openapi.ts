import { openapiDocument, openapiYaml } from "../lib/http/openapi/document.ts";
import { noParameters } from "../lib/http/request/parameters.ts";
import { defineRoute, type Route } from "../lib/http/request/route.ts";

/**
 * `GET /openapi.yaml`: the contract for programs.
 *
 * @param routes the table that it describes, which it is a row of itself
 */
export function openapi(routes: () => readonly Route[]): Route {
  let yaml: string | undefined;
  return defineRoute({
    method: "GET",
    path: "/openapi.yaml",
    access: "token or basic",
    operationId: "getOpenapi",
    tag: "Service",
    summary: "Machine-readable contract",
    description: "The contract of this API: OpenAPI 3.1, as YAML.",
    parameters: { path: noParameters, query: noParameters },
    response: {
      status: 200,
      description: "The OpenAPI document",
      mediaType: "application/yaml; charset=utf-8",
      example: "openapi: 3.1.1\ninfo:\n  title: Test Analytics Platform\n",
    },
    // Made once, when it is first asked for: few processes ever are.
    handler: () => ({ body: yaml ??= openapiYaml(openapiDocument(routes())) }),
  });
}
