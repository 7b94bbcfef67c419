/**
 * `fixtures/transcripts/`: commands with what they print, readable as documentation. A line `$ org list` is a
 * command. Its standard output follows, then its standard error after `2>`, and `[exit code 1]` if it is
 * not 0. `...` stands for any text of a line. `# ...` begins a section; the commands of a file run
 * one after the other in one database.
 */
import { it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describeWithDatabases } from "../../database.ts";
import { commandLine } from "./run_in_process.ts";

const FOLDER = fileURLToPath(new URL("../../../fixtures/transcripts/", import.meta.url));

interface Step {
  command: string;
  expected: string;
}

function sectionsOf(text: string): { title: string; steps: Step[] }[] {
  return text.split(/^# /m).slice(1).map((section) => {
    const [title = "", ...commands] = section.trim().split(/\n+\$ /);
    const steps = commands.map((block) => {
      const [command = "", ...lines] = block.split("\n");
      return { command, expected: lines.join("\n") };
    });
    return { title, steps };
  });
}

/** The output as a transcript has it. */
function shown({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }): string {
  const errors = stderr.replaceAll(/^(?=.)/gm, "2> ");
  return `${stdout}${errors}${code === 0 ? "" : `[exit code ${code}]`}`.trimEnd();
}

function matches(actual: string, expected: string): boolean {
  const pattern = expected.split("...").map((part) => RegExp.escape(part)).join(".*");
  return new RegExp(`^${pattern}$`).test(actual);
}

for (const file of readdirSync(FOLDER).sort()) {
  describeWithDatabases(`the transcript ${file}`, (database) => {
    const cli = commandLine(() => database());
    for (const { title, steps } of sectionsOf(readFileSync(FOLDER + file, "utf8"))) {
      it(title, async () => {
        for (const { command, expected } of steps) {
          const actual = shown(await cli(command));
          if (!matches(actual, expected)) assert.equal(actual, expected, `$ ${command}`);
        }
      });
    }
  });
}
