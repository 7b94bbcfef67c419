import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, it } from "@std/testing/bdd";
import { imports } from "./import_graph.ts";
import { mirrorOf, namedTests } from "./run.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** The parts of the program, and the parts that each may import. Arrows point one way. */
const MAY_IMPORT: Record<string, string[]> = {
  main: ["cli", "intake"],
  cli: [
    "mcp",
    "forge",
    "webhook_sender",
    "api_client",
    "routes",
    "intake",
    "storage",
    "http",
    "db",
    "system",
    "pure",
  ],
  mcp: ["api_client", "pure"],
  api_client: ["pure"],
  forge: ["pure"],
  routes: ["http", "db", "pure"],
  intake: ["storage", "http", "db", "pure"],
  storage: ["system", "pure"],
  webhook_sender: ["db", "pure"],
  http: ["db", "system", "pure"],
  db: ["system", "pure"],
  system: ["pure"],
  pure: [],
};

/** The folders of `db`: each may import those before it. */
const DB_FOLDERS = ["embedded", "connection", "schema", "read", "write", "admin"];

function partOf(path: string): string {
  if (path === "main.ts") return "main";
  const [top = "", second = ""] = path.split("/");
  if (top !== "lib") return top;
  return second in MAY_IMPORT ? second : "pure";
}

async function sources(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

/** The modules that a file imports, as written. */
async function importsOf(path: string): Promise<string[]> {
  const text = await readFile(join(ROOT, path), "utf8");
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1]!);
}

/** The project's files that each file imports, types included, which are erased before it is loaded. */
async function importGraph(): Promise<Map<string, string[]>> {
  return await graphOf(async (file) =>
    (await importsOf(file)).filter((specifier) => /^\..*\.ts$/.test(specifier))
  );
}

/** The project's files that are loaded with each file. */
async function loadGraph(): Promise<Map<string, string[]>> {
  return await graphOf(async (file) => {
    const text = await readFile(join(ROOT, file), "utf8");
    const statements = text.matchAll(
      /^(?:import|export)(?! type)\s+(?:([^"';]*?)\s+from\s+)?"(\.[^"]+\.ts)"/gm,
    );
    return [...statements]
      .filter(([, names = ""]) => !/^\{(?:\s*type\s[^,}]*,?)+\s*\}$/.test(names))
      .map(([, , specifier]) => specifier!);
  });
}

async function graphOf(specifiersOf: (file: string) => Promise<string[]>) {
  const graph = new Map<string, string[]>();
  for (
    const file of ["main.ts", ...(await Promise.all(["lib", "db", "routes"].map(sources))).flat()]
  ) {
    const specifiers = await specifiersOf(file);
    graph.set(file, specifiers.map((one) => posix.join(posix.dirname(file), one)));
  }
  return graph;
}

/** What makes a file depend on more than what it is given. */
function impurities(text: string): string[] {
  const names = [
    /node:(?:fs|process|timers|child_process|worker_threads|https?|dns|os|perf_hooks)\b/,
    /\bDeno\.\w+/,
    /\bDate\.now\b|\bnew Date\b(?:\(\))?(?!\()/,
    /\bperformance\./,
    /\b(?:setTimeout|setInterval|setImmediate|queueMicrotask|fetch|WebSocket|Worker)(?=\()/,
    /\bMath\.random\b|\bcrypto\.\w+|\brandom(?:Bytes|Int|UUID|Fill\w*)\b/,
  ];
  const found = new RegExp(names.map(({ source }) => source).join("|"), "g");
  return [...new Set(Array.from(text.matchAll(found), ([name]) => name))].sort();
}

/** The names that a file exports. */
function exportsIn(text: string): string[] {
  const declarations = text.matchAll(
    /^export (?:async )?(?:abstract )?(?:function\*?|class|const|let|interface|type) (\w+)/gm,
  );
  return [...declarations].map(([, name]) => name!);
}

/** Import cycles, each from its first file back to it. */
function circlesIn(graph: Map<string, string[]>): string[] {
  const circles: string[] = [];
  const finished = new Set<string>();
  function visit(file: string, road: string[]): void {
    const at = road.indexOf(file);
    if (at !== -1) circles.push([...road.slice(at), file].join(" -> "));
    if (at !== -1 || finished.has(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...road, file]);
    finished.add(file);
  }
  for (const file of graph.keys()) visit(file, []);
  return circles;
}

describe("the architecture", () => {
  it("has imports that point one way only", async () => {
    const files = ["main.ts", ...(await Promise.all(["lib", "db", "routes"].map(sources))).flat()];
    const wrong: string[] = [];
    const unused = new Set(
      Object.entries(MAY_IMPORT).flatMap(([part, targets]) => targets.map((to) => `${part} ${to}`)),
    );
    for (const file of files) {
      const part = partOf(file);
      for (const specifier of await importsOf(file)) {
        if (!/^\..*\.ts$/.test(specifier)) continue;
        const target = partOf(posix.join(posix.dirname(file), specifier));
        unused.delete(`${part} ${target}`);
        if (target !== part && !MAY_IMPORT[part]?.includes(target)) {
          wrong.push(`${file} (${part}) imports ${specifier} (${target})`);
        }
      }
    }
    assert.ok(files.length > 20, "expected to find the sources");
    assert.deepEqual(wrong, []);
    assert.deepEqual([...unused], [], "what no file needs is allowed");
  });

  it("has pure subjects, which know neither disk, network, clock nor chance", async () => {
    const impure: Record<string, string[]> = {};
    for (const file of (await sources("lib")).filter((file) => partOf(file) === "pure")) {
      const found = impurities(await readFile(join(ROOT, file), "utf8"));
      if (found.length > 0) impure[file] = found;
    }
    assert.deepEqual(impure, {
      "lib/base/delay.ts": ["node:timers", "setTimeout"],
      "lib/base/metrics.ts": ["Deno.memoryUsage", "node:process", "performance."],
      "lib/base/token.ts": ["randomBytes"],
      "lib/report/file_chunks.ts": ["node:fs"],
      "lib/report/file_head.ts": ["node:fs"],
      "lib/report/path_prefix.ts": ["node:fs"],
      "lib/report/report_files.ts": ["node:fs"],
      "lib/webhook/retry.ts": ["Math.random"],
      "lib/webhook/signature.ts": ["randomBytes"],
    });
    for (const name of ["Date.now()", "new Date()", "new Date"]) {
      assert.equal(impurities(`const x = ${name};`).length, 1, name);
    }
    assert.deepEqual(impurities("new Date(seconds * 1000); // fetched, Deno"), []);
  });

  it("has folders of db that import one way only", async () => {
    const wrong: string[] = [];
    const files = await sources("db");
    const rankOf = (path: string) => DB_FOLDERS.indexOf(path.split("/")[1]!);
    for (const file of files) {
      for (const specifier of await importsOf(file)) {
        const target = posix.join(posix.dirname(file), specifier);
        // A file of `db` itself belongs to no folder: all may import it.
        if (target.startsWith("db/") && rankOf(target) > rankOf(file)) {
          wrong.push(`${file} imports ${target}`);
        }
      }
    }
    const folders = new Set(files.map((file) => file.split("/")[1]!));
    assert.deepEqual(
      [...folders].filter((name) => !name.endsWith(".ts")).sort(),
      DB_FOLDERS.toSorted(),
    );
    assert.deepEqual(wrong, []);
  });

  it("decodes lists of tests, exceptions and durations in one file of db", async () => {
    const decoding: string[] = [];
    for (const file of await sources("db")) {
      const text = await readFile(join(ROOT, file), "utf8");
      const imports = text.matchAll(
        /import \{([^}]*)\} from "[./]*lib\/analysis\/(?:columns|varint)\.ts"/g,
      );
      // Writers encode.
      const names = imports.flatMap(([, names]) => names!.split(",").map((name) => name.trim()))
        .filter((name) => name !== "" && !name.startsWith("encode"));
      if ([...names].length > 0) decoding.push(file);
    }
    assert.deepEqual(decoding, ["db/read/runs.ts"]);
  });

  it("has no import cycles, type imports included", async () => {
    assert.deepEqual(circlesIn(new Map([["a", ["b"]], ["b", ["c", "a"]]])), ["a -> b -> a"]);
    assert.deepEqual(circlesIn(await importGraph()), []);
  });

  it("exports nothing that no other file imports", async () => {
    const graph = imports();
    const files = (await Promise.all(["lib", "db", "routes"].map(sources))).flat();
    const wrong: string[] = [];
    for (const file of files) {
      // The one road to the history of tests: what it offers is complete, not only what is used.
      if (file === "db/read/runs.ts") continue;
      const names = exportsIn(await readFile(join(ROOT, file), "utf8"));
      // Importers of a module that passes all on count too.
      const passedOn = posix.join(posix.dirname(file), "mod.ts");
      const importers = [...graph].filter(([, imported]) =>
        imported.includes(file) ||
        graph.get(passedOn)?.includes(file) && imported.includes(passedOn)
      );
      const texts = await Promise.all(
        importers.map(([importer]) => readFile(join(ROOT, importer), "utf8")),
      );
      for (const name of names) {
        if (!texts.some((text) => new RegExp(`\\b${name}\\b`).test(text))) {
          wrong.push(`${file}: ${name}`);
        }
      }
    }
    assert.deepEqual(exportsIn("export async function* a() {}\nexport type B = 1;"), ["a", "B"]);
    assert.deepEqual(wrong, []);
  });

  it("reaches lib/mcp only from its command, and the endpoint of the tools", async () => {
    const importers = [...await importGraph()]
      .filter(([file, imported]) =>
        partOf(file) !== "mcp" && imported.some((one) => partOf(one) === "mcp")
      ).map(([file]) => file);
    assert.deepEqual(importers.sort(), ["lib/cli/commands/mcp.ts", "lib/cli/tool_endpoint.ts"]);
  });

  it("loads nothing of the database for gate", async () => {
    const graph = await loadGraph();
    const loaded = new Set<string>();
    const visit = (file: string) => {
      if (loaded.has(file)) return;
      loaded.add(file);
      graph.get(file)!.forEach(visit);
    };
    ["main.ts", "lib/cli/main.ts", "lib/cli/commands/gate.ts"].forEach(visit);
    assert.ok(loaded.has("lib/gate/rule.ts"));
    assert.deepEqual([...loaded].filter((file) => file.startsWith("db/")), []);
    const packages = (await Promise.all([...loaded].map(importsOf))).flat();
    for (const name of ["postgres", "@electric-sql/pglite"]) assert.ok(!packages.includes(name));
  });

  it("has a test for each file: one that mirrors it, or those that its first line names", async () => {
    const files = (await Promise.all(["lib", "db", "routes"].map(sources))).flat();
    const wrong: string[] = [];
    for (const file of files) {
      const named = namedTests(await readFile(join(ROOT, file), "utf8"));
      const tests = named.length > 0 ? named : [mirrorOf(file)];
      if (!tests.every((test) => existsSync(join(ROOT, test)))) wrong.push(file);
    }
    assert.deepEqual(wrong, []);
  });

  it("keeps SQL inside db", async () => {
    const files = (await Promise.all(["lib", "routes"].map(sources))).flat();
    const wrong: string[] = [];
    for (const file of files) {
      const text = await readFile(join(ROOT, file), "utf8");
      if (/\b(?:sql|tx)(?:<[^`;]*>)?`/.test(text)) wrong.push(file);
    }
    assert.deepEqual(wrong, []);
  });

  it("builds SQL from text in few files, of constants alone", async () => {
    const known = new Set([
      "db/schema/migrate.ts",
      "db/connection/pool.ts",
    ]);
    const files = (await Promise.all(["lib", "db", "routes"].map(sources))).flat();
    const wrong: string[] = [];
    for (const file of files) {
      if (known.has(file)) continue;
      if (/\.unsafe\(/.test(await readFile(join(ROOT, file), "utf8"))) wrong.push(file);
    }
    assert.deepEqual(wrong, []);
  });
});

interface Config {
  imports: Record<string, string>;
}

async function configOf(path: string): Promise<Config> {
  return JSON.parse(await readFile(join(ROOT, path), "utf8"));
}

describe("the packages", () => {
  it("are at most thirteen, each imported by the program and listed in the decisions", async () => {
    const { imports } = await configOf("deno.json");
    const packages = Object.entries(imports).filter(([, target]) => target.startsWith("npm:"));
    assert.ok(packages.length <= 13, String(packages.length));
    const files = (await Promise.all(["lib", "db", "routes"].map(sources))).flat();
    const imported = (await Promise.all(files.map(importsOf))).flat();
    // `deno task static` checks the program with the packages of the tests.
    const tests = Object.keys((await configOf("tests/deno.json")).imports);
    for (const name of tests.filter((name) => !(name in imports))) {
      assert.ok(!imported.some((one) => one === name || one.startsWith(`${name}/`)), name);
    }
    const page = await readFile(join(ROOT, "docs/decisions/packages.md"), "utf8");
    for (const [name, target] of packages) {
      assert.ok(imported.some((one) => one === name || one.startsWith(`${name}/`)), name);
      const version = target.slice(target.lastIndexOf("@") + 1);
      const row = page.split("\n").find((line) => line.startsWith(`| \`${name}\` `));
      assert.ok(row?.includes(` ${version} `), `${name} ${version}`);
    }
  });

  it("have the same versions in the tests", async () => {
    const [program, tests] = await Promise.all(["deno.json", "tests/deno.json"].map(configOf));
    for (const [name, target] of Object.entries(program?.imports ?? {})) {
      if (target.startsWith("npm:")) assert.equal(tests?.imports[name], target);
    }
  });
});
