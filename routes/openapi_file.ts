/**
 * The OpenAPI document as a committed file, so that changes show in a diff.
 *
 * `deno run -A routes/openapi_file.ts` updates `docs/openapi.yaml`.
 */
import { openapiDocument, openapiYaml } from "../lib/http/openapi/document.ts";
import { routes } from "./mod.ts";

/** The command that updates the committed document. */
export const REGENERATE = "deno run -A routes/openapi_file.ts";

/** The committed document. */
export const OPENAPI_FILE = new URL("../docs/openapi.yaml", import.meta.url);

if (import.meta.main) {
  await Deno.writeTextFile(OPENAPI_FILE, openapiYaml(openapiDocument(routes)));
}
