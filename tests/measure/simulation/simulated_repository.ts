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
}

/** A test that does not always pass. */
export interface TroubledTest {
  name: string;
  kind: "flaky" | "broken by code" | "broken from outside" | "renamed";
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
  const [from, renamedAt] = [0.3 * end, 0.5 * end];
  const renamed = { kind: "renamed" as const, rate: 0.1, from, until: 0.8 * end };
  tests.push({ name: "before the renaming", ...renamed, bornAt: 0, goneAt: renamedAt });
  tests.push({ name: "after the renaming", ...renamed, bornAt: renamedAt, goneAt: Infinity });
  return tests;
}

/** Builds on working days, an eighth of them at weekends; one in seven repeats a version. */
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
    builds.push({
      at,
      codeVersion: earlier?.codeVersion ?? `version ${builds.length}`,
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
  /** Healthy tests that a version broke; its next one repairs them. */
  readonly #mistakes = new Map<string, string[]>();

  constructor(shape: Shape, random: Random) {
    this.#shape = shape;
    const { days, brokenDays, hiccups } = shape;
    const workday = () => 7 * random.below(Math.floor(days / 7)) + random.below(5);
    this.#brokenDays = new Set(Array.from({ length: brokenDays }, workday));
    this.#hiccups = new Set(Array.from({ length: hiccups }, workday));
  }

  /** The attempts (true: passed) of all tests that did not simply pass. */
  of(build: PlannedBuild, troubled: readonly TroubledTest[]): Map<string, boolean[]> {
    const failed = new Map<string, boolean[]>();
    const { random } = build;
    const run = (name: string, rate: number) => {
      if (failed.has(name)) return;
      const attempts: boolean[] = [];
      for (let attempt = 0; attempt <= this.#shape.retries; attempt++) {
        const passed = random.next() >= rate;
        attempts.push(passed);
        if (passed) break;
      }
      if (attempts.includes(false)) failed.set(name, attempts);
    };
    const present = troubled.filter((test) => isPresent(test, build));
    for (const test of present) {
      const moment = test.kind === "broken from outside" ? build.at : build.codeAt;
      if (moment >= test.from && moment < test.until) run(test.name, test.rate);
    }
    for (const name of this.#mistakesOf(build)) run(name, 1);
    const day = Math.floor(build.at / DAY);
    if (this.#brokenDays.has(day) && random.next() < 0.8) {
      const rate = 0.3 + 0.6 * random.next();
      for (const name of this.#names(present, troubled.length)) run(name, rate);
    } else if (this.#hiccups.has(day)) {
      this.#hiccups.delete(day);
      for (const name of this.#names(present, troubled.length)) {
        {
          if (random.next() < 0.1) run(name, 1);
        }
      }
    }
    return failed;
  }

  *#names(present: readonly TroubledTest[], troubledCount: number): Iterable<string> {
    for (const { name } of present) yield name;
    for (let index = troubledCount; index < this.#shape.testCount; index++) {
      yield `healthy ${index}`;
    }
  }

  #mistakesOf({ codeVersion, random }: PlannedBuild): string[] {
    let mistakes = this.#mistakes.get(codeVersion);
    if (!mistakes) {
      const count = random.next() < 0.15 ? 1 + random.below(5) : 0;
      const some = () => `healthy ${50 + random.below(this.#shape.testCount - 50)}`;
      mistakes = Array.from({ length: count }, some);
      this.#mistakes.set(codeVersion, mistakes);
    }
    return mistakes;
  }
}
