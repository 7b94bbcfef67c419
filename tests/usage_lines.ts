import type { Command } from "commander";
import { COMMANDS } from "../lib/cli/commands/mod.ts";
import { makeProgram } from "../lib/cli/program.ts";

const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()));

/** Options of every command, or of every command that opens the database. */
export const SHARED_OPTIONS = ["--help", "--json", "--database-url", "--data-dir"];

/** Every runnable command by its path, such as `org create`. */
export function leafCommands(): { path: string; command: Command }[] {
  const found: { path: string; command: Command }[] = [];
  const walk = (command: Command, path: string[]) => {
    if (command.commands.length === 0) found.push({ path: path.join(" "), command });
    for (const child of command.commands) walk(child, [...path, child.name()]);
  };
  const never = new AbortController().signal;
  const io = {
    stdout: () => Promise.resolve(),
    stderr: () => {},
    queueStderr: () => ({ add: () => {} }),
    environment: {},
    now: () => 0,
    stderrIsTerminal: false,
    stop: never,
    stopAtOnce: never,
    openDatabase: () => Promise.reject(new Error("no command was run")),
  };
  walk(makeProgram(io, () => {}, commands), []);
  return found;
}
