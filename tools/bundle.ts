/**
 * The program in one file: all modules, SQL, the demo's reports, the documentation page's script and
 * the files of the embedded PostgreSQL.
 */
import * as esbuild from "esbuild";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { VERSION } from "../lib/base/version.ts";
import { commitOfCheckout, installPackages, ROOT } from "./packages.ts";

/**
 * zstd is the fastest of the formats that Deno decompresses: 55 ms for 15 MB at startup. brotli takes
 * 180 ms and is 6 % smaller, gzip takes 70 ms and is 11 % larger.
 */
const ZSTD_LEVEL = 12;

/** CommonJS packages import Node's built-in modules with `require`. */
const BANNER = `// test-analytics ${VERSION}: the whole program. Run it with deno run -A FILE --help
import { createRequire as makeRequire } from "node:module";
const require = makeRequire(import.meta.url);`;

const DIGEST_PLACEHOLDER = "digest of the bundle";

/** The module that the bundle replaces. */
const REPLACED_FILE = "db/embedded/files.ts";

const PGLITE = "@electric-sql/pglite";

/** The result. */
interface Bundle {
  /** The JavaScript. */
  text: string;
  /** Its parts, largest first. */
  parts: Part[];
}

/** A package, or the program's own files (`test-analytics`). */
export interface Part {
  name: string;
  /** Share of the bundle in bytes. */
  bytes: number;
  version: string;
  /** Identifier of the licence, such as `MIT`. */
  licence: string;
  /** The licence's text; empty where the package has no file of it. */
  licenceText: string;
}

/** The commands that a CI job needs. None of them opens a database. */
export const CI_COMMANDS = ["gate", "comment", "split", "upload"];

/**
 * Bundles `main.ts`. The same commit and lock file give the same text on every machine.
 *
 * @param commands the names of the commands that the bundle has, all by default
 * @throws {Error} when a package cannot be installed or a file cannot be bundled
 */
export async function bundle(commands?: readonly string[]): Promise<Bundle> {
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-build-" });
  try {
    const packages = await installPackages(folder);
    const { outputFiles, metafile } = await esbuild.build({
      absWorkingDir: ROOT,
      entryPoints: ["main.ts"],
      bundle: true,
      format: "esm",
      platform: "node",
      target: "esnext",
      // Not minified: that would save 7 ms of the start, and stack traces would name no functions.
      banner: { js: BANNER },
      define: {
        BUILD_COMMIT: JSON.stringify(await commitOfCheckout()),
        BUILD_DIGEST: JSON.stringify(DIGEST_PLACEHOLDER),
      },
      // Licences have a file of their own.
      legalComments: "none",
      nodePaths: [packages],
      plugins: [
        builtins,
        embeddedFiles(packages),
        ...commands ? [onlyCommands(commands), withoutDatabase] : [],
      ],
      metafile: true,
      write: false,
      logLevel: "silent",
    });
    // Without the path of the temporary folder.
    const text = (outputFiles[0]?.text ?? "").replaceAll(`${relative(ROOT, folder)}/`, "");
    const digest = createHash("sha256").update(text).digest("hex");
    return {
      text: text.replace(DIGEST_PLACEHOLDER, digest),
      parts: await partsOf(metafile, packages),
    };
  } finally {
    await esbuild.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Deno requires the prefix `node:`, which packages may leave out. */
const builtins: esbuild.Plugin = {
  name: "builtins",
  setup(build) {
    const bare = builtinModules.filter((name) => !name.startsWith("node:"));
    build.onResolve({ filter: new RegExp(`^(${bare.join("|")})$`) }, ({ path }) => ({
      path: `node:${path}`,
      external: true,
    }));
  },
};

/** Leaves out the other commands. */
function onlyCommands(commands: readonly string[]): esbuild.Plugin {
  return {
    name: "commands",
    setup(build) {
      build.onLoad({ filter: /\/lib\/cli\/commands\/mod\.ts$/ }, async ({ path }) => {
        const all = await readFile(path, "utf8");
        const isLeftOut = (line: string) => {
          const [, name = ""] = /^ {2}(\w+): async/.exec(line) ?? [];
          return name !== "" && !commands.includes(name);
        };
        const contents = all.split("\n").filter((line) => !isLeftOut(line)).join("\n");
        return { contents, loader: "ts", resolveDir: join(ROOT, "lib/cli/commands") };
      });
    },
  };
}

/** Leaves out what opens a database and what reads archives in a worker. */
const withoutDatabase: esbuild.Plugin = {
  name: "without-database",
  setup(build) {
    build.onLoad({ filter: /\/(lib\/cli\/database|lib\/intake\/archive_worker)\.ts$/ }, () => ({
      contents: `export function openCurrentDatabase() {
        throw new Error("this is the program for CI jobs, which has no database");
      }`,
      loader: "js",
    }));
  },
};

/** Replaces the module that lets PGLite read its files by one that contains them. */
function embeddedFiles(packages: string): esbuild.Plugin {
  return {
    name: "embedded-files",
    setup(build) {
      build.onLoad({ filter: /\/db\/embedded\/files\.ts$/ }, async () => {
        const dist = join(packages, PGLITE, "dist");
        const [postgres, initdb, share] = await Promise.all(
          ["pglite.wasm", "initdb.wasm", "pglite.data"].map((name) => packed(join(dist, name))),
        );
        const contents = `
          import { Buffer } from "node:buffer";
          import { promisify } from "node:util";
          import { zstdDecompress } from "node:zlib";
          const unpack = (text) => promisify(zstdDecompress)(Buffer.from(text, "base64"));
          export async function embeddedFiles() {
            const [postgres, initdb, share] = await Promise.all(
              [${postgres}, ${initdb}, ${share}].map(unpack));
            return {
              pgliteWasmModule: await WebAssembly.compile(postgres),
              initdbWasmModule: await WebAssembly.compile(initdb),
              fsBundle: new Blob([share]),
            };
          }`;
        return { contents, loader: "js", resolveDir: ROOT };
      });
    },
  };
}

async function packed(path: string): Promise<string> {
  const bytes = await promisify(zstdCompress)(await readFile(path), {
    params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL },
  });
  return JSON.stringify(Buffer.from(bytes).toString("base64"));
}

async function partsOf(metafile: esbuild.Metafile, packages: string): Promise<Part[]> {
  const bytes = new Map<string, number>();
  for (const output of Object.values(metafile.outputs)) {
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      const folder = folderOf(input.endsWith(REPLACED_FILE) ? join(packages, PGLITE) : input);
      bytes.set(folder, (bytes.get(folder) ?? 0) + bytesInOutput);
    }
  }
  const parts = await Promise.all([...bytes].map(([folder, bytes]) => partOf(folder, bytes)));
  return parts.sort((a, b) => b.bytes - a.bytes);
}

/** The folder of the package that a file belongs to, or the project's. */
function folderOf(file: string): string {
  const path = resolve(ROOT, file);
  const [folder = ROOT] = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [];
  return Deno.realPathSync(folder);
}

async function partOf(folder: string, bytes: number): Promise<Part> {
  const own = folder === Deno.realPathSync(ROOT);
  const file = join(folder, own ? "deno.json" : "package.json");
  const { name, version, license } = JSON.parse(await Deno.readTextFile(file));
  return { name, bytes, version, licence: license, licenceText: await licenceTextIn(folder) };
}

async function licenceTextIn(folder: string): Promise<string> {
  for (const name of ["LICENSE", "LICENSE.md"]) {
    try {
      return await Deno.readTextFile(join(folder, name));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return "";
}
