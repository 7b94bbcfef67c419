import { defineRoute } from "../lib/http/request/route.ts";

/** `GET /api`: a request that reaches the handler has a valid token. */
export const tokenCheck = defineRoute({
  path: "/api",
  operationId: "checkToken",
  tag: "Service",
  summary: "Token check",
  description: "Validates the token.",
  response: { status: 204, description: "The token is valid" },
  handler: () => ({ body: "" }),
});
