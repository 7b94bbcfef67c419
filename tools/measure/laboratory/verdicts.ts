/**
 * The laboratory: reports of real test tools that ran a project with planted tests, and what is true of
 * these tests. Here the reports are read as an upload is, and each verdict is compared with the truth.
 */
import { readdirSync } from "node:fs";
import { attemptsOfTests } from "../../../lib/analysis/columns.ts";
import { inOrderOfAttempts } from "../../../lib/analysis/repetition/report_order.ts";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import type { ReportOptions } from "../../../lib/report/report_reader.ts";
import { readReportFiles } from "../../../lib/report/read_report_files.ts";
import { fileURLToPath } from "node:url";

export const FIXTURES = new URL("../../../fixtures/laboratory/", import.meta.url);
/** Where the reports say that the project is. */
export const CHECKOUT = "/srv/shop";

/** What is true of a planted test in a run, and what a report makes of it. */
export type Truth = "passing" | "failing" | "flaky" | "skipped";
export type Verdict = Truth | "unknown" | "absent";

/** The planted tests, by the words in their names, with what is true of them where tests are retried. */
export const PLANTED = {
  "always fails": "failing",
  "fails then passes": "flaky",
  "passes then fails": "passing",
  "same name": "failing",
  "same name fails first": "failing",
  "errors in set up": "failing",
  "errors in tear down": "failing",
  "is skipped": "skipped",
  "passes": "passing",
} satisfies Record<string, Truth>;

/** One run of a tool, whose reports are one upload. */
export interface Run {
  /** Files in the tool's folder. */
  files: string[];
  /** The command that wrote them. */
  command: string;
  /** What is true of each planted test. */
  truth: Record<string, Truth>;
  /** What the reports hide, and how to see it, by planted test. */
  hidden?: Record<string, string>;
}

/** `truth.json` of a tool. */
export interface ToolTruth {
  /** The tool and its versions. */
  made: string;
  runs: Record<string, Run>;
}

/** The tools with fixtures, sorted. */
export function laboratoryTools(): string[] {
  return readdirSync(FIXTURES, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    .map(({ name }) => name).sort();
}

export async function truthOf(tool: string): Promise<ToolTruth> {
  return JSON.parse(await Deno.readTextFile(new URL(`${tool}/truth.json`, FIXTURES)));
}

/** The verdict on each planted test of a run. */
export async function verdictsOf(
  folder: URL,
  { files, truth }: Pick<Run, "files" | "truth">,
  options: Pick<ReportOptions, "dialects"> = {},
): Promise<Record<string, Verdict>> {
  const { content } = await readRun(folder, files, options);
  const found: Record<string, Set<Verdict>> = {};
  attemptsOfTests(content).forEach((attempts, index) => {
    const planted = plantedTest(Object.values(content.identityAt(index)).join(" "), truth);
    if (planted === undefined || !(planted in truth)) return;
    const kinds = new Set(attempts.map(({ kind }) => kind));
    const isFlaky = kinds.has("positive") && kinds.has("negative");
    (found[planted] ??= new Set()).add(
      isFlaky
        ? "flaky"
        : kinds.has("negative")
        ? "failing"
        : kinds.has("positive")
        ? "passing"
        : kinds.has("skipped")
        ? "skipped"
        : "unknown",
    );
  });
  return Object.fromEntries(
    Object.keys(truth).map((planted) => [
      planted,
      STRENGTH.find((verdict) => found[planted]?.has(verdict)) ?? "absent",
    ]),
  );
}

/** The content of a run, as an upload stores it, with its notes. */
export async function readRun(
  folder: URL,
  files: readonly string[],
  options: Pick<ReportOptions, "dialects"> = {},
) {
  const builder = new SubmissionBuilder();
  const notes: string[] = [];
  const onNote = (note: string) => notes.push(note);
  await readReportFiles(
    inOrderOfAttempts(
      files.map((file) => ({ path: fileURLToPath(new URL(file, folder)), isNamed: true })),
    ),
    {
      ...options,
      checkoutFolder: CHECKOUT,
      onResult: (result, reported) => builder.add(result, reported),
      onReport: (report) => builder.endReport(report),
      onNote,
    },
  );
  return { content: builder.finish({ onNote }), notes };
}

// A planted case may be several tests: the test itself, its hook, its parent.
const STRENGTH: readonly Verdict[] = ["flaky", "failing", "unknown", "passing", "skipped"];

/** The planted test whose words a name has, the longest if several. */
export function plantedTest(name: string, truth: Record<string, Truth>): string | undefined {
  const words = ` ${
    name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase().replace(/[^a-z0-9]+/g, " ")
  } `;
  const names = new Set([...Object.keys(PLANTED), ...Object.keys(truth)]);
  return [...names].filter((planted) => words.includes(` ${planted} `))
    .sort((a, b) => b.length - a.length)[0];
}
