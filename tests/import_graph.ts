/** Which files of the repository import which. */
import { readdirSync, readFileSync } from "node:fs";
import { join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FOLDERS = ["db", "lib", "routes", "tests", "tools"];

/** The files that each file imports, types and dynamic imports included. */
export function imports(): Map<string, string[]> {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
      .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
  );
  return new Map(["main.ts", ...files].map((file) => [file, importsIn(file)]));
}

function importsIn(file: string): string[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  return [...text.matchAll(/(?:from|import|new URL)\s*\(?\s*"(\.[^"]+\.ts)"/g)]
    .map(([, specifier]) => posix.join(posix.dirname(file), specifier!));
}
