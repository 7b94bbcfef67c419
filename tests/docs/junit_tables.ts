/** The generated parts of the reference of JUnit reports. */
import { DIALECTS, UNKNOWN_DIALECT } from "../../lib/report/junit/dialects.ts";

import { markPattern } from "./marks.ts";

export const JUNIT_FILE = new URL("../../docs/reference/junit.md", import.meta.url);

/** The parts by the name of their mark. */
export function junitParts(): Record<string, string> {
  return { dialects: dialectTable() };
}

function dialectTable(): string {
  return table(
    ["tool", "recognized by", "equal cases are", "otherwise"],
    [
      ...DIALECTS,
      UNKNOWN_DIALECT,
    ].map((dialect) => [
      dialect.tool && `\`${dialect.tool}\``,
      dialect.evidence,
      dialect.meaning + (dialect.canRepeatAll ? "; a run can be repeated" : ""),
      dialect.changes,
    ]),
  );
}

/** A Markdown table. */
export function table(head: string[], rows: string[][]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

/** Writes the parts into the reference. */
export async function writeJUnitTables(): Promise<void> {
  let text = await Deno.readTextFile(JUNIT_FILE);
  for (const [name, part] of Object.entries(junitParts())) {
    text = text.replace(markPattern(name), (_, begin, _part, end) => `${begin}\n${part}\n\n${end}`);
  }
  await Deno.writeTextFile(JUNIT_FILE, text);
}
