import { endProcess } from "./end_process.ts";
import { processIo } from "./process_io.ts";
import { runCli } from "./program.ts";

/** Runs the command line of this process to its end. */
export async function main(): Promise<void> {
  const io = processIo();
  endProcess(await runCli(Deno.args, io), io.environment);
}
