import { noParameters } from "../lib/http/request/parameters.ts";
import { defineRoute } from "../lib/http/request/route.ts";

/** `GET /api`: a request that reaches the handler has a valid token. */
export const tokenCheck = defineRoute({
  method: "GET",
  path: "/api",
  access: "token",
  operationId: "checkToken",
  tag: "Service",
  summary: "Token check",
  description: "Validates the token.",
  parameters: { path: noParameters, query: noParameters },
  response: { status: 204, description: "The token is valid" },
  handler: () => ({ body: null }),
});
