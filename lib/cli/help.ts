// Tests: tests/lib/cli/program_test.ts
/** The sections of `--help` below the options. */
import { Help } from "commander";
import {
  describeSetting,
  meaningWithoutCommands,
  type Setting,
  type SettingName,
  SETTINGS,
} from "../base/config.ts";
import { PROGRAM } from "../base/version.ts";

export const EXIT = { done: 0, failed: 1, usage: 2 } as const;

export type ExitCodes = Readonly<Record<string, string>>;

const EXIT_CODES: ExitCodes = {
  [EXIT.done]: "success, including when there was nothing to change",
  [EXIT.failed]: "failure; the reason is on standard error",
  [EXIT.usage]: "usage error; the last line on standard error is a valid command",
};

/**
 * The sections below the options of a command: the environment variables that it reads, and examples
 * without the program's name.
 */
export function commandHelp(
  environment: readonly SettingName[],
  examples: readonly string[],
  exitCodes = EXIT_CODES,
): string {
  return [
    section("Environment", settingsTable(environment, meaningWithoutCommands)),
    exitCodeSection(exitCodes),
    exampleSection(examples),
  ].join("\n");
}

/** The sections below the list of commands. */
export function programHelp(): string {
  return [
    section(
      "Environment (options take precedence; empty means unset)",
      settingsTable(SETTINGS.map(({ name }) => name), ({ meaning }) => meaning),
    ),
    exitCodeSection(EXIT_CODES),
    exampleSection(["demo", "serve --help", "doctor"]),
  ].join("\n");
}

function section(title: string, body: string): string {
  return `\n${title}:\n${body}`;
}

function exitCodeSection(codes: ExitCodes): string {
  const width = Math.max(...Object.keys(codes).map((code) => code.length));
  const lines = Object.entries(codes).map(([code, meaning]) =>
    `  ${code.padEnd(width)}  ${meaning}`
  );
  return section("Exit codes", lines.join("\n"));
}

function exampleSection(examples: readonly string[]): string {
  return section("Example", examples.map((line) => `  ${PROGRAM} ${line}`).join("\n"));
}

function settingsTable(
  names: readonly SettingName[],
  meaningOf: (setting: Setting) => string,
): string {
  const width = Math.max(...names.map((name) => name.length));
  // Wraps at 80 columns.
  const help = new Help();
  return names.map((name) => {
    const described = describeSetting(name);
    const suffix = described.default === "" ? "" : ` (default: ${described.default})`;
    return help.formatItem(name, width, meaningOf(described) + suffix, help);
  }).join("\n");
}
