/**
 * Compiles the bundle to a binary. `deno compile` fetches the base binary of each target from dl.deno.land;
 * `DENORT_BIN` names a local file to use instead.
 */
import { PERMISSIONS, V8_FLAGS } from "./permissions.ts";

/** The targets of `deno compile`, by the platform in file names. */
export const TARGETS: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-gnu",
  "linux-arm64": "aarch64-unknown-linux-gnu",
  "macos-x64": "x86_64-apple-darwin",
  "macos-arm64": "aarch64-apple-darwin",
};

/** File name of the binary for a platform. */
export function binaryName(platform: string): string {
  return `test-analytics-${platform}`;
}

/**
 * Compiles a bundle for a platform.
 *
 * @param options.platform a key of `TARGETS`
 * @param options.env in addition to the variables of this process
 * @throws {Error} when it fails; the message says so if the base binary cannot be fetched
 */
export async function compile(
  bundle: string,
  { platform, output, env }: { platform: string; output: string; env?: Record<string, string> },
): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "compile",
      "--quiet",
      "--no-config",
      "--no-lock",
      "--no-check",
      ...PERMISSIONS,
      V8_FLAGS,
      "--target",
      TARGETS[platform] ?? platform,
      "--output",
      output,
      bundle,
    ],
    env: { NO_COLOR: "1", ...env },
    stdout: "null",
    stderr: "piped",
  }).output();
  if (success) return;
  const reason = new TextDecoder().decode(stderr).trim();
  const url = /https:\/\/\S+denort\S+\.zip/.exec(reason)?.[0];
  throw new Error(
    url
      ? `${platform}: the base binary cannot be fetched from ${url}; expected a machine that ` +
        "reaches it, or a copy of the file inside, named by DENORT_BIN"
      : `${platform}: ${reason}`,
  );
}
