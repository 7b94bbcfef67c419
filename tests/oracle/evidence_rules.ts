/**
 * The evidence for failures over plain runs, in the slowest and most obvious way. Shares nothing with the
 * program but the fingerprints of causes and the published shares.
 */
import { PUBLISHED } from "../../lib/evidence/shares.ts";

/** Stands for the set-up of all other tests, which are of one file. */
export const SET_UP = "beforeEach hook";

const HOUR = 3_600;
const DAY = 24 * HOUR;

/** A run in one job of a workflow and environment. */
export interface PlainRun {
  /** Seconds since 1970; no two are equal. */
  at: number;
  /** `""` when unknown. */
  branch: string;
  /** The pull request that it tests; 0 for none. */
  pull: number;
  commit: string;
  job: string;
  workflow: string;
  environment: string;
  build: string;
  attempt: string;
  /** The attempts of each test: `null` passed, otherwise its cause, `""` when unknown. */
  tests: ReadonlyMap<string, readonly (string | null)[]>;
}

interface PlainShare {
  notTheChange: number;
  of: number;
  from: string;
}

export interface PlainConclusion {
  evidence: string;
  isOnBase: boolean;
  share: PlainShare | null;
  blame: string;
}

/** Everything that is stored, with what was concluded. */
export class EvidenceRules {
  readonly runs: PlainRun[] = [];
  readonly #concluded = new Map<PlainRun, Map<string, PlainConclusion>>();
  readonly #outages = new Set<PlainRun>();

  /** Stores a run with what is concluded from its failures. */
  add(run: PlainRun): Map<string, PlainConclusion> {
    const concluded = this.conclude(run);
    if (this.massFailure(run) === "outage") this.#outages.add(run);
    this.runs.push(run);
    this.#concluded.set(run, concluded);
    return concluded;
  }

  conclude(run: PlainRun): Map<string, PlainConclusion> {
    const names = [...run.tests.keys()].filter((name) => hasFailed(run, name));
    return new Map(names.map((name) => {
      const evidence = this.evidence(run, name);
      const isOnBase = run.branch === "main" || isOfQueue(run);
      const share = this.share(run.at, evidence, isOnBase);
      return [name, { evidence, isOnBase, share, blame: this.blame(evidence, share) }];
    }));
  }

  evidence(run: PlainRun, name: string): string {
    const causes = causesOf(run, name);
    const others = this.runs.filter((one) => one.at >= run.at - 365 * DAY && !this.isOwn(one, run));
    // Before its first failure a set-up is unknown, and has no runs.
    const isKnown = others.some((one) => one.tests.has(name));
    const ran = others.filter((one) => isKnown && ranIn(one, name));
    const isAlike = (one: PlainRun) => causesOf(one, name).some((cause) => causes.includes(cause));
    const passedHere = ran.some((one) => isSameVersion(one, run) && hasPassed(one, name));
    if (hasPassed(run, name) || passedHere) return "passed_here";

    const onBase = this.sameJobIfAny(ran.filter((one) => this.isBaseOf(one, run)), run);
    const latest = onBase.filter((one) => one.commit !== run.commit && !this.#outages.has(one))
      .at(-1);
    const ofJob = onBase.filter((one) => isSameJob(one, run) && !this.#outages.has(one));
    const breakages = repairedBreakages(ofJob, name);
    const failed = ran.filter((one) =>
      hasFailed(one, name) && (run.branch !== "" || this.isBaseOf(one, run)) &&
      !breakages.some((broken) => one.at >= broken[0]!.at && one.at <= broken.at(-1)!.at)
    );
    const atOtherCode = failed.filter((one) => one.commit !== run.commit);
    const neverFailed = onBase.length >= 20 && !onBase.some((one) => hasFailed(one, name));
    const elsewhere = atOtherCode.filter((one) =>
      (this.isBaseOf(one, run) || one.branch !== "" && !isSameChange(one, run)) &&
      (isSameJob(one, run) || !(neverFailed && onBase.some((base) => isSameJob(base, run))))
    );
    const hasAllCauses = (runs: PlainRun[]) =>
      causes.length > 0 &&
      causes.every((cause) => runs.some((one) => causesOf(one, name).includes(cause)));
    const isSeen = hasAllCauses(elsewhere) && causes.every((cause) =>
      this.#mayClear(
        elsewhere.filter((one) => causesOf(one, name).includes(cause)),
        run,
      )
    );
    if (latest && hasFailed(latest, name) && isAlike(latest) && isSeen) return "fails_on_base";

    const kind = this.massFailure(run);
    const lately = this.causesElsewhere(run, DAY);
    const isNewHere = !causes.some((cause) => lately.has(cause));
    if (kind === "outage" && causes.every((cause) => lately.has(cause))) return "outage";
    const isTogether = kind === "together" || failedTests(run).length >= 10 && isNewHere;
    if (kind !== "outage" && isTogether) return "together";

    const before = run.branch === ""
      ? undefined
      : this.sameJobIfAny(ran.filter((one) => isSameChange(one, run)), run).at(-1);
    const failedBefore = before !== undefined && hasFailed(before, name) && isAlike(before);
    if (isSeen && !failedBefore) return "seen_elsewhere";
    if (atOtherCode.length > 0 && !hasAllCauses(failed)) return "new_cause";
    if (onBase.length === 0) return "new_test";
    return neverFailed ? "first" : "few";
  }

  /** Whether failures are no sign of a change that was merged: not all of one other change. */
  #mayClear(failed: PlainRun[], run: PlainRun): boolean {
    if (run.branch !== "main" && !isOfQueue(run)) return true;
    if (failed.some((one) => this.isBaseOf(one, run))) return true;
    const others = failed.filter((one) => one.branch !== "main" && !isOfQueue(one));
    const numberOf = (branch: string) =>
      others.findLast((one) => one.branch === branch && one.pull !== 0)?.pull ?? 0;
    if (run.pull !== 0 && others.some(({ branch }) => numberOf(branch) !== 0)) return true;
    const changes = others.map(({ branch }) => numberOf(branch) || branch);
    return changes.some((one) => one !== changes[0]);
  }

  /**
   * Whether a run is of the base branch for another one: on it, or in its merge queue, where neither its own pull
   * request counts nor one that failed and whose code never ran on the base branch.
   */
  isBaseOf(one: PlainRun, run: PlainRun): boolean {
    if (one.branch === "main") return run.pull === 0 || one.pull !== run.pull;
    if (!isOfQueue(one) || one.pull === run.pull) return false;
    return failedTests(one).length === 0 ||
      [...this.runs, run].some(({ branch, commit }) => branch === "main" && commit === one.commit);
  }

  /** The run itself, as its upload. Runs with an unknown attempt are different ones. */
  isOwn(one: PlainRun, run: PlainRun): boolean {
    return one === run || run.attempt !== "" && isSameAttempt(one, run);
  }

  /**
   * What a client is answered that asks about a run, which may be stored. With an unknown attempt the last one of its
   * build is the run itself, if it has these failures.
   */
  answer(
    run: PlainRun,
    names: readonly string[],
  ): { conclusions: Map<string, PlainConclusion>; isItself: boolean } {
    const last = this.runs.filter((one) => run.attempt === "" && isSameAttempt(one, run)).at(-1);
    const isItself = last !== undefined && last.commit === run.commit &&
      names.every((name) =>
        hasFailed(last, name) &&
        last.tests.get(name)!.includes(null) === run.tests.get(name)!.includes(null) &&
        causesOf(run, name).every((cause) => causesOf(last, name).includes(cause))
      );
    return { conclusions: isItself ? this.#concluded.get(last)! : this.conclude(run), isItself };
  }

  /** Runs of the same job in the same environment, or all if there is none. */
  sameJobIfAny(runs: PlainRun[], run: PlainRun): PlainRun[] {
    const same = runs.filter((one) => isSameJob(one, run));
    return same.length > 0 ? same : runs;
  }

  /** The causes of others lately. What came to the base branch by its merge queue is no other for it. */
  causesElsewhere(
    run: PlainRun,
    seconds: number,
    isWitness = (_one: PlainRun) => true,
  ): Set<string> {
    const others = this.runs.filter((one) =>
      isWitness(one) &&
      one.at >= run.at - seconds && one.branch !== "" && one.commit !== run.commit &&
      (run.branch === "" ? this.isBaseOf(one, run) : !isSameChange(one, run)) &&
      !(run.branch === "main" && isOfQueue(one)) && !this.isOwn(one, run)
    );
    const all = new Set(others.flatMap((one) => [...causesOfRun(one)]));
    return new Set(
      [...all].filter((cause) =>
        this.#mayClear(others.filter((one) => causesOfRun(one).has(cause)), run)
      ),
    );
  }

  massFailure(run: PlainRun): "outage" | "together" | null {
    if (!isMassFailure(run)) return null;
    const failed = failedTests(run);
    const mayGoOn = (one: PlainRun) =>
      isMassFailure(one) &&
      !this.runs.some((later) =>
        later.at > one.at && later.at <= run.at && later.branch === one.branch &&
        isSameJob(later, one) && later.workflow === one.workflow && !isMassFailure(later) &&
        [...later.tests.keys()].some((name) => ranIn(later, name))
      );
    const lately = this.causesElsewhere(run, 2 * HOUR, mayGoOn);
    const seen = failed.filter((name) => causesOf(run, name).some((cause) => lately.has(cause)));
    return seen.length >= failed.length / 2 ? "outage" : "together";
  }

  share(at: number, evidence: string, isOnBase: boolean): PlainShare | null {
    const truths = [...this.#concluded].flatMap(([run, concluded]) => {
      if (run.at < at - 90 * DAY) return [];
      return [...concluded].flatMap(([name, one]) => {
        if (one.evidence !== evidence || one.isOnBase !== isOnBase) return [];
        if (evidence === "outage" || this.isRepeat(run, name)) return [];
        return this.truth(run, name) ?? [];
      });
    });
    if (truths.length >= 10) {
      const notTheChange = truths.filter((truth) => truth === "not_the_change").length;
      return { notTheChange, of: truths.length, from: "repository" };
    }
    const published = isOnBase ? PUBLISHED[evidence as keyof typeof PUBLISHED] : undefined;
    return published ? { ...published, from: "published" } : null;
  }

  isRepeat(run: PlainRun, name: string): boolean {
    return this.runs.some((one) =>
      one.at < run.at && isSameVersion(one, run) && hasFailed(one, name)
    );
  }

  /** What came out of a failure so far; `null` while it is open. */
  truth(run: PlainRun, name: string): "not_the_change" | "the_change" | null {
    const here = this.countingRuns(run, name);
    if (here.length === 0) return null;
    if (here.some((one) => hasPassed(one, name))) return "not_the_change";
    if (here.length >= 3) return "the_change";
    // A commit of the merge queue may come to the base branch.
    const branches = new Set(
      this.runs.filter((one) => isSameVersion(one, run)).map(({ branch }) => branch),
    );
    const isLong = [...branches].some((branch) => this.failsOn({ ...run, branch }, name));
    return isLong ? "the_change" : null;
  }

  /** Whether a test failed at three commits of the branch in a row, with that of the run. */
  failsOn(run: PlainRun, name: string): boolean {
    if (run.branch === "") return false;
    const onBranch = this.runs.filter((one) =>
      one.branch === run.branch && one.job === run.job && one.workflow === run.workflow &&
      one.environment === run.environment && ranIn(one, name)
    );
    const commits = [...new Set(onBranch.map(({ commit }) => commit))];
    const counted = commits.map((commit) => this.countingRuns({ ...run, commit }, name))
      .filter((runs) => runs.length > 0);
    const fails = counted.map((runs) => !runs.some((one) => hasPassed(one, name)));
    const place = counted.findIndex(([first]) => first!.commit === run.commit);
    if (place < 0) return false;
    let [start, end] = [place, place + 1];
    const causes = counted.map((runs) => runs.flatMap((one) => causesOf(one, name)));
    const goesOn = (at: number) =>
      fails[at - 1] && fails[at] && (causes[at]!.length === 0 || causes[at - 1]!.length === 0 ||
        causes[at]!.some((cause) => causes[at - 1]!.includes(cause)));
    while (goesOn(start)) start--;
    while (goesOn(end)) end++;
    return end - start >= 3;
  }

  /** The runs of a test at a code version; a failure in an outage says nothing. */
  countingRuns(run: PlainRun, name: string): PlainRun[] {
    return this.runs.filter((one) =>
      isSameVersion(one, run) && ranIn(one, name) &&
      (hasPassed(one, name) || !this.#outages.has(one))
    );
  }

  blame(evidence: string, share: PlainShare | null): string {
    if (evidence === "passed_here" || evidence === "outage") return "not_yours";
    const rate = share && share.notTheChange / share.of;
    if (evidence === "fails_on_base" || evidence === "seen_elsewhere") {
      return rate !== null && rate < 0.9 ? "unclear" : "not_yours";
    }
    if (rate !== null) return rate < 0.5 ? "yours" : "unclear";
    return ["together", "new_test", "first"].includes(evidence) ? "yours" : "unclear";
  }
}

/** The stretches of at least three runs in a row without a pass, after which at least twenty had no failure. */
function repairedBreakages(runs: PlainRun[], name: string): PlainRun[][] {
  const isBroken = (one: PlainRun | undefined) =>
    one !== undefined && hasFailed(one, name) && !hasPassed(one, name);
  return runs.flatMap((first, index) => {
    if (!isBroken(first) || isBroken(runs[index - 1])) return [];
    const length = [...runs.slice(index), undefined].findIndex((one) => !isBroken(one));
    const after = runs.slice(index + length, index + length + 20);
    return length >= 3 && after.length === 20 && !after.some((one) => hasFailed(one, name))
      ? [runs.slice(index, index + length)]
      : [];
  });
}

function isOfQueue({ branch }: PlainRun): boolean {
  return branch.startsWith("gh-readonly-queue/main/");
}

function isSameChange(a: PlainRun, b: PlainRun): boolean {
  return a.branch === b.branch || a.pull !== 0 && a.pull === b.pull;
}

function isSameJob(a: PlainRun, b: PlainRun): boolean {
  return a.job === b.job && a.environment === b.environment;
}

function isSameAttempt(a: PlainRun, b: PlainRun): boolean {
  return a.build === b.build && a.job === b.job && a.environment === b.environment &&
    a.attempt === b.attempt;
}

function isSameVersion(a: PlainRun, b: PlainRun): boolean {
  return a.commit === b.commit && a.job === b.job && a.workflow === b.workflow &&
    a.environment === b.environment;
}

function ranIn(run: PlainRun, name: string): boolean {
  return run.tests.has(name) || isImplied(run, name);
}

function hasPassed(run: PlainRun, name: string): boolean {
  return run.tests.get(name)?.includes(null) === true || isImplied(run, name);
}

/** Whether the set-up passed, which no report says. */
function isImplied({ tests }: PlainRun, name: string): boolean {
  return name === SET_UP && !tests.has(name) && tests.size > 0;
}

function hasFailed({ tests }: PlainRun, name: string): boolean {
  return tests.get(name)?.some((attempt) => attempt !== null) === true;
}

function isMassFailure(run: PlainRun): boolean {
  const ran = [...run.tests.keys()].filter((name) => ranIn(run, name)).length;
  return ran >= 20 && failedTests(run).length > ran / 5;
}

function failedTests(run: PlainRun): string[] {
  return [...run.tests.keys()].filter((name) => hasFailed(run, name));
}

function causesOfRun(run: PlainRun): Set<string> {
  return new Set([...run.tests.keys()].flatMap((name) => causesOf(run, name)));
}

/** Without unknown ones: they are equal to no other. */
function causesOf({ tests }: PlainRun, name: string): string[] {
  return (tests.get(name) ?? []).filter((cause): cause is string => cause !== null && cause !== "");
}
