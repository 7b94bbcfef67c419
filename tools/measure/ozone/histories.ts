/** What the histories of tests on the base branch say of the year, without a database. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { changeRange, findSegments, type VersionOutcomes } from "../../../lib/evidence/segments.ts";
import { type HistoryRun, testEvidence } from "../../../lib/evidence/test_evidence.ts";
import { readUploads } from "./uploads.ts";

const WEEK_SECONDS = 7 * 24 * 3600;

/** Runs of a test, oldest first. */
type Histories = Map<string, HistoryRun[]>;

interface Year {
  /** Of tests that failed at least once, by class and method. */
  all: Histories;
  /** The same with the first upload of each job of a tree only: as if nothing ever ran again. */
  first: Histories;
}

/** A row of `truth.tsv`. */
interface Named {
  at: number;
  kind: string;
  className: string;
  method: string;
  issue: string;
}

/** Prints the figures of a folder with `history.ndjson.gz` and `truth.tsv`. */
export async function printHistories(folder: string, print: (line: string) => void): Promise<void> {
  const year = await readYear(folder);
  const named = await readTruth(join(folder, "truth.tsv"));
  printKnown(year, named, print);
  printFixes(year.all, named, print);
  printCalendar(year.all, print);
  printMonday(year, print);
  printSimulation(print);
  printTime(print);
}

async function readYear(folder: string): Promise<Year> {
  const numbers = new Map<string, number>();
  const names: string[] = [];
  const failing = new Set<number>();
  const uploads: {
    run: Omit<HistoryRun, "hasFailed" | "hasFailedAtLast">;
    isFirst: boolean;
    tests: Int32Array;
    failed: Set<number>;
  }[] = [];
  const seen = new Set<string>();
  for await (const { results, commit, tree, job, recordedAt } of readUploads(folder)) {
    const tests = new Set<number>();
    const failed = new Set<number>();
    for (const { class: className, name, conclusion } of results) {
      if (conclusion === "skipped" || conclusion === "unknown") continue;
      const key = `${className.split(".").at(-1)} ${name.split(/[[(]/)[0]}`;
      let number = numbers.get(key);
      if (number === undefined) {
        numbers.set(key, number = names.length);
        names.push(key);
      }
      tests.add(number);
      if (conclusion !== "passing") {
        failed.add(number);
        failing.add(number);
      }
    }
    const code = `${tree} ${job}`;
    const run = { commitOid: commit, treeOid: tree, code: tree, environment: "", job, recordedAt };
    uploads.push({ run, isFirst: !seen.has(code), tests: Int32Array.from(tests), failed });
    seen.add(code);
  }
  const year: Year = { all: new Map(), first: new Map() };
  for (const { run, isFirst, tests, failed } of uploads) {
    const passed = { ...run, hasFailed: false, hasFailedAtLast: false };
    const negative = { ...run, hasFailed: true, hasFailedAtLast: true };
    for (const number of tests) {
      if (!failing.has(number)) continue;
      const one = failed.has(number) ? negative : passed;
      append(year.all, names[number]!, one);
      if (isFirst) append(year.first, names[number]!, one);
    }
  }
  return year;
}

function append(histories: Histories, name: string, run: HistoryRun): void {
  const runs = histories.get(name);
  if (runs) runs.push(run);
  else histories.set(name, [run]);
}

async function readTruth(path: string): Promise<Named[]> {
  return (await readFile(path, "utf8")).trimEnd().split("\n").slice(1).map((line) => {
    const [at = "", , kind = "", className = "", method = "", issue = ""] = line.split("\t");
    return { at: Date.parse(at) / 1000, kind, className, method, issue };
  });
}

/** The histories of a method, or of all methods of a class where none is named. */
function historiesOf(histories: Histories, { className, method }: Named): HistoryRun[][] {
  if (method !== "") {
    const own = histories.get(`${className} ${method}`);
    return own ? [own] : [];
  }
  return [...histories].filter(([name]) => name.startsWith(`${className} `))
    .map(([, runs]) => runs);
}

function hasFailed(runs: readonly HistoryRun[]): boolean {
  return runs.some((run) => run.hasFailed);
}

/** Whether a test failed and passed on one tree: what the list of disruptive tests needs. */
function isDisruptive(runs: readonly HistoryRun[]): boolean {
  return [...Map.groupBy(runs, ({ code }) => code).values()]
    .some((own) => hasFailed(own) && own.some((run) => !run.hasFailed));
}

/** Whether its state was flaky or broken at the end of a week. */
function wasListed(runs: readonly HistoryRun[]): boolean {
  const [start, end] = [runs[0]!.recordedAt, runs.at(-1)!.recordedAt];
  for (let at = start; at <= end + WEEK_SECONDS; at += WEEK_SECONDS) {
    const until = runs.filter(({ recordedAt }) => recordedAt <= at);
    if (until.length > 0 && isBad(until)) return true;
  }
  return false;
}

function isBad(runs: readonly HistoryRun[]): boolean {
  return ["broken", "flaky"].includes(stateOf(runs));
}

function stateOf(runs: readonly HistoryRun[]) {
  return testEvidence(runs, { disruptedIn: new Set(), repair: null }).state;
}

function printKnown({ all, first }: Year, named: Named[], print: (line: string) => void): void {
  const kinds = ["label", "disable", "fix"];
  const known = [
    ...Map.groupBy(
      named.filter(({ kind }) => kinds.includes(kind)),
      ({ className, method }) => `${className} ${method}`,
    ).values(),
  ].map(([one]) => one!).filter((one) => historiesOf(all, one).some(hasFailed));
  const count = (histories: Histories, isShown: (runs: HistoryRun[]) => boolean) =>
    known.filter((one) => historiesOf(histories, one).some(isShown)).length;
  print(`| of ${known.length} tests that people named and that failed | all runs | first runs |
| --- | ---: | ---: |
| failed and passed on one tree | ${count(all, isDisruptive)} | ${count(first, isDisruptive)} |
| flaky or broken at the end of a week | ${count(all, wasListed)} | ${count(first, wasListed)} |
`);
}

/** The outcome of each code version, with the times of their first runs. */
function versionsOf(runs: readonly HistoryRun[]): VersionOutcomes & { times: number[] } {
  const versions = [...Map.groupBy(runs, ({ code }) => code).values()];
  return {
    count: versions.length,
    times: versions.map(([first]) => first!.recordedAt),
    runs: versions.map((own) => own.length),
    failures: versions.map((own) => own.filter((run) => run.hasFailed).length),
  };
}

/** Whether the rate fell, and whether a range in which it did contains the time of a fix. */
function dropAt(runs: readonly HistoryRun[], at: number): "none" | "elsewhere" | "here" {
  const versions = versionsOf(runs);
  const segments = findSegments(versions);
  let found: "none" | "elsewhere" | "here" = "none";
  for (const [index, after] of segments.entries()) {
    const before = segments[index - 1];
    if (!before || after.failures * before.runs >= before.failures * after.runs) continue;
    const { from, to } = changeRange(versions, before, after);
    if (versions.times[from]! <= at && at <= versions.times[to]!) return "here";
    found = "elsewhere";
  }
  return found;
}

function printFixes(all: Histories, named: Named[], print: (line: string) => void): void {
  const fixes = named.filter(({ kind }) => kind === "fix").map((fix) => ({
    fix,
    runs: historiesOf(all, fix).filter((runs) =>
      runs.some((run) => run.hasFailed && run.recordedAt < fix.at)
    ),
  })).filter(({ runs }) => runs.length > 0);
  print(`| fix | failures before | failures after | drop | passes since | needed |
| --- | ---: | ---: | --- | ---: | ---: |`);
  for (const { fix, runs } of fixes) {
    // The test of the class that failed most often before.
    const failures = (list: HistoryRun[], isBefore: boolean) =>
      list.filter((run) => run.hasFailed && run.recordedAt < fix.at === isBefore).length;
    const [own] = runs.toSorted((a, b) => failures(b, true) - failures(a, true));
    const ran = (isBefore: boolean) =>
      own!.filter(({ recordedAt }) => recordedAt < fix.at === isBefore).length;
    const repair = { commitOid: "-", recordedAt: fix.at };
    const { calm } = testEvidence(own!, { disruptedIn: new Set(), repair });
    const again = own!.filter(({ recordedAt }) => recordedAt >= fix.at)
      .findIndex((run) => run.hasFailed);
    const passes = again >= 0 ? `failed again in run ${again + 1}` : String(calm!.passes);
    print(
      `| ${fix.issue} ${fix.className} | ${failures(own!, true)} of ${ran(true)} | ` +
        `${failures(own!, false)} of ${ran(false)} | ${dropAt(own!, fix.at)} | ${passes} | ` +
        `${calm!.passesNeeded} |`,
    );
  }
  print("");
}

/** From which of its failed runs on a test is broken that the calendar broke. */
function printCalendar(all: Histories, print: (line: string) => void): void {
  const start = Date.parse("2022-01-01T00:00:00Z") / 1000;
  for (const [name, runs] of all) {
    if (!name.startsWith("TestDefaultCAServer ")) continue;
    const first = runs.findIndex((run) => run.hasFailed && run.recordedAt >= start);
    if (first < 0) continue;
    let last = first;
    while (runs[last + 1]?.hasFailed) last++;
    if (last - first < 2) continue;
    let at = first;
    while (at <= last && stateOf(runs.slice(0, at + 1)) !== "broken") at++;
    print(
      `${name}: ${last - first + 1} runs failed from 2022-01-01 on, broken from failed run ` +
        `${at > last ? "none" : at - first + 1} on\n`,
    );
  }
}

/** The states on a Monday. */
function printMonday({ all, first }: Year, print: (line: string) => void): void {
  const monday = Date.parse("2021-11-08T06:00:00Z") / 1000;
  for (const [title, histories] of [["all runs", all], ["first runs", first]] as const) {
    const states = [...histories.values()]
      .map((runs) => runs.filter(({ recordedAt }) => recordedAt <= monday))
      .filter((runs) => runs.length > 0).map(stateOf);
    const count = (state: string) => states.filter((one) => one === state).length;
    print(`Monday 2021-11-08, ${title}: ${count("broken")} broken, ${count("flaky")} flaky`);
  }
  print("");
}

const SIMULATED = 2_000;

/** Numbers from 0 to 1, the same each time (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function printSimulation(print: (line: string) => void): void {
  const random = createRandom(1);
  const simulate = (rates: readonly number[]) => rates.map((rate) => Number(random() < rate));
  const segmentsOf = (failures: number[]) =>
    findSegments({ count: failures.length, runs: failures.map(() => 1), failures });
  const constant = [0.01, 0.03, 0.1, 0.3].map((rate) => {
    let changed = 0;
    for (let index = 0; index < SIMULATED; index++) {
      if (segmentsOf(simulate(Array(400).fill(rate))).length > 1) changed++;
    }
    return `${(100 * changed / SIMULATED).toFixed(1)} % at ${100 * rate} %`;
  });
  print(`Histories of 400 runs of constant rate in which a change is seen: ${constant.join(", ")}`);
  const five = [
    ...simulate(Array(400).fill(0)),
    ...simulate(Array(5).fill(1)),
    ...simulate(Array(400).fill(0)),
  ];
  print(`Segments of 800 green runs with five red ones among them: ${segmentsOf(five).length}\n`);
}

function printTime(print: (line: string) => void): void {
  const random = createRandom(2);
  for (const rate of [0.01, 0.1]) {
    const runs: HistoryRun[] = Array.from({ length: 2_000 }, (_, index) => {
      const isFailed = random() < rate;
      return {
        commitOid: String(index),
        treeOid: null,
        code: String(index),
        environment: "",
        job: "",
        recordedAt: index,
        hasFailed: isFailed,
        hasFailedAtLast: isFailed,
      };
    });
    const times = Array.from({ length: 50 }, () => {
      const start = performance.now();
      testEvidence(runs, { disruptedIn: new Set(), repair: null });
      return performance.now() - start;
    }).sort((a, b) => a - b);
    print(`A test of 2,000 runs of which ${100 * rate} % fail: median ${times[25]!.toFixed(2)} ms`);
  }
}
