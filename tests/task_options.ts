/** Command lines of the long-running tasks: errors in one line, without a stack. */
import process from "node:process";

/**
 * The options of a task. Exits with 2 and an example when they are invalid, and with 0 after the usage
 * for `--help`.
 *
 * @param read parses the arguments; throws when they are invalid
 * @param usage output of `--help`
 * @param example a command that works, printed after the error
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
