import type { Argument, Command, Option } from "commander";
import { COMMANDS } from "../lib/cli/commands/mod.ts";
import { makeProgram } from "../lib/cli/program.ts";

/** Options that every command has, or every command that opens the database. */
export const SHARED_OPTIONS = ["--help", "--json", "--database-url", "--data-dir"];

/** Every command in a line of its own, as the README shows it. */
export function usageLines(): string[] {
  return leafCommands().map(({ path, command }) =>
    [
      path,
      ...command.registeredArguments.map(usageOfArgument),
      ...command.options.filter((option) => !SHARED_OPTIONS.includes(option.long ?? ""))
        .map(usageOfOption),
    ].join(" ")
  );
}

/** Every command that does something, by what is typed for it, such as `org create`. */
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
    environment: {},
    now: () => 0,
    stderrIsTerminal: false,
    stop: never,
    stopAtOnce: never,
    openDatabase: () => Promise.reject(new Error("no command was run")),
  };
  walk(makeProgram(io, () => {}, COMMANDS), []);
  return found;
}

function usageOfArgument(argument: Argument): string {
  const name = argument.name() + (argument.variadic ? "..." : "");
  return argument.required ? `<${name}>` : `[${name}]`;
}

function usageOfOption(option: Option): string {
  return option.mandatory ? option.flags : `[${option.flags}]`;
}
