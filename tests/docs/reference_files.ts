/**
 * What the committed reference says by the route table and the commands.
 *
 * `deno run -A tests/docs/reference_files.ts && deno fmt docs/reference` writes it anew.
 */
import type { Argument, Command, Option } from "commander";
import { SETTINGS } from "../../lib/base/config.ts";
import { proseReference } from "../../lib/http/llms_txt/document.ts";
import { routes } from "../../routes/mod.ts";
import { leafCommands, SHARED_OPTIONS } from "../usage_lines.ts";

/** The command that writes the files anew. */
export const REGENERATE = "deno run -A tests/docs/reference_files.ts && deno fmt docs/reference";

/** All of the HTTP API. */
export const API_FILE = new URL("../../docs/reference/api.md", import.meta.url);

/** All of the command line; only what stands between marks comes from the program. */
export const COMMAND_LINE_FILE = new URL("../../docs/reference/command_line.md", import.meta.url);

/** What the HTTP reference says: the same as the service does. */
export function apiText(): string {
  return proseReference(routes);
}

/** What the marked parts of the command line's reference say, by the name of the mark. */
export function markedParts(): Record<string, string> {
  return { commands: leafCommands().map(chapter).join("\n\n"), environment: environmentTable() };
}

/** Where a marked part stands; the group `part` is what is between the marks. */
export function markPattern(name: string): RegExp {
  return new RegExp(`(<!-- begin ${name} -->\\n)(?<part>[^]*?)(<!-- end ${name} -->)`);
}

function chapter({ path, command }: { path: string; command: Command }): string {
  const lines = [
    ...command.registeredArguments.map(argumentLine),
    ...command.options.filter((option) => !SHARED_OPTIONS.includes(option.long ?? ""))
      .map(optionLine),
  ];
  const takesDatabase = command.options.some(({ long }) => long === "--database-url");
  return [
    `### ${path}`,
    `${command.description()}.${takesDatabase ? "" : " Opens no database of yours."}`,
    ...lines.length > 0 ? [lines.join("\n")] : [],
  ].join("\n\n");
}

function argumentLine(argument: Argument): string {
  const name = argument.name().toUpperCase() + (argument.variadic ? "..." : "");
  return `- \`${name}\`${argument.required ? " (required)" : ""}: ${escaped(argument.description)}`;
}

function optionLine({ flags, description, mandatory }: Option): string {
  const meaning = description.replace(/ \(required\)$/, "");
  return `- \`${flags}\`${mandatory ? " (required)" : ""}: ${escaped(meaning)}`;
}

/** Two asterisks in a line would be emphasis. */
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
  await Deno.writeTextFile(API_FILE, apiText());
  let text = await Deno.readTextFile(COMMAND_LINE_FILE);
  for (const [name, part] of Object.entries(markedParts())) {
    text = text.replace(markPattern(name), (_, begin, _part, end) => `${begin}\n${part}\n\n${end}`);
  }
  await Deno.writeTextFile(COMMAND_LINE_FILE, text);
}
