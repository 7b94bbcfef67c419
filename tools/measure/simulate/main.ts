/**
 * A simulated year of a repository under several quarantine policies, as a Markdown table:
 * `deno task measure simulate`, or `deno task measure simulate --builds 12` for fewer builds a day (`--quick`: 4), and
 * `--only "the defaults,--cause any"` for some rows.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { DEFAULT_POLICY, type QuarantinePolicy } from "../../../lib/analysis/quarantine_policy.ts";
import { DEFAULT_GATE, type GateOptions, type Outcome, simulate } from "./year.ts";
import { CALM_AFTER } from "../../../lib/webhook/events.ts";
import { type ChannelRules, DEFAULT_CHANNEL } from "./channel.ts";
import { DAY, type Shape } from "./simulated_repository.ts";

const VARIANTS: Record<string, Partial<QuarantinePolicy>> = {
  "the defaults": {},
  "2 disruptions": { disruptions: 2 },
  "5 disruptions": { disruptions: 5 },
  "1 code version": { codeVersions: 1 },
  "2 code versions": { codeVersions: 2 },
  "10 tests": { maxTests: 10 },
  "20 passes": { releasePasses: 20 },
  "200 passes": { releasePasses: 200 },
  "released after 3 days": { releaseAfter: 3 * DAY },
  "released after 14 days": { releaseAfter: 14 * DAY },
  "entries of 14 days": { expires: 14 * DAY },
  "entries of 90 days": { expires: 90 * DAY },
};

/** With the default policy. */
const GATES: Record<string, Partial<GateOptions>> = {
  "--cause any": { cause: "any" },
  "--max-missing 100%": { maxMissing: 100 },
  "--cause any --max-missing 100%": { cause: "any", maxMissing: 100 },
};

/** With the default policy and gate. */
const SHAPES: Record<string, Partial<Shape>> = {
  "no return within 60 days": { mayReturn: false },
};

/** With the default policy and gate: the messages of a webhook. */
const CHANNELS: Record<string, Partial<ChannelRules>> = {
  "the rules": {},
  "2 disruptions at 2 code versions": { flakySince: { disruptions: 2, codeVersions: 2 } },
  "1 disruption": { flakySince: { disruptions: 1, codeVersions: 1 } },
  "calm after 7 days": { calmAfter: { ...CALM_AFTER, quietSeconds: 7 * DAY } },
  "calm after 28 days": { calmAfter: { ...CALM_AFTER, quietSeconds: 28 * DAY } },
  "an outage ends with a good run": { outageEndsAfterBuilds: 1 },
  "1 disruption, calm after a day, one good run, not grouped": {
    flakySince: { disruptions: 1, codeVersions: 1 },
    calmAfter: { quietSeconds: DAY, passes: 1 },
    outageEndsAfterBuilds: 1,
    isGrouped: false,
  },
};

const CHANNEL_COLUMNS = [
  "webhook",
  "messages",
  "most in an hour, a day",
  "flaky tests announced",
  "days until then",
  "again",
  "wrong",
  "calm",
  "outages",
];

function channelRow(name: string, { channel, flakyCount }: Outcome): string {
  const cells = [
    name,
    channel.messages,
    `${channel.mostInHour}, ${channel.mostInDay}`,
    `${channel.announcedCount} of ${flakyCount}`,
    spread(channel.daysUntilAnnounced),
    channel.repeated,
    channel.wrong.length,
    channel.calm,
    channel.outages,
  ];
  return `| ${cells.join(" | ")} |`;
}

const COLUMNS = [
  "policy",
  "flaky tests caught",
  "days until then",
  "red builds until then",
  "red builds excused",
  "regressions excused",
  "broken",
  "healthy",
  "days from fix to free",
  "released too early",
  "released, back within 60 days",
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
    `${(100 * outcome.excusedFaults / outcome.faultCount).toFixed(1)} % of ${outcome.faultCount}`,
    outcome.brokenEntries.length,
    outcome.healthyEntries.length,
    spread(outcome.daysUntilFree),
    outcome.earlyReleases,
    `${outcome.releases}, ${outcome.returns}`,
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
  options: {
    builds: { type: "string", default: "24" },
    only: { type: "string", default: "" },
    quick: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
  },
});
const only = values.only.split(",").filter((name) => name !== "");
const isWanted = ([name]: [string, unknown]) => only.length === 0 || only.includes(name);
for (const retries of [0, 2]) {
  const shape: Shape = {
    seed: Number(values.seed),
    days: 364,
    buildsPerDay: values.quick ? 4 : Number(values.builds),
    testCount: 2_000,
    flakyCount: 30,
    retries,
    brokenDays: 3,
    hiccups: 10,
    cutShare: 0.03,
    mayReturn: true,
  };
  const print = (line: string) => process.stdout.write(`${line}\n`);
  print(`\n${retries === 0 ? "Red builds are run again" : "Failed tests are retried twice"}:\n`);
  print(`| ${COLUMNS.join(" | ")} |`);
  print(`|${COLUMNS.map(() => " - |").join("")}`);
  for (const [name, change] of Object.entries(VARIANTS).filter(isWanted)) {
    print(row(name, simulate(shape, { ...DEFAULT_POLICY, ...change })));
  }
  for (const [name, change] of Object.entries(GATES).filter(isWanted)) {
    print(row(name, simulate(shape, DEFAULT_POLICY, { ...DEFAULT_GATE, ...change })));
  }
  for (const [name, change] of Object.entries(SHAPES).filter(isWanted)) {
    print(row(name, simulate({ ...shape, ...change }, DEFAULT_POLICY)));
  }
  print(`\n| ${CHANNEL_COLUMNS.join(" | ")} |`);
  print(`|${CHANNEL_COLUMNS.map(() => " - |").join("")}`);
  for (const [name, change] of Object.entries(CHANNELS).filter(isWanted)) {
    const rules = { ...DEFAULT_CHANNEL, ...change };
    print(channelRow(name, simulate(shape, DEFAULT_POLICY, DEFAULT_GATE, rules)));
  }
}
