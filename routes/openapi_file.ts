/**
 * The contract as a committed file, so that a change of it shows in a diff.
 *
 * `deno run -A routes/openapi_file.ts` writes `docs/openapi.yaml` anew after a route was changed.
 */
import { openapiDocument, openapiYaml } from "../lib/http/openapi/document.ts";
import { routes } from "./mod.ts";

/** The command that writes the committed contract anew. */
export const REGENERATE = "deno run -A routes/openapi_file.ts";

/** Where the committed contract is. */
export const OPENAPI_FILE = new URL("../docs/openapi.yaml", import.meta.url);

if (import.meta.main) {
  await Deno.writeTextFile(OPENAPI_FILE, openapiYaml(openapiDocument(routes)));
}
