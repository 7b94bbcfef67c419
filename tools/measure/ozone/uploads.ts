/**
 * The uploads of a project's recorded CI. Reports exist of failed test classes only, so passes are inferred: a
 * class that is in a job's log ran the methods that its nearest report names, and a green job ran the classes of
 * the fullest of the logs near it.
 */
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";
import type { TestResult } from "../../../lib/report/result.ts";

/** Name, class, seconds, outcome, type, first line and stack of a case in a report. */
type Case = [
  name: string,
  className: string,
  seconds: number,
  outcome: string,
  type: string,
  message: string,
  body: string | string[],
  ...rest: unknown[],
];

interface Job {
  run: number;
  event: string;
  attempt: number;
  tree: string;
  commit: string;
  job: string;
  conclusion: string;
  /** When it ended; `null` when it did not run. */
  at: string | null;
  url: string;
  /** Tests, failures, errors, skipped and seconds, by class. */
  classes?: Record<string, [number, number, number, number, number]>;
  reports?: { suite: string; cases: Case[] }[];
}

/** An upload of a job. */
export interface OzoneUpload {
  commit: string;
  tree: string;
  job: string;
  url: string;
  attempt: number;
  /** Seconds since 1970. */
  recordedAt: number;
  results: TestResult[];
}

/** Stands for the methods of a class of which no report exists. */
const WHOLE_CLASS = "(all methods)";

/** Of these jobs nothing was archived that tells what ran. */
const UNKNOWN_JOBS = ["flaky", "om", "scm", "hdds"].map((name) => `integration (${name})`);

/** Since then methods that are labelled flaky run in another job. */
const OWN_JOB_SINCE = "2022-03-16";

const NEAR_LOGS = 8;

type Period = [from: string, until: string];

/** Reads `history.ndjson.gz` and `truth.tsv` of a folder, and yields the uploads, oldest first. */
export async function* readUploads(folder: string): AsyncGenerator<OzoneUpload> {
  const jobs: (Job & { at: string })[] = [];
  const lines = createInterface({
    input: createReadStream(join(folder, "history.ndjson.gz")).pipe(createGunzip()),
  });
  for await (const line of lines) {
    const job = JSON.parse(line) as Job;
    if (job.at) jobs.push({ ...job, at: job.at });
  }
  jobs.sort((a, b) => order(a.at, b.at) || a.run - b.run || order(a.job, b.job));
  const away = await readAway(join(folder, "truth.tsv"));
  const classes = new ClassHistory(jobs, away);
  for (const { job, at, conclusion, ...facts } of jobs) {
    const own = facts.classes ?? {};
    const reports = facts.reports ?? [];
    let results: TestResult[] = [];
    if (conclusion === "success" && !UNKNOWN_JOBS.includes(job)) {
      results = classes.passesOf(classes.fullestNear(job, at), at, new Set());
    } else if (conclusion === "failure" && (Object.keys(own).length > 0 || reports.length > 0)) {
      const reported = new Set(reports.map(({ suite }) => suite));
      const lost = Object.entries(own).filter(([name, [, failures, errors]]) =>
        failures + errors > 0 && !reported.has(name)
      );
      for (const [name] of lost) reported.add(name);
      results = [
        ...classes.passesOf(own, at, reported),
        ...reports.flatMap(({ suite, cases }) => cases.map((one) => resultOf(suite, one))),
        ...lost.map(([name, [, , , , seconds]]) =>
          resultOf(name, [WHOLE_CLASS, name, seconds, "error", "", "no report was archived", ""])
        ),
      ];
    }
    if (results.length === 0) continue;
    yield {
      commit: facts.commit,
      tree: facts.tree,
      url: facts.url,
      attempt: facts.attempt,
      job,
      recordedAt: Date.parse(at) / 1000,
      results,
    };
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function resultOf(
  suite: string,
  [name, className, seconds, outcome, type, message, body]: Case,
): TestResult {
  const isNegative = outcome === "failure" || outcome === "error";
  const text = Array.isArray(body) ? body.join("\n") : body;
  return {
    suite,
    class: className,
    name,
    file: "",
    conclusion: isNegative ? outcome : outcome === "skipped" ? "skipped" : "passing",
    durationMicroseconds: Math.round(seconds * 1e6),
    message: isNegative ? (message || type).trim().split("\n")[0]!.slice(0, 1_000) : "",
    body: isNegative ? text : "",
  };
}

/** The classes that ran, and their methods. */
class ClassHistory {
  readonly #logs = new Map<string, { at: string; classes: NonNullable<Job["classes"]> }[]>();
  readonly #methods = new Map<
    string,
    { at: string; names: [className: string, name: string, seconds: number][] }[]
  >();

  constructor(jobs: readonly (Job & { at: string })[], readonly away: Map<string, Period[]>) {
    for (const { job, at, classes, reports = [] } of jobs) {
      if (classes && Object.keys(classes).length > 0) append(this.#logs, job, { at, classes });
      for (const { suite, cases } of reports) {
        const names = cases
          .filter(([name, owner, , outcome]) =>
            outcome !== "skipped" && !["", suite, suite.split(".").at(-1), owner].includes(name)
          )
          .map(([name, owner, seconds]) => [owner, name, seconds] as [string, string, number]);
        if (names.length > 0) append(this.#methods, suite, { at, names });
        this.#forgetLabels(cases, at);
      }
    }
  }

  /** A label that left a method in its job says nothing: it failed there afterwards. */
  #forgetLabels(cases: readonly Case[], at: string): void {
    for (const [name, owner, , outcome] of cases) {
      if (outcome !== "failure" && outcome !== "error") continue;
      const short = owner.split(".").at(-1)!;
      for (const key of [`${short} ${methodOf(name)}`, `${short} `]) {
        const periods = this.away.get(key) ?? [];
        this.away.set(key, periods.filter(([from, until]) => at < from || at >= until));
      }
    }
  }

  /** The classes of the fullest log of a job among those near a time. */
  fullestNear(job: string, at: string): NonNullable<Job["classes"]> {
    const near = nearest(this.#logs.get(job) ?? [], at, NEAR_LOGS);
    const sizeOf = (log: typeof near[number]) => Object.keys(log.classes).length;
    return near.reduce<typeof near[number] | null>(
      (best, log) => best && sizeOf(best) >= sizeOf(log) ? best : log,
      null,
    )?.classes ?? {};
  }

  /** A pass of each method of the classes. */
  passesOf(
    classes: NonNullable<Job["classes"]>,
    at: string,
    without: ReadonlySet<string>,
  ): TestResult[] {
    const isAway = (short: string, method: string) =>
      (this.away.get(`${short} ${method}`) ?? []).some(([from, until]) => from <= at && at < until);
    return Object.entries(classes).sort(([a], [b]) => order(a, b)).flatMap(([name, ran]) => {
      const [tests, , , skipped, seconds] = ran;
      const short = name.split(".").at(-1)!;
      if (without.has(name) || tests === skipped || isAway(short, "")) return [];
      const [methods] = nearest(this.#methods.get(name) ?? [], at, 1);
      if (!methods) return [resultOf(name, [WHOLE_CLASS, name, seconds, "pass", "", "", ""])];
      return methods.names.filter(([, method]) => !isAway(short, methodOf(method)))
        .map(([owner, method, took]) => resultOf(name, [method, owner, took, "pass", "", "", ""]));
    });
  }
}

/** Without parameters. */
function methodOf(name: string): string {
  return name.split(/[[(]/)[0]!;
}

function append<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/** The entries nearest to a time, the nearest first; they are in order. */
function nearest<Entry extends { at: string }>(
  entries: readonly Entry[],
  at: string,
  count: number,
): Entry[] {
  let end = entries.findIndex((entry) => entry.at > at);
  if (end === -1) end = entries.length;
  const distance = (entry: Entry) => Math.abs(Date.parse(entry.at) - Date.parse(at));
  return entries.slice(Math.max(0, end - count), end + count)
    .toSorted((a, b) => distance(a) - distance(b)).slice(0, count);
}

/** The periods in which methods were disabled, or in a job of their own, by class and method. */
async function readAway(path: string): Promise<Map<string, Period[]>> {
  const away = new Map<string, Period[]>();
  const open = new Map<string, string>();
  for (const line of (await readFile(path, "utf8")).trimEnd().split("\n").slice(1)) {
    const [at = "", , kind = "", className = "", method = ""] = line.split("\t");
    const key = `${className} ${method}`;
    const label = kind === "label" || kind === "unlabel" ? "label" : "disable";
    const opening = `${label} ${key}`;
    if (kind === "label" || kind === "disable") {
      if (!open.has(opening)) {
        open.set(opening, label === "label" && at < OWN_JOB_SINCE ? OWN_JOB_SINCE : at);
      }
    } else if ((kind === "unlabel" || kind === "enable") && open.has(opening)) {
      append(away, key, [open.get(opening)!, at]);
      open.delete(opening);
    }
  }
  for (const [opening, from] of open) {
    append(away, opening.slice(opening.indexOf(" ") + 1), [from, "9"]);
  }
  return away;
}
