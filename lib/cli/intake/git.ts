// Enough for a repository on a slow disk.
const TIMEOUT_MS = 10_000;

/** Runs git in the current folder and returns its output; `""` when it fails. */
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
