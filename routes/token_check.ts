import { noParameters } from "../lib/http/request/parameters.ts";
import { defineRoute } from "../lib/http/request/route.ts";

/** `GET /api`: whoever gets here has a valid token. */
export const tokenCheck = defineRoute({
  method: "GET",
  path: "/api",
  access: "token",
  operationId: "checkToken",
  tag: "Service",
  summary: "Token check",
  description: "Says whether the token is valid, and nothing else.",
  parameters: { path: noParameters, query: noParameters },
  response: { status: 204, description: "The token is valid" },
  handler: () => ({ body: null }),
});
