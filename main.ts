/** The door: reads the command line, runs one command, ends with its exit code. */
import { endProcess } from "./lib/cli/end_process.ts";
import { processIo } from "./lib/cli/process_io.ts";
import { runCli } from "./lib/cli/program.ts";

if ("WorkerGlobalScope" in globalThis) {
  // The bundle, which starts itself as the worker thread that reads archives.
  await import("./lib/cli/intake/archive_worker.ts");
} else if (import.meta.main) {
  const io = processIo();
  endProcess(await runCli(Deno.args, io), io.environment);
}
