/** Generated reports as JUnit files. */
import type { TestIdentity } from "../../../lib/base/identity.ts";
import { asResult, type Attempt, type Build } from "./generate.ts";

/** Writes a build as a report; `onAttempt` hears of each result as well. */
export async function writeReport(
  path: string,
  { build, tests, onAttempt }: {
    build: Build;
    tests: TestIdentity[];
    onAttempt?: (attempt: Attempt) => void;
  },
): Promise<void> {
  const lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"];
  let suite = "";
  for (const attempt of build.attempts) {
    onAttempt?.(attempt);
    const result = asResult(attempt, tests);
    if (result.suite !== suite) {
      if (suite) lines.push("</testsuite>");
      suite = result.suite;
      lines.push(`<testsuite name="${suite}">`);
    }
    const seconds = (result.durationMicroseconds / 1e6).toFixed(3);
    const head = `<testcase classname="${result.class}" name="${result.name}" ` +
      `file="${result.file}" time="${seconds}"`;
    const [message, body] = [result.message, result.body].map(escaped);
    lines.push(
      result.conclusion === "passing"
        ? `${head}/>`
        : result.conclusion === "skipped"
        ? `${head}><skipped/></testcase>`
        : `${head}><${result.conclusion} message="${message}">${body}` +
          `</${result.conclusion}></testcase>`,
    );
  }
  lines.push("</testsuite>", "</testsuites>\n");
  await Deno.writeTextFile(path, lines.join("\n"));
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

const OUTPUT = "captured output of the program under test, line after line\n".repeat(33);
const CASES_PER_WRITE = 1_000;

/**
 * Writes a report in which captured output is nearly everything: 2 kB for each case.
 *
 * @returns megabytes of the report
 */
export async function writeBigReport(path: string, cases: number): Promise<number> {
  const file = await Deno.open(path, { create: true, write: true });
  const encoder = new TextEncoder();
  const writer = file.writable.getWriter();
  await writer.write(encoder.encode('<testsuites><testsuite name="big">\n'));
  for (let start = 0; start < cases; start += CASES_PER_WRITE) {
    let text = "";
    for (let number = start; number < Math.min(cases, start + CASES_PER_WRITE); number++) {
      text +=
        `<testcase classname="Big" name="case number ${number}" time="0.0${number % 90 + 10}">` +
        `<system-out>${OUTPUT}</system-out></testcase>\n`;
    }
    await writer.write(encoder.encode(text));
  }
  await writer.write(encoder.encode("</testsuite></testsuites>\n"));
  await writer.close();
  return (await Deno.stat(path)).size / 1e6;
}
