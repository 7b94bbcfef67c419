import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { glob } from "node:fs/promises";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Database, openDatabase } from "../../db/connection/connect.ts";
import { copyTemplate, openTestServer, withDatabase } from "../database.ts";
import { runHere } from "../e2e/prepare.ts";
import { NO_CI } from "../no_ci.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Guides whose commands are run, block after block, in one shell and a new folder. */
const GUIDES = [
  "install",
  "docker",
  "backup_and_restore",
  "upgrade_and_rollback",
  "retention",
  "quarantine",
];

/** Guides of many commands, which open the database faster while it is open. */
const OPEN = ["retention", "quarantine"];

/** Guides that cannot be run in a test: all their blocks are marked `sh elsewhere`. */
const NOT_RUN = ["systemd", "reverse_proxy", "replicas", "citus"];

/** Milliseconds that the commands of a guide may take: some wait for what never comes if it is wrong. */
const TIMEOUT_MS = 300_000;

/** A process of its own for services, and for what reads standard input or the current folder. */
const PROCESSES = ["serve", "up", "import"];

/** URL of a PostgreSQL server; empty when there is none. */
const SERVER = process.env.TEST_DATABASE_URL ?? "";

async function guideText(name: string): Promise<string> {
  return await Deno.readTextFile(join(ROOT, "docs/guides", `${name}.md`));
}

/** The commands of all blocks with a mark: `sh`, `sh server` or `sh elsewhere`. */
function commandsOf(text: string, mark: string): string {
  return [...text.matchAll(/^```(sh.*)\n([^]*?)^```$/gm)]
    .filter(([, found]) => found === mark).map(([, , commands]) => commands).join("\n");
}

/** Waits with curl until the service responds: each try of a guide is a process of the program. */
function withCurl(commands: string): string {
  return commands.replaceAll(
    /^until test-analytics healthcheck /gm,
    "until curl --silent --fail http://127.0.0.1:8000/health >/dev/null; do sleep 0.2; done\n$&",
  );
}

/**
 * Serves the other commands of the guides: they run in this process, because one of their own takes a second
 * of processor time. A request has the arguments and the environment; the response is the exit code.
 */
function serveCommands() {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const parts = (await request.text()).split("\0");
    const args = parts.splice(0, Number(request.headers.get("arguments")));
    const environment = Object.fromEntries(
      parts.filter((part) => part !== "").map((part) => part.split(/=([^]*)/, 2)),
    );
    const { PWD = "", DATA_DIR = "" } = environment;
    const { code, stdout, stderr } = await runHere(args, {
      ...environment,
      DATA_DIR: resolve(PWD, DATA_DIR || "data"),
    });
    const answer = request.headers.get("answer")!;
    await Deno.writeTextFile(join(answer, "stdout"), stdout);
    await Deno.writeTextFile(join(answer, "stderr"), stderr);
    return new Response(String(code));
  });
}

/** The program of the guides. */
const PROGRAM = `#!/bin/sh
case $1 in ${PROCESSES.join(" | ")}) exec "${Deno.execPath()}" run -A "${ROOT}main.ts" "$@" ;; esac
answer=$(mktemp -d)
code=$({ printf '%s\\0' "$@" && env -0; } |
  curl --silent -H "arguments: $#" -H "answer: $answer" --data-binary @- "$COMMANDS")
cat "$answer/stdout"
cat "$answer/stderr" >&2
rm -r "$answer"
exit "$code"
`;

/** Files whose text names a command for pytest. */
async function* textsWithCommands(): AsyncGenerator<[path: string, text: string], void> {
  for (const folder of ["docs", "deploy", "lib"]) {
    for await (const path of glob(join(ROOT, folder, "**/*.{md,yml,sh,ts}"))) {
      yield [path, await Deno.readTextFile(path)];
    }
  }
}

describe("the guides", () => {
  it("have one command for pytest: without the file, a test would be another test", async () => {
    let count = 0;
    for await (const [path, text] of textsWithCommands()) {
      for (const [command] of text.matchAll(/pytest --junitxml=[^`"\n]*/g)) {
        assert.match(command, /^pytest --junitxml=\S+ -o junit_family=xunit1/, path);
        count++;
      }
    }
    assert.ok(count > 8, String(count));
  });
});

describe("the guides to running the service", () => {
  let tools = "";
  let commandServer: Deno.HttpServer<Deno.NetAddr>;

  before(async () => {
    tools = await Deno.makeTempDir({ prefix: "test-analytics-tools-" });
    await Deno.writeTextFile(join(tools, "test-analytics"), PROGRAM, { mode: 0o755 });
    commandServer = serveCommands();
  });
  after(async () => {
    await commandServer.shutdown();
    await Deno.remove(tools, { recursive: true });
  });

  /** Runs commands in a new folder and returns their output; all must succeed. */
  async function run(
    commands: string,
    environment: Record<string, string>,
    { isOpen = false } = {},
  ): Promise<string> {
    const folder = await Deno.makeTempDir({ prefix: "test-analytics-guide-" });
    try {
      // Creating a database takes ten seconds of processor time; `cli_test.ts` does.
      const folders = ["data", ...commands.includes("/new-data") ? ["new-data"] : []];
      for (const name of folders) await Deno.rename(await copyTemplate(), join(folder, name));
      // As `up` leaves it.
      await Deno.mkdir(join(folder, "data", "inbox"), { mode: 0o700 });
      await Deno.mkdir(join(folder, "deploy"));
      for (const role of ["read_only", "upload", "writer"]) {
        const script = `deploy/${role}_role.sql`;
        await Deno.copyFile(join(ROOT, script), join(folder, script));
      }
      const database = isOpen ? await openDatabase({ dataDir: join(folder, "data") }) : null;
      const port = freePort();
      const uploadPort = freePort();
      const { code, stdout, stderr } = await new Deno.Command("bash", {
        args: [
          "-euo",
          "pipefail",
          "-c",
          // What the commands left running ends with them, also after a timeout.
          "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" +
          withCurl(commands).replaceAll(":8000", `:${port}`).replaceAll(":8001", `:${uploadPort}`),
        ],
        signal: AbortSignal.timeout(TIMEOUT_MS),
        cwd: folder,
        env: {
          ...NO_CI,
          HOST: "",
          DATABASE_URL: "",
          PORT: String(port),
          UPLOAD_PORT: String(uploadPort),
          PATH: `${tools}:${process.env.PATH}`,
          COMMANDS: `http://127.0.0.1:${commandServer.addr.port}`,
          ...environment,
        },
      }).output();
      await database?.close();
      const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      assert.equal(code, 0, decode(stdout) + decode(stderr));
      return decode(stdout);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }

  for (const name of GUIDES) {
    it(`has commands that work: ${name}`, async () => {
      const commands = commandsOf(await guideText(name), "sh");
      assert.notEqual(commands, "");
      const output = await run(commands, {}, { isOpen: OPEN.includes(name) });
      if (name !== "install") return;
      assert.match(output, /^\{"key":"acme\/shop\/\S+\.gz"\}$/m);
      assert.match(output, /"name":"adds up"/);
    });
  }

  it("marks every block of commands that is not run here", async () => {
    for (const name of [...GUIDES, ...NOT_RUN]) {
      for (const [, mark = ""] of (await guideText(name)).matchAll(/^```(sh.*)$/gm)) {
        assert.ok(["sh", "sh server", "sh elsewhere"].includes(mark), `${name}: ${mark}`);
      }
    }
    for (const name of NOT_RUN) assert.equal(commandsOf(await guideText(name), "sh"), "");
  });

  describe("with a PostgreSQL server", { skip: SERVER === "" }, () => {
    let database: Database;
    let url = "";

    before(async () => {
      database = await openTestServer(SERVER);
      const [row] = await database.sql<{ name: string }[]>`select current_database() as name`;
      url = withDatabase(SERVER, row?.name ?? "");
    });
    after(async () => {
      await database.close();
      const admin = await openDatabase({ databaseUrl: SERVER, dataDir: "", maxConnections: 1 });
      await admin.sql`drop database if exists restored with (force)`;
      await admin.sql`drop database if exists moved with (force)`;
      await admin.close();
    });

    it("has commands that work: backup_and_restore", async () => {
      const commands = commandsOf(await guideText("backup_and_restore"), "sh server");
      const output = await run(commands, { DATABASE_URL: url, DATA_DIR: "data" });
      assert.match(output, /^ok\tschema\t/m);
    });

    it("has commands that work: upgrade_and_rollback", async () => {
      const commands = commandsOf(await guideText("upgrade_and_rollback"), "sh server");
      const output = await run(commands, { DATABASE_URL: url, DATA_DIR: "data" });
      assert.match(output, /^shop$/m);
    });
  });
});

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}
