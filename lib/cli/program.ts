import { Command, CommanderError } from "commander";
import { setting } from "../base/config.ts";
import { PROGRAM } from "../base/version.ts";
import { BUILD } from "../system/build.ts";
import { type AddCommand, asUsageError } from "./command.ts";
import type { CliIo } from "./io.ts";
import { COMMANDS } from "./commands/mod.ts";
import { ExitWith } from "./errors.ts";
import { Failure, UsageError } from "../base/failure.ts";
import { EXIT, programHelp } from "./help.ts";
import { oneLine } from "../base/text.ts";
import { errorCode, errorMessage } from "../base/error.ts";

const EXAMPLE = "org list";

/** Runs one command (`argv`: what follows the program's name), and returns the exit code. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  let help = "";
  try {
    const program = makeProgram(io, (text) => help += text, await commandsFor(argv), argv);
    await Promise.race([program.parseAsync(argv, { from: "user" }), stoppedAtOnce(io)]);
    return EXIT.done;
  } catch (error) {
    try {
      if (error instanceof ExitWith) return error.exitCode;
      if (!(error instanceof CommanderError)) return report(error, io);
      // `--help` and `--version` are printed on standard output.
      await io.stdout(help);
      return EXIT.done;
    } catch (error) {
      return report(error, io);
    }
  }
}

/** The command that is run, or all of them for `--help`, `completion` and for an unknown name. */
async function commandsFor([name = ""]: readonly string[]): Promise<readonly AddCommand[]> {
  const load = Object.hasOwn(COMMANDS, name) && name !== "completion" ? COMMANDS[name] : undefined;
  return await Promise.all((load ? [load] : Object.values(COMMANDS)).map((load) => load()));
}

/** The program with these commands. */
export function makeProgram(
  io: CliIo,
  writeHelp: (text: string) => void,
  commands: readonly AddCommand[],
  argv: readonly string[] = [],
): Command {
  const program = new Command(PROGRAM)
    .description("Flaky-test analytics for CI: stores test reports and serves an HTTP API")
    .version(BUILD)
    // Passes `--` on to the command.
    .enablePositionalOptions()
    .configureOutput({ writeOut: writeHelp, writeErr: io.stderr, outputError: () => {} })
    .configureHelp({ helpWidth: 80, minWidthToWrap: 30 })
    .addHelpText("after", programHelp())
    .exitOverride(asUsageError(EXAMPLE));
  for (const add of commands) add(program, io, argv);
  return program;
}

/** Rejects at the second signal. */
function stoppedAtOnce(io: CliIo): Promise<never> {
  return new Promise((_resolve, reject) => {
    const onAbort = () =>
      reject(new Failure("stopped by a second signal before all work was done"));
    if (io.stopAtOnce.aborted) onAbort();
    else io.stopAtOnce.addEventListener("abort", onAbort, { once: true });
  });
}

/** Prints an error, and returns the exit code. */
function report(error: unknown, io: CliIo): number {
  const code = errorCode(error);
  const explanation = code === DENIED
    ? `the database user lacks a privilege: ${
      errorMessage(error)
    }: expected the owner of the tables, or a ` +
      "user with that privilege"
    : EXPLANATIONS[code];
  const message = explanation ? `${explanation} (${code})` : errorMessage(error);
  io.stderr(`error: ${oneLine(message)}\n`);
  if (error instanceof UsageError) {
    io.stderr(`Try: ${PROGRAM} ${error.example ?? EXAMPLE}\n`);
    return EXIT.usage;
  }
  if (code === READ_ONLY) io.stderr(`Try: ${PROGRAM} doctor\n`);
  const isDebug = setting(io.environment, "TEST_ANALYTICS_DEBUG") !== "";
  if (isDebug && error instanceof Error) io.stderr(`${error.stack}\n`);
  return EXIT.failed;
}

/** SQLSTATE: read-only transaction, on a standby or for a read-only user. */
const READ_ONLY = "25006";

/** SQLSTATE: insufficient privilege; the message of PostgreSQL names the table. */
const DENIED = "42501";

// Clearer than the messages of the driver and of PostgreSQL.
const LOST = "lost the connection to the database before the work was confirmed: " +
  "run the command again";
const EXPLANATIONS: Record<string, string> = {
  CONNECTION_CLOSED: LOST,
  CONNECTION_DESTROYED: LOST,
  "57P01": LOST,
  [READ_ONLY]:
    "the database is read-only: expected a primary in DATABASE_URL and a user with write privileges",
};
