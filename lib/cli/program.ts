import { Command, CommanderError } from "commander";
import metadata from "../../deno.json" with { type: "json" };
import { type Environment, setting } from "../base/config.ts";
import { type AddCommand, asUsageError, type CliIo } from "./command.ts";
import { Failure, UsageError } from "./errors.ts";
import { EXIT, programHelp } from "./help.ts";
import { oneLine } from "./output.ts";

const EXAMPLE = "org list";

/**
 * Runs one command and returns the exit code of the program: 0 done, 1 failed, 2 used wrongly.
 *
 * @param argv what follows the program's name
 */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  let help = "";
  try {
    const program = makeProgram(io, (text) => help += text, await commandsFor(argv));
    await Promise.race([program.parseAsync(argv, { from: "user" }), stoppedAtOnce(io)]);
    return EXIT.done;
  } catch (error) {
    try {
      if (!(error instanceof CommanderError)) return report(error, io);
      // `--help` and `--version`: what was asked for is data.
      await io.stdout(help);
      return EXIT.done;
    } catch (error) {
      return report(error, io);
    }
  }
}

/**
 * Commands that CI jobs and supervisors start again and again. They begin without loading all the
 * others first.
 */
export const ALONE: Readonly<Record<string, () => Promise<AddCommand>>> = {
  serve: async () => (await import("./commands/serve.ts")).addServeCommand,
  ingest: async () => (await import("./commands/ingest.ts")).addIngest,
  upload: async () => (await import("./commands/upload.ts")).addUpload,
  watch: async () => (await import("./commands/watch.ts")).addWatch,
  mcp: async () => (await import("./commands/mcp.ts")).addMcpCommand,
  healthcheck: async () => (await import("./commands/healthcheck.ts")).addHealthcheckCommand,
};

/** The commands that have to be there for what was typed. */
async function commandsFor(argv: readonly string[]): Promise<readonly AddCommand[]> {
  const name = argv[0] ?? "";
  if (Object.hasOwn(ALONE, name)) return [await ALONE[name]!()];
  return (await import("./commands/mod.ts")).COMMANDS;
}

/** The program with these commands, for `runCli` and for tests that walk them. */
export function makeProgram(
  io: CliIo,
  writeHelp: (text: string) => void,
  commands: readonly AddCommand[],
): Command {
  const program = new Command("test-analytics")
    .description("Flaky-test analytics of CI results: reports in, answers over HTTP")
    .version(metadata.version)
    // Else `--` would be swallowed before it reaches the command it is meant for.
    .enablePositionalOptions()
    .configureOutput({ writeOut: writeHelp, writeErr: io.stderr, outputError: () => {} })
    .configureHelp({ helpWidth: 100 })
    .addHelpText("after", programHelp())
    .exitOverride(asUsageError(EXAMPLE));
  for (const add of commands) add(program, io);
  return program;
}

/** Fails at the second signal: whoever sends it does not want to wait for anything. */
function stoppedAtOnce(io: CliIo): Promise<never> {
  return new Promise((_resolve, reject) => {
    const onAbort = () => reject(new Failure("stopped at once, before all work was done"));
    if (io.stopAtOnce.aborted) onAbort();
    else io.stopAtOnce.addEventListener("abort", onAbort, { once: true });
  });
}

/** Tells people what went wrong, in a line or two, and says how the program ends. */
function report(error: unknown, io: CliIo): number {
  io.stderr(`error: ${oneLine(messageOf(error))}\n`);
  if (error instanceof UsageError) {
    io.stderr(`Try: test-analytics ${error.example ?? EXAMPLE}\n`);
    return EXIT.usedWrongly;
  }
  if (codeOf(error) === READ_ONLY) io.stderr("Try: test-analytics doctor\n");
  showStack(error, io.environment, io.stderr);
  return EXIT.failed;
}

/** What PostgreSQL says on a standby, and to users who should not write. */
const READ_ONLY = "25006";

// The library's and PostgreSQL's own words for these tell nobody what to do.
const LOST = "the connection to the database was lost before the work was confirmed: " +
  "run the command again";
const EXPLANATIONS: Record<string, string> = {
  CONNECTION_CLOSED: LOST,
  CONNECTION_DESTROYED: LOST,
  "57P01": LOST,
  "42501": "the database user may not do this: expected one with the right to write",
  [READ_ONLY]:
    "the database only takes reads: expected a primary (of several hosts in DATABASE_URL " +
    "target_session_attrs=read-write finds it), and a user with the right to write",
};

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Node's network errors may have no message of their own.
  const code = codeOf(error);
  const explanation = EXPLANATIONS[code];
  if (explanation) return `${explanation} (${code})`;
  return error.message.trim() || code || error.name;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

function showStack(error: unknown, environment: Environment, write: (text: string) => void): void {
  if (setting(environment, "TEST_ANALYTICS_DEBUG") === "" || !(error instanceof Error)) return;
  write(`${error.stack}\n`);
}
