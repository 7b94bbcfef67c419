/**
 * The generated parts of the reference: the commands, the settings and the test tools.
 *
 * `deno task fix` regenerates them.
 */
import type { Argument, Command, Option } from "commander";
import { SETTINGS } from "../../lib/base/config.ts";
import { leafCommands, SHARED_OPTIONS } from "../../tests/usage_lines.ts";
import { writeJUnitTables } from "./junit_tables.ts";
import { markPattern } from "./marks.ts";

/** Regenerates the files. */
export const REGENERATE = "deno task fix";

/** The command line; only the text between marks is generated. */
export const COMMAND_LINE_FILE = new URL("../../docs/reference/command_line.md", import.meta.url);

/** The generated parts of the command line's reference, by the name of their mark. */
export function markedParts(): Record<string, string> {
  const commands = leafCommands();
  const byLine = Map.groupBy(
    commands.flatMap(({ command }) => ownOptions(command).filter((option) => !settingOf(option))),
    optionLine,
  );
  const candidates = [...byLine].filter(([, { length }]) => length >= COMMON_COMMANDS)
    .map(([line, [option]]) => [line, `\`${option!.long}\``] as const);
  // An option that means one of two things is described where it is.
  const common = new Map(
    candidates.filter(([line, name]) =>
      candidates.every(([other, otherName]) => other === line || otherName !== name)
    ).sort(([a], [b]) => a < b ? -1 : 1),
  );
  const chapters = [
    "### Common options",
    "Several commands have these options; their chapters only name them.",
    [...common.keys()].join("\n"),
    ...commands.map((one) => chapter(one, common)),
  ];
  return { commands: chapters.join("\n\n"), environment: environmentTable() };
}

/** Minimum number of commands that share an option before it is described once. */
const COMMON_COMMANDS = 3;

/** The variable that an option overrides, which the table of variables describes. */
function settingOf({ description }: Option): string | undefined {
  const [, text = "", name] = /^(.*) \(default: ([A-Z][A-Z_]*)(?:, or .*)?\)$/.exec(description) ??
    [];
  return SETTINGS.find((one) => one.name === name && one.meaning.endsWith(text))?.name;
}

function ownOptions(command: Command): Option[] {
  return command.options.filter((option) => !SHARED_OPTIONS.includes(option.long ?? ""));
}

function chapter(
  { path, command }: { path: string; command: Command },
  common: ReadonlyMap<string, string>,
): string {
  const options = ownOptions(command).filter((option) => !settingOf(option)).map(optionLine);
  const settings = ownOptions(command).filter(settingOf).map(({ long }) => `\`${long}\``);
  const lines = [
    ...command.registeredArguments.map(argumentLine),
    ...options.filter((line) => !common.has(line)),
  ];
  const names = options.flatMap((line) => common.get(line) ?? []);
  const takesDatabase = command.options.some(({ long }) => long === "--database-url");
  return [
    `### ${path}`,
    `${command.summary()}.${takesDatabase ? "" : " Does not use your database."}`,
    ...lines.length > 0 ? [lines.join("\n")] : [],
    ...settings.length > 0 ? [`[Settings](#environment): ${settings.join(", ")}.`] : [],
    ...names.length > 0 ? [`Common options: ${names.join(", ")}.`] : [],
  ].join("\n\n");
}

function argumentLine(argument: Argument): string {
  const name = argument.name().toUpperCase() + (argument.variadic ? "..." : "");
  return `- \`${name}\`${argument.required ? " (required)" : ""}: ${escaped(argument.description)}`;
}

function optionLine({ flags, description }: Option): string {
  const meaning = description.replace(/ \(required\)$/, "");
  return `- \`${flags}\`${meaning === description ? "" : " (required)"}: ${escaped(meaning)}`;
}

/** Two asterisks in one line would be rendered as emphasis. */
function escaped(text: string): string {
  return text.replaceAll("*", "\\*");
}

function environmentTable(): string {
  const rows = SETTINGS.map(({ name, default: preset, meaning }) =>
    `| \`${name}\` | ${preset && `\`${preset}\``} | ${meaning} |`
  );
  return ["| variable | without it | meaning |", "| --- | --- | --- |", ...rows].join("\n");
}

if (import.meta.main) {
  let text = await Deno.readTextFile(COMMAND_LINE_FILE);
  for (const [name, part] of Object.entries(markedParts())) {
    text = text.replace(markPattern(name), (_, begin, _part, end) => `${begin}\n${part}\n\n${end}`);
  }
  await Deno.writeTextFile(COMMAND_LINE_FILE, text);
  await writeJUnitTables();
}
