// Tests: tests/lib/system/build_test.ts tests/lib/cli/commands/doctor_test.ts
/** Which build of the program this is. */
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { VERSION } from "../base/version.ts";

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

/**
 * The commit that a git checkout is at, from its files: the program may run without `git`, or without the
 * permission to run it. Empty if it is unknown.
 *
 * @param root folder of the checkout, or of one of its worktrees
 */
export function commitOfCheckout(root: string): string {
  const dotGit = join(root, ".git");
  // In a worktree it is a file.
  const [, link] = /^gitdir: (.+)$/.exec(read(dotGit)) ?? [];
  const folder = link === undefined ? dotGit : resolve(root, link);
  const head = read(join(folder, "HEAD"));
  const [, ref] = /^ref: (.+)$/.exec(head) ?? [];
  if (ref === undefined) return commitIn(head);
  const common = resolve(folder, read(join(folder, "commondir")) || ".");
  const packed = () =>
    read(join(common, "packed-refs")).split("\n").find((line) => line.endsWith(` ${ref}`)) ?? "";
  return commitIn(read(join(common, ref)) || packed().split(" ")[0]!);
}

function commitIn(text: string): string {
  return /^[0-9a-f]{40,64}$/.test(text) ? text : "";
}

/** A file's text, empty if it cannot be read; never asks for the permission. */
function read(path: string): string {
  try {
    if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") return "";
    return Deno.readTextFileSync(path).trim();
  } catch {
    return "";
  }
}
