/** The generated parts of the reference of JUnit reports. */
import { DIALECTS, UNKNOWN_DIALECT } from "../../lib/report/junit/dialects.ts";
import { FORMATS } from "../../lib/report/native/format.ts";
import {
  FIXTURES,
  laboratoryTools,
  truthOf,
  type Verdict,
  verdictsOf,
} from "../laboratory/verdicts.ts";
import { markPattern } from "./marks.ts";

export const JUNIT_FILE = new URL("../../docs/reference/junit.md", import.meta.url);

/** The parts by the name of their mark. */
export async function junitParts(): Promise<Record<string, string>> {
  return { dialects: dialectTable(), laboratory: await laboratoryPart() };
}

function dialectTable(): string {
  return table(
    ["tool", "recognized by", "equal cases are", "otherwise"],
    [
      ...DIALECTS,
      ...Object.values(FORMATS),
      UNKNOWN_DIALECT,
    ].map((dialect) => [
      dialect.tool && `\`${dialect.tool}\``,
      dialect.evidence,
      dialect.meaning,
      dialect.changes,
    ]),
  );
}

/** The verdict on each planted test of each run, what is hidden, and how many are right. */
async function laboratoryPart(): Promise<string> {
  const rows: string[][] = [];
  let runCount = 0;
  const hidden = new Map<string, Set<string>>();
  const versions: string[] = [];
  const count = { judged: 0, flaky: 0, found: 0, falseFlaky: 0 };
  for (const tool of laboratoryTools()) {
    const { made, runs } = await truthOf(tool);
    versions.push(`\`${tool}\`: ${made}`);
    for (const [name, run] of Object.entries(runs)) {
      const verdicts = await verdictsOf(new URL(`${tool}/`, FIXTURES), run);
      runCount++;
      const wrong = Object.entries(run.truth)
        .filter(([planted, truth]) => verdicts[planted] !== truth)
        .map(([planted, truth]) => `${planted}: ${wordFor(verdicts[planted]!)}, in truth ${truth}`);
      if (wrong.length > 0) rows.push([`\`${tool}\``, name, wrong.join("; ")]);
      for (const [planted, truth] of Object.entries(run.truth)) {
        const isFlaky = verdicts[planted] === "flaky";
        count.judged++;
        if (truth === "flaky") count.flaky++;
        if (isFlaky && truth === "flaky") count.found++;
        if (isFlaky && truth !== "flaky") count.falseFlaky++;
      }
      for (const how of Object.values(run.hidden ?? {})) {
        hidden.set(how, (hidden.get(how) ?? new Set()).add(`\`${tool}\``));
      }
    }
  }
  const { judged, flaky, found, falseFlaky } = count;
  return [
    `${runCount} runs of ${laboratoryTools().length} tools, ${judged} planted tests. Falsely ` +
    `flaky: ${falseFlaky} (precision ${
      share(found, found + falseFlaky)
    }). Of ${flaky} flaky tests ` +
    `${found} are found (recall ${
      share(found, flaky)
    }); the reports of the others do not contain it.`,
    "The runs with a test that the report shows as something else:",
    table(["tool", "run", "test"], rows),
    "What the reports hide, and what shows it:",
    [...hidden].map(([how, tools]) => `- ${[...tools].join(", ")}: ${how}.`).join("\n"),
    "The versions that wrote the reports:",
    `${versions.join("; ")}.`,
  ].join("\n\n");
}

function wordFor(verdict: Verdict): string {
  return verdict === "absent" ? "not in the report" : verdict;
}

function share(part: number, whole: number): string {
  return `${Math.floor(100 * part / whole)} %`;
}

/** A Markdown table. */
export function table(head: string[], rows: string[][]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

/** Writes the parts into the reference. */
export async function writeJUnitTables(): Promise<void> {
  let text = await Deno.readTextFile(JUNIT_FILE);
  for (const [name, part] of Object.entries(await junitParts())) {
    text = text.replace(markPattern(name), (_, begin, _part, end) => `${begin}\n${part}\n\n${end}`);
  }
  await Deno.writeTextFile(JUNIT_FILE, text);
}
