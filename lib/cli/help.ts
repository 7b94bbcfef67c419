/** The sections of `--help` below the options. */
import {
  describeSetting,
  meaningHere,
  type Setting,
  type SettingName,
  SETTINGS,
} from "../base/config.ts";

/** Exit codes. */
export const EXIT = { done: 0, failed: 1, usedWrongly: 2 } as const;

/** The sections below the options of a command. */
export function commandHelp({ details, environment, exitCodes, examples }: {
  /** Paragraphs. */
  details: readonly string[];
  /** Environment variables that the command reads. */
  environment: readonly SettingName[];
  /** Exit codes that mean something else than usual. */
  exitCodes: Partial<Record<keyof typeof EXIT, string>>;
  /** Commands without the program's name. */
  examples: readonly string[];
}): string {
  const codes = { ...USUAL_EXIT_CODES, ...exitCodes };
  return [
    ...details.length > 0 ? [section("Description", details.map(wrapped).join("\n\n"))] : [],
    section("Environment", settingsTable(environment, meaningHere)),
    section(
      "Exit codes",
      Object.entries(EXIT).map(([name, code]) => `  ${code}  ${codes[name as keyof typeof EXIT]}`)
        .join("\n"),
    ),
    section("Example", examples.map((line) => `  test-analytics ${line}`).join("\n")),
  ].join("\n");
}

/** The sections below the list of commands. */
export function programHelp(): string {
  return [
    section(
      "Environment (options win; an empty variable counts as unset)",
      settingsTable(SETTINGS.map(({ name }) => name)),
    ),
    section(
      "Exit codes",
      Object.entries(EXIT).map(([name, code]) =>
        `  ${code}  ${USUAL_EXIT_CODES[name as keyof typeof EXIT]}`
      ).join("\n"),
    ),
    section(
      "Example",
      "  test-analytics demo\n  test-analytics serve --help\n  test-analytics doctor",
    ),
  ].join("\n");
}

const WIDTH = 100;

const USUAL_EXIT_CODES: Record<keyof typeof EXIT, string> = {
  done: "success; also when there was nothing to change",
  failed: "failure; standard error has the reason",
  usedWrongly: "usage error; the last line on standard error is a valid command",
};

function section(title: string, body: string): string {
  return `\n${title}:\n${body}`;
}

function settingsTable(
  names: readonly SettingName[],
  meaningOf = ({ meaning }: Setting) => meaning,
): string {
  const width = Math.max(...names.map((name) => name.length));
  return names.map((name) => {
    const described = describeSetting(name);
    const { default: holds } = described;
    const meaning = meaningOf(described);
    return `  ${name.padEnd(width)}  ${meaning}${holds === "" ? "" : ` (default: ${holds})`}`;
  }).join("\n");
}

function wrapped(paragraph: string): string {
  const lines = [""];
  for (const word of paragraph.split(" ")) {
    const line = lines.at(-1)!;
    if (line === "") lines[lines.length - 1] = `  ${word}`;
    else if (line.length + 1 + word.length <= WIDTH) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines.join("\n");
}
