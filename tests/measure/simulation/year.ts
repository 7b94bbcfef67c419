/** Applies a quarantine policy after every build of a made-up repository, and counts what it did. */
import { isOutage } from "../../../lib/analysis/test_counts.ts";
import {
  decideQuarantine,
  type PolicyRun,
  type QuarantinePolicy,
} from "../../../lib/analysis/quarantine_policy.ts";
import type { Quarantine } from "../../../lib/analysis/quarantine.ts";
import { WINDOW_SECONDS } from "../../../lib/base/time.ts";
import { Random } from "../bench/random.ts";
import {
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
  /** Whether the policy released it, or its end did. */
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
  /** Builds in which nothing but flaky tests failed, and those that the quarantine excused. */
  flakyBuilds: number;
  excusedBuilds: number;
  /** Entries of tests that were broken, and of tests that were healthy. */
  brokenEntries: string[];
  healthyEntries: string[];
  /** Days from a fix to the end of the entry. */
  daysUntilFree: number[];
  /** Releases of tests that were still flaky. */
  earlyReleases: number;
  /** Entries of flaky tests, again after an end or a release too. */
  flakyEntries: number;
  mostAtOnce: number;
  /** Days from the renaming to the end of the old entry and to the beginning of the new one. */
  renamed: { oldFreeAfter: number | null; newCaughtAfter: number | null };
}

/** A red build is run again so many times, with this probability. */
const MAX_RERUNS = 2;
const RERUN_SHARE = 0.6;

/** Runs a year. */
export function simulate(shape: Shape, policy: QuarantinePolicy): Outcome {
  const random = new Random(shape.seed);
  const troubled = makeTests(shape, random);
  const planned = planBuilds(shape, random);
  const failures = new Failures(shape, random);
  const year = new Year(shape, policy);
  const builtVersions = new Map<string, number>();
  const kinds = new Map(troubled.map((test) => [test.name, test.kind]));
  let [flakyBuilds, excusedBuilds] = [0, 0];
  const reds = new Map<string, number[]>();
  while (planned.length > 0) {
    const build = planned.shift()!;
    const failed = failures.of(build, troubled);
    const red = [...failed].filter(([, attempts]) => !attempts.at(-1)).map(([name]) => name);
    const unexcused = red.filter((name) => !year.isQuarantined(name, build.at));
    for (const name of red) reds.set(name, [...reds.get(name) ?? [], build.at]);
    if (red.length > 0 && red.every((name) => /flaky|renamed/.test(kinds.get(name) ?? ""))) {
      flakyBuilds++;
      if (unexcused.length === 0) excusedBuilds++;
    }
    const runs = builtVersions.get(build.codeVersion) ?? 0;
    builtVersions.set(build.codeVersion, runs + 1);
    year.add(build, failed);
    const { random: own } = build;
    if (unexcused.length > 0 && runs < MAX_RERUNS && own.next() < RERUN_SHARE) {
      const rerun = { ...build, at: Math.floor(build.at + HOUR * own.next()) };
      const index = planned.findIndex(({ at }) => at > rerun.at);
      planned.splice(index < 0 ? planned.length : index, 0, rerun);
    }
  }
  return {
    ...judge(troubled, year, reds),
    flakyBuilds,
    excusedBuilds,
    mostAtOnce: year.mostAtOnce,
  };
}

/** The results so far, and the entries that the policy made of them. */
class Year {
  readonly #shape: Shape;
  readonly #policy: QuarantinePolicy;
  /** A passing run for each build, shared by all tests that passed. */
  readonly #passes: PolicyRun[] = [];
  /** Runs of the tests that ever failed, for each build. */
  readonly #runs = new Map<string, PolicyRun[]>();
  /** Builds in which a test failed, latest last. */
  readonly #failedBuilds = new Map<string, number[]>();
  readonly #buildsOfVersion = new Map<string, number[]>();
  readonly entries = new Map<string, Entry[]>();
  #windowIndex = 0;
  mostAtOnce = 0;

  constructor(shape: Shape, policy: QuarantinePolicy) {
    this.#shape = shape;
    this.#policy = policy;
  }

  isQuarantined(name: string, at: number): boolean {
    const entry = this.entries.get(name)?.at(-1);
    return entry !== undefined && at < entry.until;
  }

  /** Adds a build and applies the policy. */
  add(build: PlannedBuild, failed: ReadonlyMap<string, boolean[]>): void {
    const { at, codeVersion } = build;
    const isBroken = isOutage({ ran: this.#shape.testCount, failed: failed.size });
    const run = {
      recordedAt: at,
      codeVersion,
      isBrokenEnvironment: isBroken,
      isDisrupted: false,
      // Builds of the year have no branches.
      isOnBase: false,
    };
    const index = this.#passes.length;
    this.#passes.push({ ...run, results: [true] });
    for (const [name, results] of failed) {
      if (!this.#runs.has(name)) this.#runs.set(name, this.#passes.slice(0, index));
      this.#runs.get(name)!.push({ ...run, results });
      const failedBuilds = this.#failedBuilds.get(name) ?? [];
      this.#failedBuilds.set(name, [...failedBuilds, index]);
    }
    for (const [name, runs] of this.#runs) if (!failed.has(name)) runs.push(this.#passes[index]!);
    this.#markDisruptions(codeVersion, index);
    this.#apply(at);
  }

  /** Failures of a test that also passed at the same version. */
  #markDisruptions(codeVersion: string, index: number): void {
    const builds = this.#buildsOfVersion.get(codeVersion) ?? [];
    builds.push(index);
    this.#buildsOfVersion.set(codeVersion, builds);
    for (const [name, failedBuilds] of this.#failedBuilds) {
      if (!builds.includes(failedBuilds.at(-1)!)) {
        if (builds.length === 1 || !failedBuilds.some((build) => builds.includes(build))) continue;
      }
      const runs = builds.map((build) => this.#runs.get(name)![build]!);
      if (!runs.some(({ results }) => results.includes(true))) continue;
      for (const run of runs) if (run.results.includes(false)) run.isDisrupted = true;
    }
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
        runs[build]!.isDisrupted && !runs[build]!.isBrokenEnvironment
      );
      const failures = disruptions.flatMap((build) => runs[build]!.results);
      if (!isQuarantined && failures.length < this.#policy.disruptions) continue;
      const start = Math.min(this.#windowIndex, isQuarantined ? failedBuilds.at(-1)! : Infinity);
      const quarantine = isQuarantined ? automaticEntry(entry!) : null;
      const leftAt = entry?.until ?? 0;
      const history = { runs: runs.slice(start), quarantine, leftAt, isAmbiguous: false };
      tests.push({ name, history });
    }
    this.mostAtOnce = Math.max(this.mostAtOnce, automaticCount);
    const moment = { automaticCount, now, windowStart };
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
  };
}

function judge(
  troubled: readonly TroubledTest[],
  { entries }: Year,
  reds: ReadonlyMap<string, number[]>,
): Omit<Outcome, "flakyBuilds" | "excusedBuilds" | "mostAtOnce"> {
  const outcome: Omit<Outcome, "flakyBuilds" | "excusedBuilds" | "mostAtOnce"> = {
    flakyCount: 0,
    caughtCount: 0,
    daysUntilCaught: [],
    failuresUntilCaught: [],
    brokenEntries: [],
    healthyEntries: [],
    daysUntilFree: [],
    earlyReleases: 0,
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
