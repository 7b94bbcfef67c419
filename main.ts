/** The door: reads the command line, runs one command, ends with its exit code. */
import { processIo } from "./lib/cli/process_io.ts";
import { runCli } from "./lib/cli/program.ts";

if (import.meta.main) Deno.exit(await runCli(Deno.args, processIo()));
