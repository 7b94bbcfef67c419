/**
 * Writes the OpenAPI document to `docs/openapi.yaml`, so that changes show in a diff.
 *
 * `deno run -A tools/openapi.ts`
 */
import { openapiDocument, openapiYaml } from "../lib/http/openapi/document.ts";
import { routes } from "../routes/mod.ts";

/** The committed document. */
export const OPENAPI_FILE = new URL("../docs/openapi.yaml", import.meta.url);

if (import.meta.main) {
  await Deno.writeTextFile(OPENAPI_FILE, openapiYaml(openapiDocument(routes)));
}
