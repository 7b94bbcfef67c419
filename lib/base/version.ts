// Tests: tests/lib/cli/commands/doctor_test.ts tests/lib/cli/commands/import_test.ts
import { fileURLToPath } from "node:url";
import { commitOfCheckout } from "./checkout_commit.ts";
import config from "../../deno.json" with { type: "json" };

/** The version of this program. */
export const VERSION: string = config.version;

/** The program's name in commands that messages suggest: from a checkout, or as one file. */
export const PROGRAM: string = import.meta.url.endsWith(".ts") ? "deno task cli" : "test-analytics";

/** Defined by the bundler; empty when it was not run in a git checkout. */
declare const BUILD_COMMIT: string;

/** The git commit of the build, or of the checkout it runs from; empty when unknown. */
export const COMMIT: string = typeof BUILD_COMMIT === "string"
  ? BUILD_COMMIT
  : commitOfCheckout(fileURLToPath(new URL("../../", import.meta.url)));

/** Defined by the bundler: a digest of the bundle. */
declare const BUILD_DIGEST: string;

/**
 * Differs between any two builds, also of one version. From source it is the time of the newest change of a
 * file, so that processes of one checkout agree.
 */
export function buildId(): string {
  if (typeof BUILD_DIGEST === "string") return BUILD_DIGEST;
  const newest = (folder: URL): number => {
    let time = 0;
    for (const { name, isDirectory } of Deno.readDirSync(folder)) {
      const url = new URL(isDirectory ? `${name}/` : name, folder);
      time = Math.max(time, isDirectory ? newest(url) : Deno.statSync(url).mtime?.getTime() ?? 0);
    }
    return time;
  };
  const folders = ["lib", "routes", "db"].map((name) => new URL(`../../${name}/`, import.meta.url));
  return String(Math.max(...folders.map(newest)));
}

/** Version and commit, such as `0.1.0 (3f2a9c41d07e)`. */
export const BUILD: string = COMMIT === "" ? VERSION : `${VERSION} (${COMMIT.slice(0, 12)})`;
