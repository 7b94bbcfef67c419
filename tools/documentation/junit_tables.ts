/** The generated parts of the reference of JUnit reports. */
import { DIALECTS, UNKNOWN_DIALECT } from "../../lib/report/junit/dialects.ts";
import { FORMATS } from "../../lib/report/native/format.ts";
import { FIXTURES, laboratoryTools, truthOf, verdictsOf } from "../measure/laboratory/verdicts.ts";
import { recallRows } from "../measure/laboratory/recall.ts";
import { markPattern } from "./marks.ts";

export const JUNIT_FILE = new URL("../../docs/reference/junit.md", import.meta.url);

/** The parts by the name of their mark. */
export async function junitParts(): Promise<Record<string, string>> {
  return {
    dialects: dialectTable(),
    laboratory: await laboratoryPart(),
    recall: table(
      ["tests are run again by", "flaky", "found", "found without dialects", "falsely flaky"],
      await recallRows(),
    ),
  };
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

/** How many verdicts on planted tests are right, and what reports hide. */
async function laboratoryPart(): Promise<string> {
  let runCount = 0;
  const hidden = new Map<string, Set<string>>();
  const count = { judged: 0, flaky: 0, found: 0, falseFlaky: 0 };
  for (const tool of laboratoryTools()) {
    const { runs } = await truthOf(tool);
    for (const run of Object.values(runs)) {
      const verdicts = await verdictsOf(new URL(`${tool}/`, FIXTURES), run);
      runCount++;
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
    "What the reports hide, and what shows it:",
    [...hidden].map(([how, tools]) => `- ${[...tools].join(", ")}: ${how}.`).join("\n"),
  ].join("\n\n");
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
