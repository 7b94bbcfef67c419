import type { Command } from "commander";
import { type AddCommand, command } from "../command.ts";
import { argument, oneOf } from "../parameters.ts";
import bash from "./completion.bash" with { type: "text" };
import fish from "./completion.fish" with { type: "text" };
import zsh from "./completion.zsh" with { type: "text" };

/** The command in a shell; from source there is none to complete. */
const COMMAND_NAME = "test-analytics";

/** `completion`. It needs the program with all commands. */
export const completionCommand: AddCommand = (program, io) =>
  command({
    name: "completion",
    summary: "Print a completion script for bash, zsh or fish",
    details: [
      `bash: source <(${COMMAND_NAME} completion bash), in ~/.bashrc\n` +
      `zsh: source <(${COMMAND_NAME} completion zsh), in ~/.zshrc, after compinit\n` +
      `fish: ${COMMAND_NAME} completion fish >~/.config/fish/completions/${COMMAND_NAME}.fish`,
    ],
    example: "completion bash",
    usesDatabase: false,
    input: { shell: argument("bash, zsh or fish", oneOf(["bash", "zsh", "fish"])) },
    async run({ shell }, { json, print }) {
      const levels = levelsOf(program, "");
      const paths = levels.slice(1).map(({ path }) => `'${path}'`);
      const { script, separator, caseOf } = SHELLS[shell];
      const text = script.replace("{paths}", paths.join(separator))
        .replace("{cases}", levels.map(caseOf).join("\n"));
      if (json) await print("", { shell, script: text });
      else await io.stdout(text);
    },
  })(program, io);

/** A command or group: its path, with a blank before each word, and the words that can follow. */
interface Level {
  path: string;
  commands: string;
  options: string;
}

function levelsOf(of: Command, path: string): Level[] {
  const commands = of.commands.map((one) => one.name()).join(" ");
  const options = [...of.options.map(({ long }) => long), "--help"].join(" ");
  const below = of.commands.flatMap((one) => levelsOf(one, `${path} ${one.name()}`));
  return [{ path, commands, options }, ...below];
}

const posixCase = ({ path, commands, options }: Level) =>
  `    '${path}') _offer '${commands}' '${options}' ;;`;

/** Every script offers commands or, after a dash, options that can follow the path. */
const SHELLS = {
  bash: { script: bash, separator: "|", caseOf: posixCase },
  zsh: { script: zsh, separator: "|", caseOf: posixCase },
  fish: {
    script: fish,
    separator: " ",
    caseOf: ({ path, commands, options }: Level) =>
      `    case '${path}'; __test_analytics_words '${commands}' '${options}'`,
  },
};
