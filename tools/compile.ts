/**
 * `deno task compile [TARGET...]`: builds the bundle and compiles it for each target (default: all).
 * `deno compile` fetches the base binary of each target from dl.deno.land; `DENORT_BIN` names a local
 * file to use instead.
 */
import { join } from "node:path";
import { build } from "./build.ts";
import { ROOT } from "./packages.ts";
import { PERMISSIONS } from "./permissions.ts";

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
 * @param platform a key of `TARGETS`
 * @throws {Error} when it fails; the message says so if the base binary cannot be fetched
 */
export async function compile(
  bundle: string,
  { platform, output }: { platform: string; output: string },
): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "compile",
      "--quiet",
      "--no-config",
      "--no-lock",
      "--no-check",
      ...PERMISSIONS,
      "--target",
      TARGETS[platform] ?? platform,
      "--output",
      output,
      bundle,
    ],
    env: { NO_COLOR: "1" },
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

function note(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
}

/** @returns the exit code */
async function main(platforms: string[]): Promise<number> {
  const unknown = platforms.filter((platform) => !(platform in TARGETS));
  if (unknown.length > 0) {
    note(
      `error: unknown target ${unknown.join(", ")}: expected ${Object.keys(TARGETS).join(", ")}`,
    );
    return 2;
  }
  const folder = join(ROOT, "dist");
  const { path } = await build(folder);
  let failures = 0;
  for (const platform of platforms.length > 0 ? platforms : Object.keys(TARGETS)) {
    const output = join(folder, binaryName(platform));
    try {
      await compile(path, { platform, output });
      note(`${output}: ${((await Deno.stat(output)).size / 1e6).toFixed(0)} MB`);
    } catch (error) {
      failures++;
      note(`error: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return failures === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
