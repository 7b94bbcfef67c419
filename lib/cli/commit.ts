/** The git commit that the program was made from. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { VERSION } from "../base/version.ts";

/** Defined by the bundler; empty when it was not run in a git checkout. */
declare const BUILD_COMMIT: string;

/** The commit of the build, or of the checkout when run from source; empty when unknown. */
export const COMMIT: string = typeof BUILD_COMMIT === "string"
  ? BUILD_COMMIT
  : readCommit(fileURLToPath(new URL("../..", import.meta.url)));

/** Version and commit, such as `0.1.0 (3f2a9c41d07e)`. */
export const BUILD: string = COMMIT === "" ? VERSION : `${VERSION} (${COMMIT.slice(0, 12)})`;

/** The commit that is checked out in a folder, without running git; empty when there is none. */
export function readCommit(folder: string): string {
  const read = (...path: string[]) => Deno.readTextFileSync(join(...path)).trim();
  const attempt = (body: () => string) => {
    try {
      return body();
    } catch {
      return "";
    }
  };
  const dotGit = join(folder, ".git");
  // In a linked worktree .git is a file that names the folder, which names the one with the branches.
  const own = attempt(() => read(dotGit)).replace(/^gitdir: /, "") || dotGit;
  const common = join(own, attempt(() => read(own, "commondir")));
  const head = attempt(() => read(own, "HEAD"));
  const [, branch] = /^ref: (.+)$/.exec(head) ?? [];
  if (branch === undefined) return asCommit(head);
  const packed = () =>
    read(common, "packed-refs").split("\n").find((line) => line.endsWith(` ${branch}`)) ?? "";
  return asCommit(attempt(() => read(common, branch)) || attempt(packed));
}

function asCommit(text: string): string {
  return /^[0-9a-f]{40,64}\b/.exec(text)?.[0] ?? "";
}
