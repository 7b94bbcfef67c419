/** The door: reads the command line, runs one command, ends with its exit code. */
import { endProcess } from "./lib/cli/end_process.ts";
import { processIo } from "./lib/cli/process_io.ts";
import { runCli } from "./lib/cli/program.ts";

if (import.meta.main) {
  const io = processIo();
  endProcess(await runCli(Deno.args, io), io.environment);
}
