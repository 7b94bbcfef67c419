/** The sections of `--help` below the options. */
import { Help } from "commander";
import {
  describeSetting,
  meaningHere,
  type Setting,
  type SettingName,
  SETTINGS,
} from "../base/config.ts";
import { PROGRAM } from "../base/version.ts";

export const EXIT = { done: 0, failed: 1, usedWrongly: 2 } as const;

export type ExitCodes = Partial<Record<keyof typeof EXIT, string>>;

const USUAL_EXIT_CODES: ExitCodes = {
  done: "success; also when there was nothing to change",
  failed: "failure; standard error has the reason",
  usedWrongly: "usage error; the last line on standard error is a valid command",
};

/** The sections below the options of a command. */
export function commandHelp({ environment, exitCodes, examples }: {
  /** Environment variables that the command reads. */
  environment: readonly SettingName[];
  /** Exit codes that mean something else than usual. */
  exitCodes: ExitCodes;
  /** Commands without the program's name. */
  examples: readonly string[];
}): string {
  return [
    section("Environment", settingsTable(environment, meaningHere)),
    exitCodesSection(exitCodes),
    exampleSection(examples),
  ].join("\n");
}

/** The sections below the list of commands. */
export function programHelp(): string {
  return [
    section(
      "Environment (options win; an empty value counts as unset)",
      settingsTable(SETTINGS.map(({ name }) => name), ({ meaning }) => meaning),
    ),
    exitCodesSection({}),
    exampleSection(["demo", "serve --help", "doctor"]),
  ].join("\n");
}

function section(title: string, body: string): string {
  return `\n${title}:\n${body}`;
}

function exitCodesSection(changes: ExitCodes): string {
  const codes = Object.entries({ ...USUAL_EXIT_CODES, ...changes });
  return section(
    "Exit codes",
    codes.map(([name, meaning]) => `  ${EXIT[name as keyof typeof EXIT]}  ${meaning}`).join("\n"),
  );
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
