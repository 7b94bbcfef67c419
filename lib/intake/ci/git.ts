import { isGitId } from "../../base/commit.ts";

// Enough for a repository on a slow disk.
const TIMEOUT_MS = 10_000;

export type Git = typeof runGit;

/** Runs git in the current folder and returns its output, trimmed; `""` when it fails. */
export async function runGit(args: string[]): Promise<string> {
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
  return isGitId(commit) ? commit : "";
}

/** The git tree of a commit, `""` when the checkout does not know it. */
export async function treeOf(commit: string, git: Git): Promise<string> {
  if (!isGitId(commit)) return "";
  const tree = await git(["rev-parse", "--verify", "--quiet", `${commit}^{tree}`]);
  return /^[0-9a-f]{40,64}$/.test(tree) ? tree : "";
}

/**
 * `OWNER/NAME` of a git repository and its page, such as `https://github.com/acme/shop`, from the URL of
 * either; `""` where they are unknown. Handles `https://user:token@host/owner/name.git`,
 * `git@host:owner/name.git` and `ssh://git@host:22/...`. User, password and the port of SSH are removed.
 */
export function readGitUrl(text: string): { repository: string; page: string } {
  const [, host, scpPath] = /^([^/\s:]{2,}):(?!\/\/)\/*(\S+)$/.exec(text) ?? [];
  const url = URL.parse(host ? `ssh://${host}/${scpPath}` : text);
  const path = url?.pathname.replace(/\/+$/, "").replace(/\.git$/, "") ?? "";
  const segments = path.split("/").slice(1);
  const isGit = /^(https?|ssh|git):$/.test(url?.protocol ?? "") && /^\S{1,2000}$/.test(text);
  // Azure Repos over SSH (v3/...) and AWS CodeCommit (v1/repos/name) name neither.
  if (!url || !isGit || segments.length < 2 || /^v\d$/.test(segments[0]!)) {
    return { repository: "", page: "" };
  }
  // Azure Repos: project/_git/name.
  const named = segments.at(-2) === "_git" ? segments.toSpliced(-2, 1).slice(-2) : segments;
  const isPage = url.protocol.startsWith("http");
  const origin = isPage ? `${url.protocol}//${url.host}` : `https://${url.hostname}`;
  return {
    repository: named.join("/"),
    // A host without a dot is an alias in the configuration of SSH.
    page: isPage || url.hostname.includes(".") ? origin + path : "",
  };
}

/** {@linkcode readGitUrl} of the remote `origin`. */
export async function readOrigin(git: Git) {
  return readGitUrl(await git(["config", "--get", "remote.origin.url"]));
}
