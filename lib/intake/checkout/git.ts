// Tests: tests/lib/intake/checkout/checkout_test.ts tests/lib/intake/stale_reports_test.ts
import { isGitId } from "../../base/commit.ts";
import { readGitUrl } from "../../ci/git_url.ts";

// Enough for a repository on a slow disk.
const TIMEOUT_MS = 10_000;

export type Git = typeof runGit;

/** Commands that read only: they run nothing that the configuration of a checkout names. */
const READING = ["config", "rev-list", "rev-parse", "symbolic-ref"];

/**
 * Runs git in the current folder and returns its output, trimmed; `""` when it fails. A checkout of
 * another user, as in a container, is read all the same.
 *
 * @param env added to the environment of the process
 */
export async function runGit(args: string[], env: Record<string, string> = {}): Promise<string> {
  try {
    const { success, stdout } = await new Deno.Command("git", {
      args: READING.includes(args[0] ?? "") ? ["-c", "safe.directory=*", ...args] : args,
      stdin: "null",
      stdout: "piped",
      stderr: "null",
      // No prompts, and no fetches in a partial clone.
      env: { GIT_TERMINAL_PROMPT: "0", GIT_NO_LAZY_FETCH: "1", GIT_OPTIONAL_LOCKS: "0", ...env },
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

/** The commits of the checkout that contain a commit, itself left out; none when it is unknown. */
export async function commitsAfter(commit: string, git: Git): Promise<Set<string>> {
  const whole = await commitOf(commit, git);
  if (whole === "") return new Set();
  const list = await git(["rev-list", "--ancestry-path", "HEAD", "--all", `^${whole}`]);
  return new Set(list.split("\n").filter(isGitId));
}

/** The git tree of a commit, `""` when the checkout does not know it. */
export async function treeOf(commit: string, git: Git): Promise<string> {
  if (!isGitId(commit)) return "";
  const tree = await git(["rev-parse", "--verify", "--quiet", `${commit}^{tree}`]);
  return isTreeId(tree) ? tree : "";
}

/** Whether git has written a whole id. */
export function isTreeId(text: string): boolean {
  return /^[0-9a-f]{40,64}$/.test(text);
}

/** {@linkcode readGitUrl} of the remote `origin`. */
export async function readOrigin(git: Git) {
  return readGitUrl(await git(["config", "--get", "remote.origin.url"]));
}
