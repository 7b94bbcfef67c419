// Tests: tests/lib/intake/checkout/checkout_test.ts
/** The git tree of the files in a checkout, with uncommitted changes. */
import { copyFile, readFile, realpath, stat, utimes } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Git, isTreeId, treeOf } from "./git.ts";

/** The code that a checkout contains. */
interface WorkingTree {
  /** The tree of `HEAD` without changes; one that no other run has if git cannot tell. */
  tree: string;
  /** Paths that differ from `HEAD`; `null` if git cannot tell. */
  changed: string[] | null;
}

interface WorkingTreeOptions {
  /** The commit of `HEAD`. */
  commit: string;
  /** Whether untracked files that are not ignored are code. */
  hasUntracked: boolean;
  /** Files that the tests wrote: if untracked, they are not code. */
  results: readonly string[];
}

/**
 * The tree of the files in a checkout. The checkout and its object database stay as they are: a copy of the index is
 * updated, and new objects are written to a temporary folder.
 */
export async function readWorkingTree(git: Git, options: WorkingTreeOptions): Promise<WorkingTree> {
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-tree-" });
  try {
    const found = await writeTree(git, { ...options, folder }).catch(() => null);
    return found ?? { tree: randomTree(), changed: null };
  } finally {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
  }
}

async function writeTree(
  git: Git,
  { commit, hasUntracked, results, folder }: WorkingTreeOptions & { folder: string },
): Promise<WorkingTree | null> {
  const gitFolder = await git(["rev-parse", "--absolute-git-dir"]);
  // Of a linked worktree; otherwise there is none.
  const common = await readFile(join(gitFolder, "commondir"), "utf8").catch(() => "");
  const index = join(folder, "index");
  const env = {
    GIT_INDEX_FILE: index,
    GIT_OBJECT_DIRECTORY: folder,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: join(resolve(gitFolder, common.trim()), "objects"),
  };
  // One file: a split index has a part in the folder of the checkout.
  const onCopy: Git = (args) => git(["-c", "core.splitIndex=false", ...args], env);
  // Without an index, no file is staged.
  await copyIndex(join(gitFolder, "index"), index).catch(() => {});
  // Files that are assumed to be unchanged are compared as well.
  await onCopy(["update-index", "-q", "--really-refresh"]);
  const isResult = await resultsBelow(await git(["rev-parse", "--show-toplevel"]), results);
  const isSkipped = ({ path, isTracked }: StatusEntry) => !isTracked && isResult(path);
  const entries = await readStatus(onCopy, { hasUntracked });
  const headTree = await treeOf(commit, git);
  if (!entries || headTree === "") return null;
  const changed = entries.filter((one) => !isSkipped(one)).map(({ path }) => path);
  if (changed.length === 0) return { tree: headTree, changed };
  const skipped = entries.filter(isSkipped).map(({ path }) => `:(top,exclude,literal)${path}`);
  const pathsFile = join(folder, "paths");
  await Deno.writeTextFile(pathsFile, [":/", ...skipped].join("\0"));
  const scope = hasUntracked ? "--all" : "--update";
  await onCopy(["add", scope, `--pathspec-from-file=${pathsFile}`, "--pathspec-file-nul"]);
  const tree = await onCopy(["write-tree"]);
  const rest = await readStatus(onCopy, { hasUntracked });
  // Such as changes in a submodule, which no tree of this repository contains.
  const isWhole = rest?.every((one) => one.isStaged || isSkipped(one)) ?? false;
  return isWhole && isTreeId(tree) ? { tree, changed } : null;
}

/**
 * Copies the index with its modification time. Git compares the content of files that are not older than the index, as
 * they may have changed within the same second ("racy git"); a younger copy would hide such changes.
 */
async function copyIndex(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  const { atime, mtime } = await stat(from);
  await utimes(to, atime, mtime);
}

interface StatusEntry {
  /** From the root folder. */
  path: string;
  isTracked: boolean;
  /** Whether the index has what is in the checkout. */
  isStaged: boolean;
}

/** What differs from `HEAD`; `null` if git fails. */
async function readStatus(
  git: Git,
  { hasUntracked }: { hasUntracked: boolean },
): Promise<StatusEntry[] | null> {
  const untracked = `--untracked-files=${hasUntracked ? "all" : "no"}`;
  const text = await git(
    // The header tells no changes from a failure. Settings must not hide submodules.
    [
      "status",
      "--porcelain=v2",
      "-z",
      "--branch",
      "--no-renames",
      "--ignore-submodules=none",
      untracked,
    ],
  );
  if (!text.startsWith("# ")) return null;
  return text.split("\0").filter((line) => line !== "" && !line.startsWith("# ")).map((line) => {
    const [kind = "", state = ""] = line.split(" ", 2);
    return {
      path: line.split(" ").slice(FIELDS_BEFORE_PATH[kind] ?? 0).join(" "),
      isTracked: kind !== "?",
      isStaged: kind === "1" && state.endsWith("."),
    };
  });
}

/** Of the lines of `git status --porcelain=v2`: changed, unmerged, untracked. */
const FIELDS_BEFORE_PATH: Record<string, number> = { 1: 8, u: 10, "?": 1 };

/** Whether a path from the root folder is one of some files. */
async function resultsBelow(
  top: string,
  results: readonly string[],
): Promise<(path: string) => boolean> {
  const whole = (path: string) => realpath(path).catch(() => resolve(path));
  const root = await whole(top);
  const found = new Set(await Promise.all(results.map(whole)));
  return (path) => found.has(join(root, path));
}

/** Stands for a tree that is not known: it is equal to no other. */
function randomTree(): string {
  return crypto.getRandomValues(new Uint8Array(20)).toHex();
}
