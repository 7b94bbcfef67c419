/**
 * Writes what of the documentation is generated from the program and from Markdown, and what the program
 * serves of it.
 *
 * `deno run -A --config tests/deno.json tools/documentation/main.ts`
 */
import { documentedRoutes } from "./description.ts";
import { docsPageContent } from "./docs_page.ts";
import { renderDocuments } from "./guides.ts";
import { openapiDocument, openapiYaml } from "./openapi.ts";
import { llmsText } from "./reference.ts";
import { toolSchemas } from "./tool_schemas.ts";

const ROOT = new URL("../../", import.meta.url);

/** The texts of the generated files, by their paths. */
export async function generatedFiles(): Promise<Record<string, string>> {
  const documents = await renderDocuments();
  const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  const served = "lib/http/documentation/generated";
  return {
    "docs/openapi.yaml": openapiYaml(openapiDocument(documentedRoutes)),
    "docs/reference/api.md": llmsText(documentedRoutes),
    [`${served}/endpoints.html`]: docsPageContent(documentedRoutes),
    [`${served}/documents.html`]: documents.map(({ path, html }) => `<!-- ${path} -->\n${html}\n`)
      .join(""),
    [`${served}/titles.json`]: json(
      Object.fromEntries(documents.map(({ path, title }) => [path, title])),
    ),
    "lib/mcp/schemas.json": json(toolSchemas()),
  };
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(await generatedFiles())) {
    await Deno.writeTextFile(new URL(path, ROOT), text);
  }
}
