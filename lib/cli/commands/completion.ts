import type { Command } from "commander";
import { type AddCommand, command } from "../command.ts";
import { argument } from "../parameters.ts";
import { oneOf } from "../values.ts";
import bash from "./completion.bash" with { type: "text" };
import fish from "./completion.fish" with { type: "text" };
import zsh from "./completion.zsh" with { type: "text" };

/** The command in a shell; from source there is none to complete. */
const PROGRAM = "test-analytics";

/** A command or group: its path, and what can follow. */
interface Level {
  /** Such as ` org create`, with a blank before each word. */
  path: string;
  /** Commands of a group, with their summaries. */
  commands: { name: string; summary: string }[];
  /** Options, such as `--org`. */
  options: { name: string; meaning: string; takesValue: boolean }[];
}

/** `completion`. It needs the program with all commands. */
export const completionCommand: AddCommand = (program, io) =>
  command({
    name: "completion",
    summary: "Print a completion script for bash, zsh or fish",
    details: [
      `bash: source <(${PROGRAM} completion bash), in ~/.bashrc\n` +
      `zsh: source <(${PROGRAM} completion zsh), in ~/.zshrc, after compinit\n` +
      `fish: ${PROGRAM} completion fish >~/.config/fish/completions/${PROGRAM}.fish`,
    ],
    example: "completion bash",
    usesDatabase: false,
    input: { shell: argument("bash, zsh or fish", oneOf(["bash", "zsh", "fish"])) },
    async run({ shell }, { json, print }) {
      const text = SCRIPTS[shell](levelsOf(program, ""));
      if (json) await print("", { shell, script: text });
      else await io.stdout(text);
    },
  })(program, io);

function levelsOf(of: Command, path: string): Level[] {
  return [
    {
      path,
      commands: of.commands.map((one) => ({
        name: one.name(),
        summary: one.summary() || one.description(),
      })),
      options: [
        ...of.options.map(({ long, description, required }) => ({
          name: long ?? "",
          meaning: description,
          takesValue: required,
        })),
        { name: "--help", meaning: "describe the command", takesValue: false },
      ],
    },
    ...of.commands.flatMap((one) => levelsOf(one, `${path} ${one.name()}`)),
  ];
}

/** The scripts; bash and zsh offer commands or, after a dash, options that can follow the path. */
const SCRIPTS: Record<"bash" | "zsh" | "fish", (levels: Level[]) => string> = {
  bash: (levels) => filled(bash, { paths: pathsOf(levels).join("|"), cases: casesOf(levels) }),
  zsh: (levels) => filled(zsh, { paths: pathsOf(levels).join("|"), cases: casesOf(levels) }),
  fish: (levels) => filled(fish, { paths: pathsOf(levels).join(" "), lines: fishLines(levels) }),
};

/** A script with values for `{name}`. */
function filled(script: string, values: Record<string, string>): string {
  return script.replaceAll(/\{([a-z]+)\}/g, (_, name) => values[name]!);
}

function pathsOf(levels: Level[]): string[] {
  return levels.filter(({ path }) => path !== "").map(({ path }) => `'${path}'`);
}

function casesOf(levels: Level[]): string {
  return levels.map(({ path, commands, options }) =>
    `    '${path}') _offer '${namesOf(commands)}' '${namesOf(options)}' ;;`
  ).join("\n");
}

function namesOf(items: { name: string }[]): string {
  return items.map(({ name }) => name).join(" ");
}

function fishLines(levels: Level[]): string {
  const complete = (path: string, rest: string) =>
    `complete -c ${PROGRAM} -n "__test_analytics_at '${path}'" ${rest}`;
  const described = (text: string) => `-d '${text.replaceAll(/['\\]/g, "\\$&")}'`;
  return levels.flatMap(({ path, commands, options }) => [
    ...commands.map(({ name, summary }) => complete(path, `-f -a ${name} ${described(summary)}`)),
    ...options.map(({ name, meaning, takesValue }) =>
      complete(path, `${takesValue ? "-r " : ""}-l ${name.slice(2)} ${described(meaning)}`)
    ),
  ]).join("\n");
}
