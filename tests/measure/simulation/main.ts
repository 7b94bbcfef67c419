/**
 * A simulated year of a repository under several quarantine policies, as a Markdown table:
 * `deno task simulate`, or `deno task simulate --quick` for a tenth of the builds.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { DEFAULT_POLICY, type QuarantinePolicy } from "../../../lib/analysis/quarantine_policy.ts";
import { type Outcome, simulate } from "./year.ts";
import { DAY, type Shape } from "./simulated_repository.ts";

const VARIANTS: Record<string, Partial<QuarantinePolicy>> = {
  "the defaults": {},
  "2 disruptions": { disruptions: 2 },
  "5 disruptions": { disruptions: 5 },
  "1 code version": { codeVersions: 1 },
  "3 code versions": { codeVersions: 3 },
  "30 tests": { maxTests: 30 },
  "20 passes": { releasePasses: 20 },
  "200 passes": { releasePasses: 200 },
  "released after 3 days": { releaseAfter: 3 * DAY },
  "released after 14 days": { releaseAfter: 14 * DAY },
  "entries of 14 days": { expires: 14 * DAY },
  "entries of 90 days": { expires: 90 * DAY },
};

const COLUMNS = [
  "policy",
  "flaky tests caught",
  "days until then",
  "red builds until then",
  "red builds excused",
  "broken",
  "healthy",
  "days from fix to free",
  "released too early",
  "entries",
  "renamed: old free, new caught",
];

function row(name: string, outcome: Outcome): string {
  const { renamed } = outcome;
  const cells = [
    name,
    `${outcome.caughtCount} of ${outcome.flakyCount}`,
    spread(outcome.daysUntilCaught),
    spread(outcome.failuresUntilCaught),
    `${Math.round(100 * outcome.excusedBuilds / outcome.flakyBuilds)} % of ${outcome.flakyBuilds}`,
    outcome.brokenEntries.length,
    outcome.healthyEntries.length,
    spread(outcome.daysUntilFree),
    outcome.earlyReleases,
    `${outcome.flakyEntries}, ${outcome.mostAtOnce} at once`,
    `${renamed.oldFreeAfter ?? "-"}, ${renamed.newCaughtAfter ?? "-"}`,
  ];
  return `| ${cells.join(" | ")} |`;
}

/** Median and maximum. */
function spread(values: number[]): string {
  if (values.length === 0) return "-";
  const sorted = values.toSorted((a, b) => a - b);
  return `${sorted[Math.floor(sorted.length / 2)]}, at most ${sorted.at(-1)}`;
}

const { values } = parseArgs({
  options: { quick: { type: "boolean", default: false }, seed: { type: "string", default: "1" } },
});
for (const retries of [0, 2]) {
  const shape: Shape = {
    seed: Number(values.seed),
    days: 364,
    buildsPerDay: values.quick ? 4 : 24,
    testCount: 2_000,
    flakyCount: 30,
    retries,
    brokenDays: 3,
    hiccups: 10,
  };
  const print = (line: string) => process.stdout.write(`${line}\n`);
  print(`\n${retries === 0 ? "Red builds are run again" : "Failed tests are retried twice"}:\n`);
  print(`| ${COLUMNS.join(" | ")} |`);
  print(`|${COLUMNS.map(() => " - |").join("")}`);
  for (const [name, change] of Object.entries(VARIANTS)) {
    print(row(name, simulate(shape, { ...DEFAULT_POLICY, ...change })));
  }
}
