/** Options of the tasks that take long: what is wrong with them is said in a line, not with a stack. */
import process from "node:process";

/**
 * What a task was asked for.
 *
 * Ends the process with 2 when it makes no sense, and with 0 after showing how it is used when it
 * was asked for help.
 *
 * @param read the options out of the arguments; throws when they make no sense
 * @param usage what `--help` shows: a line for each way to call it
 * @param example a call that works, shown after what is wrong
 */
export function taskOptions<T>(
  read: (args: string[]) => T,
  { usage, example }: { usage: string; example: string },
): T {
  const args = process.argv.slice(2);
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(`${usage.trim()}\n`);
    process.exit(0);
  }
  try {
    return read(args);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.stderr.write(`Try: ${example}\n`);
    process.exit(2);
  }
}
