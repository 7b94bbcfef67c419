import { before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { leafCommands } from "../../../usage_lines.ts";
import { withoutDatabase } from "../run_in_process.ts";

describe("completion", () => {
  const scripts: Record<string, string> = {};

  before(async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const { code, stdout, stderr } = await withoutDatabase(["completion", shell]);
      assert.deepEqual([code, stderr], [0, ""]);
      scripts[shell] = stdout;
    }
  });

  /** Runs a shell; `null` where it is not installed. */
  async function shell(name: string, ...args: string[]): Promise<string | null> {
    try {
      const { success, stdout, stderr } = await new Deno.Command(name, { args }).output();
      assert.ok(success, new TextDecoder().decode(stderr));
      return new TextDecoder().decode(stdout);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return null;
      throw error;
    }
  }

  /** What bash offers for a line that ends in the word to complete. */
  async function offered(line: string): Promise<string[]> {
    const call = `${scripts.bash}
      COMP_WORDS=(${line.replace(/ $/, ' ""')}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
      $(complete -p test-analytics | sed 's/.*-F \\([^ ]*\\).*/\\1/')
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const text = await shell("bash", "--norc", "-uc", call);
    return (text ?? "").split("\n").filter((word) => word !== "");
  }

  it("has valid syntax in every shell", async () => {
    for (const name of ["bash", "zsh", "fish"]) await shell(name, "-n", "-c", scripts[name]!);
  });

  it("completes commands, subcommands and options in bash", async () => {
    assert.deepEqual(await offered("test-analytics in"), ["ingest"]);
    assert.deepEqual(await offered("test-analytics repo cr"), ["create"]);
    assert.deepEqual(await offered("test-analytics repo create --i"), ["--id"]);
    assert.deepEqual(await offered("test-analytics ingest --org repo --bra"), ["--branch"]);
    assert.ok((await offered("test-analytics org ")).includes("create"));
    assert.deepEqual(await offered("test-analytics ingest reports/"), []);
  });

  it("has every command and option of the command table, in every shell", () => {
    for (const { path, command } of leafCommands()) {
      const options = command.options.map(({ long = "" }) => long);
      for (const script of Object.values(scripts)) {
        const [, words = ""] = new RegExp(`' ${path}'.* '' '(.*)'( ;;)?$`, "m").exec(script) ?? [];
        for (const option of options) assert.ok(words.split(" ").includes(option), path + option);
      }
    }
  });

  it("refuses another shell", async () => {
    const { code, stderr } = await withoutDatabase("completion tcsh");
    assert.equal(code, 2);
    assert.match(stderr, /expected one of bash, zsh, fish/);
  });
});
