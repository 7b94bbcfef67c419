/** The tests and the CI of a made-up repository: what runs when, and what fails. */
import { Random } from "../bench/random.ts";

export const HOUR = 3_600;
export const DAY = 24 * HOUR;

/** What is simulated. */
export interface Shape {
  seed: number;
  days: number;
  buildsPerDay: number;
  testCount: number;
  flakyCount: number;
  /** Attempts of a failed test in one build, after the first. */
  retries: number;
  /** Days of a broken environment. */
  brokenDays: number;
  /** Builds in which a tenth of the tests failed once. */
  hiccups: number;
  /** Share of builds that stop early. */
  cutShare: number;
  /** Whether a test that the policy released enters again at once when it fails within 60 days. */
  mayReturn: boolean;
}

/** An attempt of a test. */
export interface Attempt {
  passed: boolean;
  /** Of a failure: equal for failures that look alike. */
  cause: string;
}

/** What is seen of a build. */
export interface BuildReport {
  /** The attempts of all tests that did not simply pass. */
  failed: ReadonlyMap<string, Attempt[]>;
  /** Share of the tests that ran. */
  ranShare: number;
  /** Whether a test ran. */
  hasRun(name: string): boolean;
}

/** A test that does not always pass. */
export interface TroubledTest {
  name: string;
  kind:
    | "flaky"
    | "broken by code"
    | "broken from outside"
    | "broken on one platform"
    | "broken twin"
    | "renamed";
  /** Share of attempts that fail while it is in trouble. */
  rate: number;
  /** When the trouble begins and ends: of the code that runs, or of the build if from outside. */
  from: number;
  until: number;
  /** The test does not exist in code before and after. */
  bornAt: number;
  goneAt: number;
}

/** A build that is planned: a new version, or one that was built before. */
export interface PlannedBuild {
  at: number;
  codeVersion: string;
  /** Of the two platforms of a matrix. */
  platform: number;
  /** When this version was made. */
  codeAt: number;
  /** What happens in it, whatever happened in other builds: the same under every policy. */
  random: Random;
}

/** The troubled tests: flaky ones of very different rates, five broken ones, and one renamed. */
export function makeTests({ days, flakyCount }: Shape, random: Random): TroubledTest[] {
  const end = days * DAY;
  const always = { bornAt: 0, goneAt: Infinity };
  const tests: TroubledTest[] = [];
  for (let index = 0; index < flakyCount; index++) {
    // From one failure in 200 runs to two in five, evenly on a logarithmic scale.
    const rate = 0.005 * 80 ** (index / Math.max(1, flakyCount - 1));
    const from = random.next() * end * 0.6;
    const until = from + (0.1 + 0.25 * random.next()) * end;
    tests.push({ name: `flaky ${index}`, kind: "flaky", rate, from, until, ...always });
  }
  for (let index = 0; index < 5; index++) {
    const kind = index < 3 ? "broken by code" : "broken from outside";
    const from = (0.1 + 0.17 * index) * end;
    const until = from + (2 + index) * DAY;
    tests.push({ name: `broken ${index}`, kind, rate: 1, from, until, ...always });
  }
  for (let index = 0; index < 2; index++) {
    const from = (0.2 + 0.3 * index) * end;
    const trouble = { rate: 1, from, until: from + 10 * DAY, ...always };
    tests.push({ name: `one platform ${index}`, kind: "broken on one platform", ...trouble });
    tests.push({ name: `twin ${index}`, kind: "broken twin", ...trouble });
  }
  const [from, renamedAt] = [0.3 * end, 0.5 * end];
  const renamed = { kind: "renamed" as const, rate: 0.1, from, until: 0.8 * end };
  tests.push({ name: "before the renaming", ...renamed, bornAt: 0, goneAt: renamedAt });
  tests.push({ name: "after the renaming", ...renamed, bornAt: renamedAt, goneAt: Infinity });
  return tests;
}

/**
 * Builds on working days, an eighth of them at weekends. One in seven repeats a version, half of these on
 * another platform.
 */
export function planBuilds({ days, buildsPerDay }: Shape, random: Random): PlannedBuild[] {
  const times: number[] = [];
  for (let day = 0; day < days; day++) {
    const count = day % 7 < 5 ? buildsPerDay : Math.ceil(buildsPerDay / 8);
    for (let build = 0; build < count; build++) {
      times.push(Math.floor(day * DAY + (7 + 12 * random.next()) * HOUR));
    }
  }
  const builds: PlannedBuild[] = [];
  for (const at of times.sort((a, b) => a - b)) {
    const recent = builds.slice(-buildsPerDay).filter((build) => at - build.at < DAY);
    const earlier = random.next() < 1 / 7 ? recent[random.below(recent.length)] : undefined;
    const platform = random.below(2);
    builds.push({
      at,
      codeVersion: earlier?.codeVersion ?? `version ${builds.length}`,
      platform,
      codeAt: earlier?.codeAt ?? at,
      random: new Random(random.below(2 ** 32)),
    });
  }
  return builds;
}

/** Whether the code of a build has a test. */
export function isPresent(
  { bornAt, goneAt }: TroubledTest,
  { codeAt }: Pick<PlannedBuild, "codeAt">,
): boolean {
  return codeAt >= bornAt && codeAt < goneAt;
}

/** What fails in a build. */
export class Failures {
  readonly #shape: Shape;
  readonly #brokenDays: Set<number>;
  readonly #hiccups: Set<number>;
  /** The faults of a version, by the test that finds each; its next one repairs them. */
  readonly #faults = new Map<string, Map<string, string>>();

  constructor(shape: Shape, random: Random) {
    this.#shape = shape;
    const { days, brokenDays, hiccups } = shape;
    const workday = () => 7 * random.below(Math.floor(days / 7)) + random.below(5);
    this.#brokenDays = new Set(Array.from({ length: brokenDays }, workday));
    this.#hiccups = new Set(Array.from({ length: hiccups }, workday));
  }

  /** What is seen of a build. */
  of(build: PlannedBuild, troubled: readonly TroubledTest[]): BuildReport {
    const failed = new Map<string, Attempt[]>();
    const { random } = build;
    const run = (name: string, rate: number, causeOf = () => `${name} is broken`) => {
      if (failed.has(name)) return;
      const attempts: Attempt[] = [];
      for (let attempt = 0; attempt <= this.#shape.retries; attempt++) {
        const passed = random.next() >= rate;
        attempts.push({ passed, cause: passed ? "" : causeOf() });
        if (passed) break;
      }
      if (hidesAttempts(name)) attempts.splice(0, attempts.length - 1);
      if (attempts.some(({ passed }) => !passed)) failed.set(name, attempts);
    };
    const present = troubled.filter((test) => isPresent(test, build));
    for (const [name, cause] of this.faultsOf(build, present)) run(name, 1, () => cause);
    for (const test of present) {
      const moment = test.kind === "broken from outside" ? build.at : build.codeAt;
      if (moment < test.from || moment >= test.until) continue;
      if (test.kind === "broken on one platform" && build.platform === 1) continue;
      if (test.kind === "broken twin") {
        // Two tests of one name: the other one passes. Reports of some tools have both as attempts.
        failed.set(test.name, [{ passed: false, cause: "twin" }, { passed: true, cause: "" }]);
      } else run(test.name, test.rate, () => this.#flakyCause(test, random));
    }
    const day = Math.floor(build.at / DAY);
    if (this.#brokenDays.has(day) && random.next() < 0.8) {
      const rate = 0.3 + 0.6 * random.next();
      const outage = () => "the environment is broken";
      for (const name of this.#names(present, troubled.length)) run(name, rate, outage);
    } else if (this.#hiccups.has(day)) {
      this.#hiccups.delete(day);
      for (const name of this.#names(present, troubled.length)) {
        if (random.next() < 0.1) run(name, 1);
      }
    }
    const cut = random.next() < this.#shape.cutShare ? 0.05 + 0.9 * random.next() : 1;
    const order = random.next();
    // The order of the tests is the same for all tools but not for all builds: it may be random.
    const hasRun = (name: string) => cut === 1 || hashOf(name, order) < cut;
    for (const name of [...failed.keys()]) if (!hasRun(name)) failed.delete(name);
    return { failed, ranShare: cut, hasRun };
  }

  /** Most failures of a flaky test look like one of a few; some tests also write what varies. */
  #flakyCause({ name, kind }: TroubledTest, random: Random): string {
    if (kind.startsWith("broken")) return `${name} is broken`;
    const number = Number(/\d+$/.exec(name)?.[0] ?? 0);
    const varies = number % 6 === 5 && random.next() < 0.1;
    if (varies) return `${name}: ${random.next()}`;
    const [causes, share] = [1 + number % 4, random.next()];
    return `${name}: cause ${Math.floor(causes * share ** 2)}`;
  }

  *#names(present: readonly TroubledTest[], troubledCount: number): Iterable<string> {
    for (const { name } of present) yield name;
    for (let index = troubledCount; index < this.#shape.testCount; index++) {
      yield `healthy ${index}`;
    }
  }

  /**
   * The faults of a version: the failing tests with the cause of each. One version in seven breaks up to
   * five healthy tests; half as many have a fault that a flaky test finds, with another message than
   * its usual ones, except one in twenty of these.
   */
  faultsOf(
    { codeVersion, codeAt, random }: PlannedBuild,
    present: readonly TroubledTest[],
  ): ReadonlyMap<string, string> {
    let faults = this.#faults.get(codeVersion);
    if (!faults) {
      const count = random.next() < 0.15 ? 1 + random.below(5) : 0;
      const some = () => `healthy ${50 + random.below(this.#shape.testCount - 50)}`;
      faults = new Map(Array.from({ length: count }, () => [some(), `fault of ${codeVersion}`]));
      const flaky = present.filter(({ kind, from, until }) =>
        kind === "flaky" && codeAt >= from && codeAt < until
      );
      if (count === 0 && random.next() < 0.075 / 0.85 && flaky.length > 0) {
        const { name } = flaky[random.below(flaky.length)]!;
        const looksFlaky = random.next() < 0.05;
        faults.set(name, looksFlaky ? `${name}: cause 0` : `fault of ${codeVersion}`);
      }
      this.#faults.set(codeVersion, faults);
    }
    return faults;
  }
}

/** Whether the plugin that retries a test reports its last attempt alone: of every fifth test. */
function hidesAttempts(name: string): boolean {
  return Number(/\d+$/.exec(name)?.[0] ?? 0) % 5 === 4;
}

/** A number from 0 to 1 for a name, another one for each `salt`. */
function hashOf(name: string, salt: number): number {
  let hash = Math.floor(salt * 2 ** 31);
  for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0)!, 0x01000193) >>> 0;
  return (hash >>> 8) / 2 ** 24;
}
