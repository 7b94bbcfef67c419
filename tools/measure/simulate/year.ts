/** Applies a quarantine policy after every build of a made-up repository, and counts what it did. */
import { isMassFailure } from "../../../lib/analysis/test_counts.ts";
import {
  decideQuarantine,
  type PolicyRun,
  type QuarantinePolicy,
  RETURN_SECONDS,
} from "../../../lib/analysis/quarantine_policy.ts";
import type { Quarantine } from "../../../lib/analysis/quarantine.ts";
import { WINDOW_SECONDS } from "../../../lib/base/time.ts";
import { decideExitCode, type GateInput, identityKey } from "../../../lib/gate/rule.ts";
import { Random } from "../bench/random.ts";
import type { WindowDisruption } from "../../../lib/webhook/events.ts";
import { Channel, type ChannelOutcome, type ChannelRules, DEFAULT_CHANNEL } from "./channel.ts";
import {
  type BuildReport,
  DAY,
  Failures,
  HOUR,
  isPresent,
  makeTests,
  planBuilds,
  type PlannedBuild,
  type Shape,
  type TroubledTest,
} from "./simulated_repository.ts";

/** An entry of a test in the simulation. */
interface Entry {
  from: number;
  until: number;
  /** Whether the policy released it before its end. */
  isReleased: boolean;
}

/** What happened in a simulated year. */
export interface Outcome {
  /** Flaky tests that failed at all, and those that were quarantined while they were flaky. */
  flakyCount: number;
  caughtCount: number;
  /** Days from the first failure to the entry, of each caught test. */
  daysUntilCaught: number[];
  /** Red builds that the test failed in until then. */
  failuresUntilCaught: number[];
  /** Builds in which nothing but flaky tests failed, and those that the gate excused. */
  flakyBuilds: number;
  excusedBuilds: number;
  /** Versions with a fault whose builds were red, and those of which the gate excused a build. */
  faultCount: number;
  excusedFaults: number;
  /** Entries of tests that were broken, and of tests that were healthy. */
  brokenEntries: string[];
  healthyEntries: string[];
  /** Days from a fix to the end of the entry. */
  daysUntilFree: number[];
  /** Releases of tests that were still flaky. */
  earlyReleases: number;
  /** Releases of flaky tests, and those after which the test entered again within 60 days. */
  releases: number;
  returns: number;
  /** Entries of flaky tests, again after an end or a release too. */
  flakyEntries: number;
  mostAtOnce: number;
  /** Days from the renaming to the end of the old entry and to the beginning of the new one. */
  renamed: { oldFreeAfter: number | null; newCaughtAfter: number | null };
  channel: ChannelFigures;
}

/** The messages of a webhook, and whether they were right. */
interface ChannelFigures extends Omit<ChannelOutcome, "flaky"> {
  /** Flaky tests that were announced while they were flaky, of those that were red at least once. */
  announcedCount: number;
  /** Days from the first red build to the announcement. */
  daysUntilAnnounced: number[];
  /** Announcements of a flaky test after its first. */
  repeated: number;
  /** Announcements of tests that were broken or healthy. */
  wrong: string[];
}

/** How many times a red build is run again, with which probability. */
const MAX_RERUNS = 2;
const RERUN_SHARE = 0.6;

/** Options of the gate that are compared. */
export interface GateOptions {
  cause: GateInput["cause"];
  maxMissing: number;
}

export const DEFAULT_GATE: GateOptions = { cause: "seen", maxMissing: 5 };

/** Runs a year. */
export function simulate(
  shape: Shape,
  policy: QuarantinePolicy,
  gate: GateOptions = DEFAULT_GATE,
  channelRules: ChannelRules = DEFAULT_CHANNEL,
): Outcome {
  const random = new Random(shape.seed);
  const troubled = makeTests(shape, random);
  const planned = planBuilds(shape, random);
  const failures = new Failures(shape, random);
  const channel = new Channel(channelRules);
  const year = new Year(shape, policy, channel);
  const builtVersions = new Map<string, number>();
  const kinds = new Map(troubled.map((test) => [test.name, test.kind]));
  let [flakyBuilds, excusedBuilds] = [0, 0];
  const faultyVersions = new Set<string>();
  const excusedVersions = new Set<string>();
  const reds = new Map<string, number[]>();
  while (planned.length > 0) {
    const build = planned.shift()!;
    const report = failures.of(build, troubled);
    const red = [...report.failed].filter(([, attempts]) => !attempts.at(-1)!.passed)
      .map(([name]) => name);
    const isExcused = red.length > 0 && year.isExcused(build, report, gate);
    for (const name of red) reds.set(name, [...reds.get(name) ?? [], build.at]);
    const isFaulty = failures.faultsOf(build, []).size > 0;
    const isFlaky = (name: string) => /flaky|renamed/.test(kinds.get(name) ?? "");
    if (isFaulty && red.length > 0) faultyVersions.add(build.codeVersion);
    if (isFaulty && isExcused) excusedVersions.add(build.codeVersion);
    if (!isFaulty && red.length > 0 && red.every(isFlaky)) {
      flakyBuilds++;
      if (isExcused) excusedBuilds++;
    }
    const runs = builtVersions.get(build.codeVersion) ?? 0;
    builtVersions.set(build.codeVersion, runs + 1);
    year.add(build, report);
    const { random: own } = build;
    if (red.length > 0 && !isExcused && runs < MAX_RERUNS && own.next() < RERUN_SHARE) {
      const rerun = { ...build, at: Math.floor(build.at + HOUR * own.next()) };
      const index = planned.findIndex(({ at }) => at > rerun.at);
      planned.splice(index < 0 ? planned.length : index, 0, rerun);
    }
  }
  return {
    ...judge(troubled, year, reds),
    flakyBuilds,
    excusedBuilds,
    faultCount: faultyVersions.size,
    excusedFaults: excusedVersions.size,
    mostAtOnce: year.mostAtOnce,
    channel: judgeChannel(channel.outcome(), troubled, reds),
  };
}

/** A run, with the causes of its failed attempts. */
interface SimulatedRun extends PolicyRun {
  causes: readonly string[];
}

const GOOD_REPORT = {
  path: "report.xml",
  isFresh: true,
  problem: null,
  failuresOutsideTests: [],
  unlistedTests: [],
};

function identityOf(name: string) {
  return { suite: "", class: "", name, file: "" };
}

const keyOf = (name: string) => identityKey(identityOf(name));

/** The results so far, and the entries that the policy made of them. */
class Year {
  readonly #shape: Shape;
  readonly #policy: QuarantinePolicy;
  /** A passing run for each build, shared by all tests that passed. */
  readonly #passes: SimulatedRun[] = [];
  /** Runs of the tests that ever failed, for each build. */
  readonly #runs = new Map<string, SimulatedRun[]>();
  /** Builds in which a test failed, latest last. */
  readonly #failedBuilds = new Map<string, number[]>();
  readonly #buildsOfVersion = new Map<string, number[]>();
  readonly entries = new Map<string, Entry[]>();
  #windowIndex = 0;
  mostAtOnce = 0;
  readonly #channel: Channel;

  constructor(shape: Shape, policy: QuarantinePolicy, channel: Channel) {
    this.#shape = shape;
    this.#policy = policy;
    this.#channel = channel;
  }

  isQuarantined(name: string, at: number): boolean {
    const entry = this.entries.get(name)?.at(-1);
    return entry !== undefined && at < entry.until;
  }

  /** Whether the gate excuses a red build, before its report is uploaded. */
  isExcused(
    { at }: PlannedBuild,
    { failed, ranShare }: BuildReport,
    { cause, maxMissing }: GateOptions,
  ): boolean {
    const { testCount } = this.#shape;
    const red = [...failed].filter(([, attempts]) => !attempts.at(-1)!.passed);
    const quarantined = red.filter(([name]) => this.isQuarantined(name, at)).map(([name]) => name);
    const entry = { quarantine_expires_at: null, quarantine_owner: null };
    return decideExitCode({
      testsExitCode: 1,
      isCodeFromReports: false,
      failureCodes: [1],
      signal: null,
      reports: [GOOD_REPORT],
      failed: red.map(([name, attempts]) => ({
        ...identityOf(name),
        fingerprint: attempts.at(-1)!.cause,
        otherFingerprints: attempts.slice(0, -1).map(({ cause }) => cause),
      })),
      unclear: [],
      quarantined: new Map(
        quarantined.map((name) => [keyOf(name), { ...identityOf(name), ...entry }]),
      ),
      maxExcused: 10,
      cause,
      maxMissing,
      counts: { ran: Math.round(testCount * ranShare), skipped: 0, failed: failed.size },
      massFailure: null,
      earlier: {
        causes: new Map(quarantined.map((name) => [keyOf(name), this.#causesOf(name)])),
        expectedTestCount: testCount,
        baseTestCounts: [testCount, testCount, testCount],
        expectedSkippedCount: 0,
        expectedPlaces: null,
      },
      missingPlaces: [],
      environment: "",
      now: at,
    }).isExcused;
  }

  /** The causes of the disruptions of a test. */
  #causesOf(name: string): string[] {
    const runs = this.#runs.get(name)!;
    const disrupted = this.#failedBuilds.get(name)!.map((build) => runs[build]!)
      .filter(({ isDisrupted }) => isDisrupted);
    return [...new Set(disrupted.flatMap(({ causes }) => causes))];
  }

  /** Adds a build and applies the policy. */
  add(build: PlannedBuild, { failed, ranShare, hasRun }: BuildReport): void {
    const { at, platform } = build;
    const codeVersion = `${build.codeVersion} on platform ${platform}`;
    const ran = Math.round(this.#shape.testCount * ranShare);
    const isBroken = isMassFailure({ ran, failed: failed.size });
    const run = {
      recordedAt: at,
      codeVersion,
      isMassFailure: isBroken,
      isDisrupted: false,
      // Builds of the year have no branches.
      isOnBase: false,
      change: null,
      causes: [],
    };
    const index = this.#passes.length;
    this.#passes.push({ ...run, results: [true] });
    for (const [name, attempts] of failed) {
      if (!this.#runs.has(name)) this.#runs.set(name, this.#passes.slice(0, index));
      const results = attempts.map(({ passed }) => passed);
      const causes = attempts.filter(({ passed }) => !passed).map(({ cause }) => cause);
      this.#runs.get(name)!.push({ ...run, results, causes });
      const failedBuilds = this.#failedBuilds.get(name) ?? [];
      this.#failedBuilds.set(name, [...failedBuilds, index]);
    }
    const missing = { ...run, results: [] };
    for (const [name, runs] of this.#runs) {
      if (!failed.has(name)) runs.push(hasRun(name) ? this.#passes[index]! : missing);
    }
    const disrupted = this.#markDisruptions(codeVersion, index);
    this.#apply(at);
    this.#channel.add({
      at,
      isOutage: isBroken,
      disrupted: disrupted.map(({ name, newRuns }) => ({
        name,
        cause: newRuns.at(-1)!.causes.at(-1)!,
        disruptions: this.#disruptionsInWindow(name, newRuns),
      })),
      resultsOf: (name) => this.#runs.get(name)!.at(-1)!.results,
    });
  }

  /** Each disruption of a test in the window, but for outages. */
  #disruptionsInWindow(name: string, newRuns: readonly PolicyRun[]): WindowDisruption[] {
    const runs = this.#runs.get(name)!;
    return this.#failedBuilds.get(name)!.filter((build) => build >= this.#windowIndex)
      .map((build) => runs[build]!)
      .filter(({ isDisrupted, isMassFailure }) => isDisrupted && !isMassFailure)
      .flatMap((run) => {
        const { codeVersion, results } = run;
        const isNew = newRuns.includes(run);
        return results.filter((isPositive) => !isPositive).map(() => ({ codeVersion, isNew }));
      });
  }

  /** Failures of a test that also passed at the same version. */
  #markDisruptions(
    codeVersion: string,
    index: number,
  ): { name: string; newRuns: readonly SimulatedRun[] }[] {
    const disrupted = [];
    const builds = this.#buildsOfVersion.get(codeVersion) ?? [];
    builds.push(index);
    this.#buildsOfVersion.set(codeVersion, builds);
    for (const [name, failedBuilds] of this.#failedBuilds) {
      if (!builds.includes(failedBuilds.at(-1)!)) {
        if (builds.length === 1 || !failedBuilds.some((build) => builds.includes(build))) continue;
      }
      const runs = builds.map((build) => this.#runs.get(name)![build]!);
      if (!runs.some(({ results }) => results.includes(true))) continue;
      const newRuns = runs.filter((run) => run.results.includes(false) && !run.isDisrupted);
      for (const run of newRuns) run.isDisrupted = true;
      if (newRuns.length > 0) disrupted.push({ name, newRuns });
    }
    return disrupted;
  }

  #apply(now: number): void {
    const windowStart = now - WINDOW_SECONDS;
    while (this.#passes[this.#windowIndex]!.recordedAt < windowStart) this.#windowIndex++;
    const tests = [];
    let automaticCount = 0;
    for (const [name, failedBuilds] of this.#failedBuilds) {
      const entry = this.entries.get(name)?.at(-1);
      const isQuarantined = this.isQuarantined(name, now);
      if (isQuarantined) automaticCount++;
      const runs = this.#runs.get(name)!;
      const recent = failedBuilds.filter((build) => build >= this.#windowIndex);
      const disruptions = recent.filter((build) =>
        runs[build]!.isDisrupted && !runs[build]!.isMassFailure
      );
      const failures = disruptions.flatMap((build) => runs[build]!.results);
      const leftAt = entry?.isReleased ? entry.until : 0;
      const mayReturn = this.#shape.mayReturn && leftAt > 0 && now - leftAt <= RETURN_SECONDS;
      const needed = mayReturn ? 1 : this.#policy.disruptions;
      if (!isQuarantined && failures.length < needed) continue;
      const start = Math.min(this.#windowIndex, isQuarantined ? failedBuilds.at(-1)! : Infinity);
      const quarantine = isQuarantined ? automaticEntry(entry!) : null;
      const history = {
        runs: runs.slice(start),
        quarantine,
        leftAt,
        isAmbiguous: name.startsWith("twin"),
        releasedAt: mayReturn ? leftAt : 0,
        failsWithSubtests: false,
      };
      tests.push({ name, history });
    }
    this.mostAtOnce = Math.max(this.mostAtOnce, automaticCount);
    const moment = { automaticCount, baseBranch: "main", now, windowStart };
    for (const { test: { name }, action } of decideQuarantine(tests, this.#policy, moment)) {
      const entries = this.entries.get(name) ?? [];
      if (action === "enter") {
        const entry = { from: now, until: now + this.#policy.expires, isReleased: false };
        this.entries.set(name, [...entries, entry]);
      } else if (action === "leave") {
        Object.assign(entries.at(-1)!, { until: now, isReleased: true });
      }
    }
  }
}

function automaticEntry({ from, until }: Entry): Quarantine {
  return {
    quarantinedAt: from,
    quarantinedBy: "policy",
    quarantineType: "automatic",
    quarantineReason: null,
    quarantineOwner: null,
    quarantineExpiresAt: until,
    quarantineEnvironment: null,
  };
}

type BuildFigures =
  | "flakyBuilds"
  | "excusedBuilds"
  | "faultCount"
  | "excusedFaults"
  | "mostAtOnce"
  | "channel";

function judge(
  troubled: readonly TroubledTest[],
  { entries }: Year,
  reds: ReadonlyMap<string, number[]>,
): Omit<Outcome, BuildFigures> {
  const outcome: Omit<Outcome, BuildFigures> = {
    flakyCount: 0,
    caughtCount: 0,
    daysUntilCaught: [],
    failuresUntilCaught: [],
    brokenEntries: [],
    healthyEntries: [],
    daysUntilFree: [],
    earlyReleases: 0,
    releases: 0,
    returns: 0,
    flakyEntries: 0,
    renamed: { oldFreeAfter: null, newCaughtAfter: null },
  };
  const days = (seconds: number) => Math.round(seconds / DAY * 10) / 10;
  const byName = new Map(troubled.map((test) => [test.name, test]));
  for (const [name, own] of entries) {
    const test = byName.get(name);
    if (!test) outcome.healthyEntries.push(...own.map(() => name));
    else if (test.kind.startsWith("broken")) {
      outcome.brokenEntries.push(...own.map(() => `${name} (${test.kind})`));
    }
  }
  for (const test of troubled) {
    const own = entries.get(test.name) ?? [];
    const { from, until } = test;
    if (test.kind === "renamed") {
      const renamedAt = isPresent(test, { codeAt: 0 }) ? test.goneAt : test.bornAt;
      const open = own.find((entry) => entry.from < renamedAt && entry.until > renamedAt);
      if (open) outcome.renamed.oldFreeAfter = days(open.until - renamedAt);
      const first = own[0];
      if (test.bornAt > 0 && first) outcome.renamed.newCaughtAfter = days(first.from - renamedAt);
    }
    if (test.kind !== "flaky") continue;
    const redAt = reds.get(test.name) ?? [];
    const firstRed = redAt.find((at) => at >= from);
    if (firstRed === undefined) continue;
    outcome.flakyCount++;
    outcome.flakyEntries += own.length;
    outcome.earlyReleases += own.filter((entry) => entry.isReleased && entry.until < until).length;
    for (const [index, entry] of own.entries()) {
      if (!entry.isReleased) continue;
      outcome.releases++;
      const next = own[index + 1];
      if (next && next.from - entry.until <= RETURN_SECONDS) outcome.returns++;
    }
    const caught = own.find((entry) => entry.from < until);
    if (caught) {
      outcome.caughtCount++;
      outcome.daysUntilCaught.push(days(Math.max(0, caught.from - firstRed)));
      outcome.failuresUntilCaught.push(
        redAt.filter((at) => at >= from && at <= caught.from).length,
      );
    }
    const last = own.find((entry) => entry.from < until && entry.until > until);
    if (last) outcome.daysUntilFree.push(days(last.until - until));
  }
  return outcome;
}

function judgeChannel(
  { flaky, ...outcome }: ChannelOutcome,
  troubled: readonly TroubledTest[],
  reds: ReadonlyMap<string, number[]>,
): ChannelFigures {
  const figures: ChannelFigures = {
    ...outcome,
    announcedCount: 0,
    daysUntilAnnounced: [],
    repeated: 0,
    wrong: [],
  };
  const byName = new Map(troubled.map((test) => [test.name, test]));
  for (const [name, times] of flaky) {
    const test = byName.get(name);
    if (test?.kind !== "flaky" && test?.kind !== "renamed") {
      figures.wrong.push(...times.map(() => `${name} (${test?.kind ?? "healthy"})`));
      continue;
    }
    figures.repeated += times.length - 1;
    const announcedAt = times.find((at) => at >= test.from && at < test.until);
    if (test.kind !== "flaky" || announcedAt === undefined) continue;
    figures.announcedCount++;
    const firstRed = reds.get(name)?.find((at) => at >= test.from) ?? announcedAt;
    figures.daysUntilAnnounced.push(
      Math.max(0, Math.round((announcedAt - firstRed) / DAY * 10) / 10),
    );
  }
  return figures;
}
