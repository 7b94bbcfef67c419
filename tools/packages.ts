/** The program's npm packages as plain files, for tools that cannot read Deno's cache. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../deno.json" with { type: "json" };

/** The project's folder. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * Installs the program's packages, without the packages of tests and tools, below a folder, in the versions
 * of `deno.lock`.
 *
 * @returns the path of `node_modules`
 * @throws {Error} when a package cannot be installed
 */
export async function installPackages(folder: string): Promise<string> {
  // The other is of the tests.
  const imports = Object.fromEntries(
    Object.entries(config.imports).filter(([, target]) => target.startsWith("npm:")),
  );
  await Deno.writeTextFile(
    join(folder, "deno.json"),
    JSON.stringify({ imports, nodeModulesDir: "auto" }),
  );
  await Deno.copyFile(join(ROOT, "deno.lock"), join(folder, "deno.lock"));
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    // Not frozen: the copy of the lock file loses the packages of tests and tools.
    args: ["install", "--frozen=false", "--quiet"],
    cwd: folder,
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) {
    throw new Error(`cannot install the packages: ${new TextDecoder().decode(stderr).trim()}`);
  }
  return join(folder, "node_modules");
}

/** The commit that is checked out; empty without a git checkout. */
export async function commitOfCheckout(): Promise<string> {
  const git = new Deno.Command("git", { args: ["rev-parse", "HEAD"], cwd: ROOT, stderr: "null" });
  const { success, stdout } = await git.output();
  return success ? new TextDecoder().decode(stdout).trim() : "";
}
