import { join, resolve } from "node:path";

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
