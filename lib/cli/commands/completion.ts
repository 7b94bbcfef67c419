import type { Command } from "commander";
import { type AddCommand, argument, command } from "../command.ts";
import { oneOf } from "../values.ts";

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

const FUNCTION = `_${PROGRAM.replaceAll("-", "_")}`;

const SCRIPTS: Record<"bash" | "zsh" | "fish", (levels: Level[]) => string> = {
  bash: (levels) =>
    `${FUNCTION}() {
  local at= cur=\${COMP_WORDS[COMP_CWORD]} word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${followPath(levels)}
  done
  _offer() {
    [[ $cur == -* ]] && shift
    COMPREPLY=($(compgen -W "$1" -- "$cur"))
  }
${offers(levels)}
}
complete -o default -F ${FUNCTION} ${PROGRAM}
`,
  zsh: (levels) =>
    `#compdef ${PROGRAM}
${FUNCTION}() {
  local at= word
  for word in "\${(@)words[2,CURRENT-1]}"; do
${followPath(levels)}
  done
  _offer() {
    if [[ $PREFIX == -* ]]; then compadd -- \${=2}; else compadd -- \${=1}; _files; fi
  }
${offers(levels)}
}
compdef ${FUNCTION} ${PROGRAM}
`,
  fish: (levels) => {
    const at = `__${PROGRAM.replaceAll("-", "_")}_at`;
    const complete = (path: string, rest: string) =>
      `complete -c ${PROGRAM} -n "${at} '${path}'" ${rest}`;
    const described = (text: string) => `-d '${text.replaceAll(/['\\]/g, "\\$&")}'`;
    const lines = levels.flatMap(({ path, commands, options }) => [
      ...commands.map(({ name, summary }) => complete(path, `-f -a ${name} ${described(summary)}`)),
      ...options.map(({ name, meaning, takesValue }) =>
        complete(path, `${takesValue ? "-r " : ""}-l ${name.slice(2)} ${described(meaning)}`)
      ),
    ]);
    return `function ${at}
  set -l at ""
  for word in (commandline -opc)[2..-1]
    contains -- "$at $word" ${pathsOf(levels).join(" ")}; and set at "$at $word"
  end
  test "$at" = "$argv[1]"
end
${lines.join("\n")}
`;
  },
};

function pathsOf(levels: Level[]): string[] {
  return levels.filter(({ path }) => path !== "").map(({ path }) => `'${path}'`);
}

/** Statements of bash and zsh: appends a word that is a command to the path. */
function followPath(levels: Level[]): string {
  return `    case "$at $word" in ${pathsOf(levels).join("|")}) at="$at $word" ;; esac`;
}

/** Statements of bash and zsh: offers commands or, after a dash, options that can follow the path. */
function offers(levels: Level[]): string {
  const cases = levels.map(({ path, commands, options }) =>
    `    '${path}') _offer '${namesOf(commands)}' '${namesOf(options)}' ;;`
  );
  return `  case "$at" in\n${cases.join("\n")}\n  esac`;
}

function namesOf(items: { name: string }[]): string {
  return items.map(({ name }) => name).join(" ");
}
