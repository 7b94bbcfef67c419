/**
 * `deno task build [TARGET...]`: writes the program as one file, its part for CI jobs as another, the
 * licences of its packages, and a list of them (SBOM) to `dist`; for each target, such as `linux-x64`, a
 * binary as well.
 */
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { VERSION } from "../lib/base/version.ts";
import { bundle, CI_COMMANDS, type Part } from "./bundle.ts";
import { binaryName, compile, TARGETS } from "./compile.ts";
import { ROOT } from "./packages.ts";

/** The bundle's name. */
export const BUNDLE_FILE = "test-analytics.js";

/** The bundle for CI jobs: `gate`, `comment`, `split` and `upload`. */
export const CI_BUNDLE_FILE = "test-analytics-ci.js";

/** Name of the file with the licences of all packages in the bundle. */
export const LICENCES_FILE = "THIRD_PARTY_LICENSES.txt";

/** Name of the list of packages in CycloneDX. */
const SBOM_FILE = "sbom.cdx.json";

/**
 * Builds into a folder, which is created when missing.
 *
 * @returns the path of the bundle, and its parts
 */
export async function build(folder: string): Promise<{ path: string; parts: Part[] }> {
  const { text, parts } = await bundle();
  await Deno.mkdir(folder, { recursive: true });
  const path = join(folder, BUNDLE_FILE);
  await Deno.writeTextFile(path, text);
  await Deno.writeTextFile(join(folder, CI_BUNDLE_FILE), (await bundle(CI_COMMANDS)).text);
  await Deno.writeTextFile(join(folder, LICENCES_FILE), licences(parts));
  await Deno.writeTextFile(join(folder, SBOM_FILE), `${JSON.stringify(sbom(parts), null, 2)}\n`);
  return { path, parts };
}

/** The software bill of materials: the program, its packages, and the runtime. */
function sbom(parts: Part[]) {
  const packages = parts.filter(({ name }) => name !== "test-analytics")
    .sort((a, b) => a.name < b.name ? -1 : 1);
  const runtime = { name: "deno", version: Deno.version.deno, licence: "MIT" };
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { type: "application", name: "test-analytics", version: VERSION } },
    components: [...packages, runtime].map(({ name, version, licence }) => ({
      type: "library",
      name,
      version,
      purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
      licenses: [{ expression: licence }],
    })),
  };
}

function licences(parts: Part[]): string {
  return parts.filter(({ name }) => name !== "test-analytics")
    .map(({ name, version, licence, licenceText }) =>
      `${name} ${version}, licence ${licence}\n\n${licenceText}`.trim()
    )
    .join(`\n\n${"-".repeat(80)}\n\n`) + "\n";
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(2)} MB`;
}

/** @returns the exit code */
async function main(platforms: string[]): Promise<number> {
  const unknown = platforms.filter((platform) => !(platform in TARGETS));
  if (unknown.length > 0) {
    const known = Object.keys(TARGETS).join(", ");
    await note(`error: unknown target ${unknown.join(", ")}: expected ${known}`);
    return 2;
  }
  const folder = join(ROOT, "dist");
  const { path, parts } = await build(folder);
  const bytes = await Deno.readFile(path);
  await note(
    `${path}: ${megabytes(bytes.length)}, ${megabytes(gzipSync(bytes).length)} with gzip, of this`,
    ...parts.map((part) => `${megabytes(part.bytes).padStart(9)}  ${part.name} ${part.version}`),
  );
  let failures = 0;
  for (const platform of platforms) {
    const output = join(folder, binaryName(platform));
    try {
      await compile(path, { platform, output });
      await note(`${output}: ${megabytes((await Deno.stat(output)).size)}`);
    } catch (error) {
      failures++;
      await note(`error: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return failures === 0 ? 0 : 1;
}

async function note(...lines: string[]): Promise<void> {
  await Deno.stderr.write(new TextEncoder().encode(`${lines.join("\n")}\n`));
}

if (import.meta.main) Deno.exit(await main(Deno.args));
