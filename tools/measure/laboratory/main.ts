// deno-lint-ignore-file no-console -- a program of its own
/**
 * Makes the reports of the laboratory: installs each tool (packages of npm and Debian), runs it on its
 * project with planted tests, and keeps the reports as fixtures, each with its truth. Says what
 * changed. The tests read the fixtures only.
 *
 * `deno task measure laboratory [TOOL...]`, all without arguments. `LABORATORY_PYTHONPATH` names folders with the
 * sources and metadata of newer packages of Python; without it their tools are left out.
 */
import { copy } from "./copy_folder.ts";
import { normalize } from "./normalize.ts";
import { TOOLS } from "./tools/mod.ts";
import type { Tool } from "./tools/tool.ts";
import { FIXTURES, type ToolTruth, truthOf, verdictsOf } from "./verdicts.ts";
import { fileURLToPath } from "node:url";

const PROJECTS = fileURLToPath(new URL("projects/", import.meta.url));
const WORK = Deno.env.get("LABORATORY_FOLDER") ?? "/tmp/laboratory";
// Of the whole machine, as other programs use it.
const TIMEOUT = "timeout 300 nice";
const PYTHONPATH = Deno.env.get("LABORATORY_PYTHONPATH") ?? "";

interface Output {
  code: number;
  text: string;
}

async function shell(command: string, cwd: string, path = ""): Promise<Output> {
  const { code, stdout, stderr } = await new Deno.Command("bash", {
    args: ["-c", command],
    cwd,
    env: {
      PATH: path + Deno.env.get("PATH"),
      FIXTURES: fileURLToPath(FIXTURES),
      PYTEST: "/usr/bin/python3 -m pytest -q -p no:cacheprovider",
      NEW_PYTHON: `env PYTHONPATH=${PYTHONPATH} PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python3`,
      NO_COLOR: "1",
      CI: "true",
    },
  }).output();
  const decoder = new TextDecoder();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

/** Installs the packages of a tool; returns the folder of those of npm and all versions. */
async function install(name: string, tool: Tool): Promise<{ modules: string; versions: string[] }> {
  const folder = `${WORK}/npm/${name}`;
  await Deno.mkdir(folder, { recursive: true });
  const versions: string[] = [];
  if (tool.debian) {
    const packages = tool.debian.join(" ");
    const installed = await shell(`dpkg-query -W -f '\${Status}\\n' ${packages}`, folder);
    if (installed.text.split("install ok installed").length <= tool.debian.length) {
      const { code, text } = await shell(
        `DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ${packages}`,
        folder,
      );
      if (code !== 0) throw new Error(`apt-get install ${packages}: ${text.slice(-1_000)}`);
    }
    const query = await shell(
      `dpkg-query -W -f '\${Package} \${source:Upstream-Version}\\n' ${packages}`,
      folder,
    );
    versions.push(...query.text.trim().split("\n"));
  }
  if (tool.npm) {
    await Deno.writeTextFile(`${folder}/package.json`, '{ "private": true }\n');
    const { code, text } = await shell(
      `npm install --no-audit --no-fund ${tool.npm.join(" ")}`,
      folder,
    );
    if (code !== 0) throw new Error(`npm install: ${text.slice(-1_000)}`);
    for (const each of tool.npm) {
      const name = each.replace(/(?<=.)@.*/, "");
      const manifest = await Deno.readTextFile(`${folder}/node_modules/${name}/package.json`);
      versions.push(`${name} ${JSON.parse(manifest).version}`);
    }
  }
  if (tool.python) {
    const program = "import importlib.metadata, sys; " +
      "[print(name, importlib.metadata.version(name)) for name in sys.argv[1:]]";
    const { code, text } = await shell(
      `$NEW_PYTHON -c ${quoted(program)} ${tool.python.join(" ")}`,
      folder,
    );
    if (code !== 0) throw new Error(`python: ${text.slice(-1_000)}`);
    versions.push(...text.trim().split("\n"));
  }
  if (versions.length === 0) versions.push(`node ${(await shell("node --version", WORK)).text}`);
  return { modules: `${folder}/node_modules`, versions: versions.map((text) => text.trim()) };
}

async function make(name: string, tool: Tool): Promise<void> {
  const { modules, versions } = await install(name, tool);
  const fixtures = new URL(`${name}/`, FIXTURES);
  const before = await truthOf(name).catch(() => null);
  const truth: ToolTruth = { made: versions.join(", "), runs: {} };
  if (before && before.made !== truth.made) console.log(`${name}: ${before.made} -> ${truth.made}`);
  await Deno.mkdir(fixtures, { recursive: true });
  for (const [run, { command, files = "report.xml", ...facts }] of Object.entries(tool.runs)) {
    const folder = `${WORK}/run/shop`;
    await Deno.remove(folder, { recursive: true }).catch(() => {});
    await copy(`${PROJECTS}${tool.project ?? name}`, folder);
    if (tool.npm) await Deno.symlink(modules, `${folder}/node_modules`);
    const path = `${modules}/.bin:`;
    if (tool.prepare) await shell(tool.prepare, folder, path);
    const { code, text } = await shell(`${TIMEOUT} bash -c ${quoted(command)}`, folder, path);
    const found = (await shell(`ls ${files}`, folder)).text.trim().split("\n");
    const written: string[] = [];
    for (const file of found) {
      const report = await Deno.readTextFile(`${folder}/${file}`).catch(() => null);
      if (report === null) throw new Error(`${name} ${run}: exit code ${code}, no report: ${text}`);
      const base = file.replace(/^.*\//, "").replace(/-\d{14}(?=\.xml$)/, "");
      const extension = base.replace(/^.*\./, "");
      const target = /^(?:ctrf-)?report\./.test(base) ? `${run}.${extension}` : `${run}_${base}`;
      const hosts = [Deno.hostname()];
      const normal = normalize(report, { folders: [folder], modules: [modules], hosts });
      await Deno.writeTextFile(new URL(target, fixtures), normal);
      written.push(target);
    }
    truth.runs[run] = { files: written.sort(), command, ...facts };
    await report(name, run, truth, before);
  }
  await Deno.writeTextFile(
    new URL("truth.json", fixtures),
    JSON.stringify(truth, null, 2) + "\n",
  );
}

/** Says what a run's verdicts are, and whether they were others before. */
async function report(
  name: string,
  run: string,
  { runs }: ToolTruth,
  before: ToolTruth | null,
): Promise<void> {
  const fixtures = new URL(`${name}/`, FIXTURES);
  const verdicts = await verdictsOf(fixtures, runs[run]!);
  const wrong = Object.entries(verdicts)
    .filter(([planted, verdict]) => verdict !== runs[run]!.truth[planted])
    .map(([planted, verdict]) => `${planted}: ${verdict}, in truth ${runs[run]!.truth[planted]}`);
  const isNew = before?.runs[run] === undefined;
  console.log(`${name} ${run}${isNew ? " (new)" : ""}: ${wrong.join("; ") || "all as in truth"}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

await Deno.mkdir(WORK, { recursive: true });
const names = Deno.args.length > 0 ? Deno.args : Object.keys(TOOLS);
let failed = 0;
for (const name of names) {
  const tool = TOOLS[name];
  if (!tool) throw new Error(`no tool "${name}": expected ${Object.keys(TOOLS).join(", ")}`);
  if (tool.python && PYTHONPATH === "") {
    console.log(`${name}: left out, LABORATORY_PYTHONPATH is not set: ${tool.python.join(", ")}`);
    continue;
  }
  try {
    await make(name, tool);
  } catch (error) {
    failed++;
    console.error(`${name}: ${(error as Error).message}`);
  }
}
console.log("git diff --stat fixtures/laboratory shows which reports changed");
Deno.exit(failed > 0 ? 1 : 0);
