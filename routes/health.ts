import * as v from "valibot";
import { JSON_MEDIA_TYPE, jsonBody } from "../lib/http/request/json.ts";
import { defineRoute } from "../lib/http/request/route.ts";

/** `GET /health`: for load balancers, which have no token. It does not query the database. */
export const health = defineRoute({
  path: "/health",
  access: "public",
  operationId: "checkHealth",
  tag: "Service",
  summary: "Liveness probe",
  description: "Responds while the process runs. Needs no token and reads no data.",
  response: {
    status: 200,
    description: "The process is running",
    mediaType: JSON_MEDIA_TYPE,
    schema: v.pipe(v.strictObject({ status: v.literal("ok") }), v.title("Health")),
    example: { status: "ok" },
  },
  handler: () => ({ body: jsonBody({ status: "ok" }) }),
});
