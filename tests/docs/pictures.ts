/**
 * The pictures of the README, made by running what they show.
 *
 * `deno run -A tests/docs/pictures.ts` writes them anew.
 */
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { NO_CI } from "../no_ci.ts";
import { start } from "../e2e/program.ts";
import { type TerminalPart, terminalPicture } from "./terminal_picture.ts";

/** The command that writes the pictures anew. */
export const REGENERATE = "deno run -A tests/docs/pictures.ts";

/** The badge of the demo's repository. */
export const BADGE_FILE = new URL("../../docs/pictures/flakiness.svg", import.meta.url);

/** The README's first steps. */
export const SESSION_FILE = new URL("../../docs/pictures/session.svg", import.meta.url);

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const README = new URL("../../README.md", import.meta.url);
const ADDRESS = "http://127.0.0.1:8000";

/** What makes the answer short enough for a picture. */
const IN_SHORT = "jq -r '.tests[] | [.disruptiveness, .name] | @tsv'";

const LABEL = "A terminal: an organization, its first reports and a token are made, " +
  "the service is started, and curl gets the flaky tests";

/** What the README lets a newcomer type: the commands up to `serve`, and what to ask with. */
interface FirstSteps {
  commands: string[];
  curl: string;
}

/**
 * The first steps as they are typed where the program is installed.
 *
 * @throws {Error} when the README has none
 */
export function firstSteps(readme: string): FirstSteps {
  const block = /^```sh\n(deno task cli [^]*?)deno task start\n```$/m.exec(readme)?.[1];
  const curl = /^curl -H .*$/m.exec(readme)?.[0];
  if (!block || !curl) throw new Error("the README has no first steps");
  const commands = block.trim().split("\n")
    .map((line) => line.replace(/^deno task cli/, "test-analytics"));
  return { commands, curl };
}

/** Asks a service that runs for the badge of the demo's repository. */
export async function demoBadge(url: string, token: string): Promise<string> {
  const answer = await fetch(`${url}/api/v1/flaky/badges?repository=acme/web-shop`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`no badge: ${answer.status} ${text}`);
  return text;
}

/**
 * Goes the first steps in a new folder and draws them. What is another each time is shown as if it
 * were always the same: the token and the submission's id, both cut, and the port.
 *
 * @param dataDir where the data goes, if not into that folder too: a test has an empty database ready
 * @throws {Error} when a step fails
 */
export async function sessionPicture(dataDir?: string): Promise<string> {
  const { commands, curl } = firstSteps(await Deno.readTextFile(README));
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-picture-" });
  try {
    const shell = await prepareShell(folder, dataDir ?? join(folder, "data"));
    const parts: TerminalPart[] = [];
    let token = "";
    for (const command of commands) {
      const output = await shell.run(command, {});
      token = /^tk_[0-9a-f]{64}$/.exec(output)?.[0] ?? token;
      parts.push({ kind: "typed", text: command }, { kind: "output", text: output });
    }
    const service = await start(["serve"], { DATA_DIR: shell.dataDir, PORT: "0" });
    let answer = "";
    const question = `${curl.replace("curl -H", "curl -sH")} | ${IN_SHORT}`;
    try {
      answer = await shell.run(question.replace(ADDRESS, service.url), { TOKEN: token });
    } finally {
      const { stderr } = await service.stop("SIGTERM");
      const [ready = ""] = /^listening on .*$/m.exec(stderr) ?? [];
      parts.push({ kind: "typed", text: "test-analytics serve" });
      parts.push({ kind: "output", text: ready.replace(service.url, ADDRESS) });
    }
    parts.push(
      { kind: "remark", text: "\n# in another terminal" },
      { kind: "typed", text: `export TOKEN=${token}` },
      { kind: "typed", text: question },
      { kind: "output", text: answer },
    );
    return terminalPicture(
      parts.map(({ kind, text }) => ({ kind, text: alwaysSame(text) })),
      LABEL,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function alwaysSame(text: string): string {
  return text.replace(/tk_[0-9a-f]{64}/, "tk_1a2b…")
    .replace(/^(acme\/shop\/)[0-9a-f]{24}$/, "$1697f3ac0…");
}

/** Runs commands in a folder, where `test-analytics` is the program from source. */
async function prepareShell(folder: string, dataDir: string) {
  const tools = join(folder, "tools");
  await Deno.mkdir(tools);
  await Deno.symlink(join(ROOT, "fixtures"), join(folder, "fixtures"));
  const program = `exec "${Deno.execPath()}" run -A "${join(ROOT, "main.ts")}" "$@"`;
  // Not everybody who has the sources has their history; no picture shows the commit.
  const git = `echo 4b825dc642cb6eb9a060e54bf8d69288fbee4904`;
  for (const [name, line] of Object.entries({ "test-analytics": program, git })) {
    await Deno.writeTextFile(join(tools, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  }
  return {
    dataDir,
    async run(commandLine: string, environment: Record<string, string>): Promise<string> {
      const { code, stdout, stderr } = await new Deno.Command("bash", {
        args: ["-euo", "pipefail", "-c", commandLine],
        cwd: folder,
        env: {
          ...NO_CI,
          DATABASE_URL: "",
          DATA_DIR: dataDir,
          PATH: `${tools}:${process.env.PATH}`,
          ...environment,
        },
      }).output();
      const [said = "", noted = ""] = [stdout, stderr].map((bytes) =>
        new TextDecoder().decode(bytes)
      );
      if (code !== 0) throw new Error(`${commandLine} ended with ${code}: ${noted}`);
      return (noted + said).trimEnd();
    },
  };
}

if (import.meta.main) {
  await Deno.writeTextFile(SESSION_FILE, await sessionPicture());
  const demo = await start(["demo", "--port", "0"], {});
  try {
    const [token = ""] = demo.stdout().split("\n");
    await Deno.writeTextFile(BADGE_FILE, await demoBadge(demo.url, token));
  } finally {
    await demo.stop("SIGINT");
  }
}
