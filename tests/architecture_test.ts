import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, it } from "@std/testing/bdd";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** The parts of the program, and which others each may import: arrows point one way. */
const MAY_IMPORT: Record<string, string[]> = {
  main: ["cli"],
  cli: ["mcp", "routes", "http", "db", "pure"],
  mcp: ["pure"],
  routes: ["http", "db", "pure"],
  http: ["db", "pure"],
  db: ["pure"],
  pure: [],
};

function partOf(path: string): string {
  if (path === "main.ts") return "main";
  const [top, second] = path.split("/");
  if (top !== "lib") return top ?? "";
  return second && ["cli", "mcp", "http"].includes(second) ? second : "pure";
}

async function sources(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

/** The modules that a file imports, as they are written. */
async function importsOf(path: string): Promise<string[]> {
  const text = await readFile(join(ROOT, path), "utf8");
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1]!);
}

describe("the architecture", () => {
  it("has imports that point one way only", async () => {
    const files = ["main.ts", ...(await Promise.all(["lib", "db", "routes"].map(sources))).flat()];
    const wrong: string[] = [];
    for (const file of files) {
      const part = partOf(file);
      for (const specifier of await importsOf(file)) {
        if (!/^\..*\.ts$/.test(specifier)) continue;
        const target = partOf(posix.join(posix.dirname(file), specifier));
        if (target !== part && !MAY_IMPORT[part]?.includes(target)) {
          wrong.push(`${file} (${part}) imports ${specifier} (${target})`);
        }
      }
    }
    assert.ok(files.length > 20, "expected to find the sources");
    assert.deepEqual(wrong, []);
  });

  it("keeps SQL inside db", async () => {
    const files = (await Promise.all(["lib", "routes"].map(sources))).flat();
    const wrong: string[] = [];
    for (const file of files) {
      const text = await readFile(join(ROOT, file), "utf8");
      if (/\b(?:sql|tx)(?:<[^`;]*>)?`/.test(text)) wrong.push(file);
    }
    assert.deepEqual(wrong, []);
  });

  it("never sends SQL that is put together from text", async () => {
    const files = (await Promise.all(["lib", "db", "routes"].map(sources))).flat();
    const wrong: string[] = [];
    for (const file of files) {
      // Migrations are text by nature.
      if (file === "db/schema/migrate.ts") continue;
      if (/\.unsafe\(/.test(await readFile(join(ROOT, file), "utf8"))) wrong.push(file);
    }
    assert.deepEqual(wrong, []);
  });
});
