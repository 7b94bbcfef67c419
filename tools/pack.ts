/**
 * `deno run -A --config tests/deno.json tools/pack.ts PLATFORM`: packs the compiled program of a
 * platform, with its licences, settings and service unit, into
 * `dist/packed/test-analytics-VERSION-PLATFORM.tar.gz`.
 */
import { basename, join } from "node:path";
import { VERSION } from "../lib/base/version.ts";
import { LICENCES_FILE } from "./build.ts";
import { binaryName } from "./compile.ts";
import { ROOT } from "./packages.ts";

/** Files that an archive contains in addition to the program, relative to the root folder. */
export const INCLUDED_FILES: readonly string[] = [
  "LICENSE",
  "README.md",
  "CHANGELOG.md",
  "deploy/test-analytics.env",
  "deploy/test-analytics.service",
  "deploy/test-analytics-watch.service",
  "deploy/read_only_role.sql",
  "deploy/upload_role.sql",
  "deploy/writer_role.sql",
];

/**
 * Packs a program.
 *
 * @param dist the folder with the program and the licences, where the archive goes as well
 * @returns the archive's path
 * @throws {Error} when something is missing
 */
export async function pack(platform: string, dist: string): Promise<string> {
  const name = `test-analytics-${VERSION}-${platform}`;
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-pack-" });
  try {
    const inside = join(folder, name);
    await Deno.mkdir(inside);
    await Deno.copyFile(join(dist, binaryName(platform)), join(inside, "test-analytics"));
    await Deno.chmod(join(inside, "test-analytics"), 0o755);
    await Deno.copyFile(join(dist, LICENCES_FILE), join(inside, LICENCES_FILE));
    for (const path of INCLUDED_FILES) {
      await Deno.copyFile(join(ROOT, path), join(inside, basename(path)));
    }
    const archive = join(dist, "packed", `${name}.tar.gz`);
    await Deno.mkdir(join(dist, "packed"), { recursive: true });
    // The system's tar, because it keeps what may be executed.
    const { success, stderr } = await new Deno.Command("tar", {
      args: ["--create", "--gzip", "--file", archive, "--directory", folder, name],
      stderr: "piped",
    }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
    return archive;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const archive = await pack(Deno.args[0] ?? "", join(ROOT, "dist"));
  Deno.stderr.writeSync(new TextEncoder().encode(`${archive}\n`));
}
