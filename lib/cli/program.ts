import { Command, CommanderError } from "commander";
import metadata from "../../deno.json" with { type: "json" };
import { type Environment, setting } from "../config.ts";
import { asUsageError, type CliIo } from "./command.ts";
import { addBackupCommand } from "./backup.ts";
import { addDemoCommand } from "./demo.ts";
import { addDoctorCommand } from "./doctor.ts";
import { Failure, UsageError } from "./errors.ts";
import { addHealthcheckCommand } from "./healthcheck.ts";
import { EXIT, programHelp } from "./help.ts";
import { addIngest } from "./ingest.ts";
import { addMcpCommand } from "./mcp.ts";
import { addMigrateCommand } from "./migrate.ts";
import { addOrgCommands } from "./org.ts";
import { oneLine } from "./output.ts";
import { addPruneCommand } from "./prune.ts";
import { addQuarantineCommands } from "./quarantine.ts";
import { addRepoCommands } from "./repo.ts";
import { addServeCommand } from "./serve.ts";
import { addSubmissionCommands } from "./submission.ts";
import { addTokenCommands } from "./token.ts";
import { addUpload } from "./upload.ts";
import { addWatch } from "./watch.ts";

const EXAMPLE = "org list";

/**
 * Runs one command and returns the exit code of the program: 0 done, 1 failed, 2 used wrongly.
 *
 * @param argv what follows the program's name
 */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  let help = "";
  const program = makeProgram(io, (text) => help += text);
  try {
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

/** The program with all its commands, for `runCli` and for tests that walk them. */
export function makeProgram(io: CliIo, writeHelp: (text: string) => void): Command {
  const program = new Command("test-analytics")
    .description("Flaky-test analytics of CI results: reports in, answers over HTTP")
    .version(metadata.version)
    // Else `--` would be swallowed before it reaches the command it is meant for.
    .enablePositionalOptions()
    .configureOutput({ writeOut: writeHelp, writeErr: io.stderr, outputError: () => {} })
    .configureHelp({ helpWidth: 100 })
    .addHelpText("after", programHelp())
    .exitOverride(asUsageError(EXAMPLE));
  addServeCommand(program, io);
  addDemoCommand(program, io);
  addMigrateCommand(program, io);
  addOrgCommands(program, io);
  addRepoCommands(program, io);
  addTokenCommands(program, io);
  addIngest(program, io);
  addUpload(program, io);
  addWatch(program, io);
  addSubmissionCommands(program, io);
  addQuarantineCommands(program, io);
  addPruneCommand(program, io);
  addMcpCommand(program, io);
  addDoctorCommand(program, io);
  addHealthcheckCommand(program, io);
  addBackupCommand(program, io);
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
