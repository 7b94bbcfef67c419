// A repository on a slow disk; whoever waits longer waits for a prompt.
const TIMEOUT_MS = 10_000;

/** Asks git in the current folder. No git, no checkout, a failure: `""`. */
export async function askGit(args: string[]): Promise<string> {
  try {
    const { success, stdout } = await new Deno.Command("git", {
      args,
      stdin: "null",
      stdout: "piped",
      stderr: "null",
      // Never a prompt, never a fetch of what a partial clone left out.
      env: { GIT_TERMINAL_PROMPT: "0", GIT_NO_LAZY_FETCH: "1", GIT_OPTIONAL_LOCKS: "0" },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).output();
    return success ? new TextDecoder().decode(stdout).trim() : "";
  } catch {
    return "";
  }
}
