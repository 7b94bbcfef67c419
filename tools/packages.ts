/** The npm packages of the lock file as plain files, for tools that do not know Deno's cache. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../deno.json" with { type: "json" };

/** The project's folder. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * Makes a `node_modules` with exactly the versions of `deno.lock` below a folder, out of Deno's cache
 * where they are there.
 *
 * @returns its path
 * @throws {Error} when the packages cannot be had, or the lock file does not fit
 */
export async function installPackages(folder: string): Promise<string> {
  const { imports, allowScripts } = config;
  await Deno.writeTextFile(
    join(folder, "deno.json"),
    JSON.stringify({ imports, allowScripts, nodeModulesDir: "auto" }),
  );
  await Deno.copyFile(join(ROOT, "deno.lock"), join(folder, "deno.lock"));
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["install", "--frozen", "--quiet"],
    cwd: folder,
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) {
    throw new Error(`the packages cannot be installed: ${new TextDecoder().decode(stderr).trim()}`);
  }
  return join(folder, "node_modules");
}
