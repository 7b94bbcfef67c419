import { isObjectId } from "../upload_values.ts";

// Enough for a repository on a slow disk.
const TIMEOUT_MS = 10_000;

export type Git = typeof askGit;

/** Runs git in the current folder and returns its output, trimmed; `""` when it fails. */
export async function askGit(args: string[]): Promise<string> {
  try {
    const { success, stdout } = await new Deno.Command("git", {
      args,
      stdin: "null",
      stdout: "piped",
      stderr: "null",
      // No prompts, and no fetches in a partial clone.
      env: { GIT_TERMINAL_PROMPT: "0", GIT_NO_LAZY_FETCH: "1", GIT_OPTIONAL_LOCKS: "0" },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).output();
    return success ? new TextDecoder().decode(stdout).trim() : "";
  } catch {
    return "";
  }
}

/** The commit that a revision such as `HEAD` or `main` names in the checkout, `""` when none. */
export async function commitOf(revision: string, git: Git): Promise<string> {
  if (revision === "" || revision.startsWith("-")) return "";
  const commit = await git(["rev-parse", "--verify", "--quiet", `${revision}^{commit}`]);
  return isObjectId(commit) ? commit : "";
}

/** The git tree of a commit, `""` when the checkout does not know it. */
export async function treeOf(commit: string, git: Git): Promise<string> {
  if (!isObjectId(commit)) return "";
  const tree = await git(["rev-parse", "--verify", "--quiet", `${commit}^{tree}`]);
  return /^[0-9a-f]{40,64}$/.test(tree) ? tree : "";
}

/**
 * The page of a repository, such as `https://github.com/acme/shop`, from that URL or the URL of its git
 * repository, in the forms that {@linkcode repositoryOfGitUrl} handles; `""` for a local path and for
 * hosts whose pages have other paths. User, password and the port of SSH are removed.
 */
export function pageOfGitUrl(text: string): string {
  if (!/^\S{1,2000}$/.test(text)) return "";
  const scp = /^(?:[^@/\s]+@)?([a-z0-9-]+(?:\.[a-z0-9-]+)+):(?!\/\/)([^\s]+)$/i.exec(text);
  const url = URL.parse(scp ? `ssh://${scp[1]}/${scp[2]!.replace(/^\/+/, "")}` : text);
  if (!url || !["http:", "https:", "ssh:", "git:"].includes(url.protocol)) return "";
  const path = url.pathname.replace(/\/+$/, "").replace(/\.git$/, "");
  // Azure Repos over SSH, AWS CodeCommit.
  if (path.split("/").length < 3 || /^\/v\d\//.test(path)) return "";
  return url.protocol.startsWith("http")
    ? `${url.protocol}//${url.host}${path}`
    : `https://${url.hostname}${path}`;
}

/**
 * `OWNER/NAME` from the URL of a git repository, else `""`. Handles
 * `https://user:token@host/owner/name.git`, `git@host:owner/name.git` and `ssh://git@host:22/...`.
 * Only the path is used, so that no credentials are stored.
 */
export function repositoryOfGitUrl(url: string): string {
  const path = /^[a-z][a-z0-9+.-]*:\/\/[^/]+\/(.+)$/i.exec(url)?.[1] ??
    /^[^/\s]+:(?!\/\/)(.+)$/.exec(url)?.[1] ?? "";
  const segments = path.split(/[?#]/)[0]!.replace(/\/+$/, "").replace(/\.git$/, "").split("/")
    .filter((segment) => segment !== "");
  // Azure Repos: project/_git/name. AWS CodeCommit: v1/repos/name, without an owner.
  const git = segments.indexOf("_git");
  if (git > 0 && git === segments.length - 2) return `${segments[git - 1]}/${segments[git + 1]}`;
  if (segments[0] === "v1" && segments[1] === "repos") return "";
  return segments.length < 2 ? "" : segments.join("/");
}
