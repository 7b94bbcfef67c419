/**
 * `fixtures/transcripts/`: commands with what they print, readable as documentation. A line `$ org list` is a
 * command, at noon or at another time: `$ 2026-02-01T13:00:00Z org list`. An argument with spaces is in
 * double quotes. Its standard output follows, then its standard error after `2>`, and `[exit code 1]` if it is
 * not 0. `...` stands for any text of a line. `# ...` begins a section; the commands of a file run
 * one after the other in one database.
 */
import { it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseTimestamp } from "../../../lib/base/time.ts";
import { describeWithDatabase } from "../../database.ts";
import { commandLine, NOON } from "./run_in_process.ts";

const FOLDER = fileURLToPath(new URL("../../../fixtures/transcripts/", import.meta.url));

interface Step {
  command: string;
  argv: string[];
  /** Seconds since 1970. */
  now: number;
  expected: string;
}

function stepOf(block: string): Step {
  const [command = "", ...lines] = block.split("\n");
  const [, time, rest = ""] = /^(\d{4}-\S+Z )?(.*)$/.exec(command) ?? [];
  const words = rest.match(/"[^"]*"|\S+/g) ?? [];
  return {
    command,
    argv: words.map((word) => word.replaceAll(/^"|"$/g, "")),
    now: time ? parseTimestamp(time.trim()) : NOON,
    expected: lines.join("\n"),
  };
}

function sectionsOf(text: string): { title: string; steps: Step[] }[] {
  return text.split(/^# /m).slice(1).map((section) => {
    const [title = "", ...commands] = section.trim().split(/\n+\$ /);
    return { title, steps: commands.map(stepOf) };
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

for (const file of readdirSync(FOLDER).filter((name) => name.endsWith(".txt")).sort()) {
  describeWithDatabase(`the transcript ${file}`, (database) => {
    const cli = commandLine(() => database());
    for (const { title, steps } of sectionsOf(readFileSync(FOLDER + file, "utf8"))) {
      it(title, async () => {
        for (const { command, argv, now, expected } of steps) {
          const actual = shown(await cli(argv, { now: () => now }));
          if (!matches(actual, expected)) assert.equal(actual, expected, `$ ${command}`);
        }
      });
    }
  });
}
