import * as v from "valibot";
import { JSON_MEDIA_TYPE, jsonBody } from "../lib/http/request/json.ts";
import { noParameters } from "../lib/http/request/parameters.ts";
import { defineRoute } from "../lib/http/request/route.ts";

/** `GET /health`: for load balancers, which have no token. It does not ask the database. */
export const health = defineRoute({
  method: "GET",
  path: "/health",
  access: "public",
  operationId: "checkHealth",
  tag: "Service",
  summary: "Liveness probe",
  description: "Says that the process answers. Needs no token and looks at no data.",
  parameters: { path: noParameters, query: noParameters },
  response: {
    status: 200,
    description: "The process answers",
    mediaType: JSON_MEDIA_TYPE,
    schema: v.pipe(v.strictObject({ status: v.literal("ok") }), v.title("Health")),
    example: { status: "ok" },
  },
  handler: () => ({ body: jsonBody({ status: "ok" }) }),
});
