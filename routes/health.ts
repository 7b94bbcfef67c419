import * as v from "valibot";
import { defineJsonRoute } from "../lib/http/request/route.ts";

/** `GET /health`: for load balancers, which have no token. It does not query the database. */
export const health = defineJsonRoute({
  path: "/health",
  access: "public",
  operationId: "checkHealth",
  tag: "Service",
  summary: "Liveness probe",
  description: "Responds while the process runs. Needs no token and reads no data.",
  response: {
    description: "The process is running",
    schema: v.pipe(v.strictObject({ status: v.literal("ok") }), v.title("Health")),
    example: { status: "ok" },
  },
  handler: () => ({ status: "ok" as const }),
});
