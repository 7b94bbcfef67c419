// Tests: tests/routes/contract_test.ts
/** The routes about the service itself: whether it answers, whether a token is valid, and its API. */
import * as v from "valibot";
import { defineJsonRoute, defineRoute, type Route } from "../lib/http/request/route.ts";
import * as schemas from "./schemas.ts";

export const health = defineJsonRoute({
  path: "/health",
  access: "public",
  operationId: "checkHealth",
  tag: "Service",
  summary: "Liveness probe",
  description: "Responds while the process runs. Needs no token and reads no data.",
  schema: schemas.object("Health", { status: v.literal("ok") }),
  handler: () => ({ status: "ok" as const }),
});

/** A request that reaches the handler has a valid token. */
export const tokenCheck = defineRoute({
  path: "/api",
  operationId: "checkToken",
  tag: "Service",
  summary: "Token check",
  description: "Validates the token.",
  response: { status: 204 },
  handler: () => ({ body: "" }),
});

/** Loaded with the first request. */
const texts = () => import("../lib/http/documentation/texts.ts");

/** The documentation of the API, as files that `deno task fix` writes. */
export const documentation: readonly Route[] = [
  defineRoute({
    path: "/openapi.yaml",
    access: "token or basic",
    operationId: "getOpenapi",
    tag: "Service",
    summary: "OpenAPI document",
    description: "This API as an OpenAPI 3.1 document, in YAML.",
    response: { status: 200, mediaType: "application/yaml; charset=utf-8" },
    handler: async () => ({ body: (await texts()).API.openapi }),
  }),
  defineRoute({
    path: "/docs",
    access: "token or basic",
    operationId: "getDocs",
    tag: "Service",
    summary: "Documentation page",
    description: "The reference as a page for browsers, with a form for each endpoint. A browser " +
      "asks for a user name (any) and a password (the token).",
    response: { status: 200, mediaType: "text/html; charset=utf-8" },
    handler: async () => (await import("../lib/http/documentation/docs_page.ts")).docsPage(),
  }),
  defineRoute({
    path: "/llms-full.txt",
    access: "token or basic",
    operationId: "getLlmsFull",
    tag: "Service",
    summary: "Prose reference",
    description: "The whole reference as one Markdown text: terms, every endpoint with an " +
      "example, and how percentages are calculated.",
    response: { status: 200, mediaType: "text/plain; charset=utf-8" },
    handler: async () => ({ body: (await texts()).API.reference }),
  }),
];
