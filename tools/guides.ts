/**
 * `deno run -A tools/guides.ts`: writes the list and the imports of the documents that the program serves,
 * all of `docs/guides/` and `docs/reference/` except the reference of the API, which `/docs` shows.
 */
import { FILE_PATHS } from "../lib/http/guides/files.ts";

const ROOT = new URL("../", import.meta.url);
const NOT_SERVED: ReadonlySet<string> = new Set(["reference/api"]);
const HEAD = "// Written by `deno task fix`.\n";

/** The generated files, by their paths. */
export function guideFiles(): Record<string, string> {
  const paths = ["guides", "reference"].flatMap((folder) =>
    [...Deno.readDirSync(new URL(`docs/${folder}/`, ROOT))]
      .map(({ name }) => `${folder}/${name.replace(/\.md$/, "")}`)
  ).filter((path) => !NOT_SERVED.has(path)).sort();
  const files = Object.entries(FILE_PATHS);
  const importLine = (name: string, path: string) =>
    `import ${name} from "../../../${path}" with { type: "text" };\n`;
  return {
    "lib/http/guides/paths.ts": "// Tests: tests/routes/guides_test.ts\n" + HEAD +
      "/** Paths below `docs/`, and in the addresses of the pages; without extension. */\n" +
      `export const DOCUMENT_PATHS = ${JSON.stringify(paths)} as const;\n`,
    "lib/http/guides/texts.ts": "// Tests: tests/lib/http/docs_page/page_test.ts " +
      "tests/lib/http/llms_txt/document_test.ts\n" + HEAD +
      "/** The texts of the documentation. Loaded with the first request for one. */\n" +
      importLine("index", "docs/README.md") +
      paths.map((path) => importLine(nameOf(path), `docs/${path}.md`)).join("") +
      files.map(([file, path]) => importLine(nameOf(file), path)).join("") +
      "\n/** The list of all documents, `docs/README.md`. */\n" +
      "export const INDEX: string = index;\n" +
      "\n/** Markdown by its path below `docs/`, without extension. */\n" +
      "export const DOCUMENTS: Readonly<Record<string, string>> = {" +
      paths.map((path) => `${JSON.stringify(path)}: ${nameOf(path)},`).join("") + "};\n" +
      "\n/** Files that the guides refer to, by name. */\n" +
      "export const FILES: Readonly<Record<string, string>> = {" +
      files.map(([file]) => `${JSON.stringify(file)}: ${nameOf(file)},`).join("") + "};\n",
  };
}

function nameOf(path: string): string {
  return path.replaceAll(/\W/g, "_");
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(guideFiles())) {
    await Deno.writeTextFile(new URL(path, ROOT), text);
  }
}
