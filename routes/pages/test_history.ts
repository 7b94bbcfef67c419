// Tests: tests/routes/page_parameters_test.ts tests/routes/pages_test.ts
/** The history of a test on the base branch: its state, since when, and whether it is repaired. */
import type { loadTestHistory } from "../../db/read/test_evidence.ts";
import type { DisruptedPlace } from "../../db/read/runs_of_test.ts";
import { compareTexts, formatCount, plural } from "../../lib/base/text.ts";
import { areOnOtherBranches, isInactive } from "../../lib/evidence/base_branch.ts";
import { conditionsOfRun, findConditions } from "../../lib/evidence/conditions.ts";
import {
  percent,
  sayBefore,
  sayCalm,
  sayFailing,
  sayNotRun,
  sayRate,
  sayRepair,
  saySince,
  sayStopped,
} from "../../lib/evidence/history_said.ts";
import { sayDay } from "../../lib/evidence/said.ts";
import type { TestState } from "../../lib/evidence/states.ts";
import {
  type Environments,
  environmentsIn,
  type Since,
  type TestEvidence,
  testEvidence,
} from "../../lib/evidence/test_evidence.ts";
import { table } from "../../lib/html/elements.ts";
import { hiddenFields, textField } from "../../lib/html/forms.ts";
import { forgeOf } from "../../lib/html/forge_links.ts";
import { keptParameters } from "../../lib/html/layout.ts";
import {
  type Content,
  externalAddress,
  externalLink,
  type Markup,
  markup,
} from "../../lib/html/markup.ts";
import type { TestPage } from "./quarantine.ts";

type TestHistory = Awaited<ReturnType<typeof loadTestHistory>>;

/** What to do where no upload names its branch. */
export const ADD_BRANCH = markup`add <code>branch=</code> to the upload`;

const MAX_SEGMENTS = 10;
const MAX_CONDITIONS = 5;

const STATE_WORDS: Readonly<Record<TestState, string>> = {
  broken: "Broken",
  flaky: "Flaky",
  healthy: "Healthy",
  new: "New",
};

const DIMENSION_WORDS: Readonly<Record<string, string>> = {
  environment: "in the environment",
  job: "in the job",
  shard: "in the shard",
  runner: "on the runner",
  hour: "at",
  weekday: "on",
};

const STATE_TONES: Readonly<Record<TestState, string>> = {
  broken: "failed",
  flaky: "unclear",
  healthy: "passed",
  new: "neutral",
};

/** A commit that is meant as the repair. */
interface Fix {
  /** As it was given, `""` without one. */
  since: string;
  /** What is wrong with it, for its field. */
  error: string | null;
  /** What its runs say, or why they say nothing. */
  answer: Markup | string | null;
}

/** What there is to say of a commit that is meant as the repair. */
export function fixOf(
  { base, repair, runs }: TestHistory,
  { since, wrongCommit, disruptedIn }: {
    since: string;
    wrongCommit: string | null;
    disruptedIn: Environments;
  },
): Fix {
  if (since === "") return { since, error: null, answer: null };
  if (wrongCommit !== null) return { since, error: wrongCommit, answer: `${wrongCommit}.` };
  if (repair === null) {
    return {
      since,
      error: `no run of this commit on ${base} is stored`,
      answer:
        markup`No run of <code>${since}</code> on ${base} is stored, so nothing can be said about
this fix.`,
    };
  }
  const found = testEvidence(runs, { disruptedIn, repair });
  // The environment that says least for the repair: another one may stand for the test.
  const place = found.environment && ` (in ${found.environment})`;
  const notRun = sayNotRun(found, repair);
  const others = notRun === "" ? "" : ` ${notRun}.`;
  return { since, error: null, answer: `${sayRepair(found, repair)}${place}.${others}` };
}

/** Links to the changes of which one is the cause; `""` without any, or without a known forge. */
export function linkToChanges(
  since: Since | null,
  { url }: { url: string },
  text: string,
): Markup | "" {
  if (since === null || since.changes === 0) return "";
  const address = forgeOf(url)?.compare(since.from.commitOid, since.to.commitOid) ?? "";
  return externalAddress(address) ? externalLink(address, text) : "";
}

/** State, since when, calm, and what the runs since a commit say that is meant as the repair. */
export function baseHistory(
  history: TestHistory,
  { fix: { answer }, disrupted }: {
    fix: Fix;
    /** In the window, on any branch. */
    disrupted: readonly DisruptedPlace[];
  },
  page: TestPage,
): Markup {
  const { base, isBaseNamed, runs } = history;
  const { repository, zone } = page;
  const { judged, failing, found } = judge(history, disrupted);
  const { state } = judged;
  const { environment, segments, since } = found;
  const named = (of: TestEvidence) => ({
    base,
    isBaseNamed,
    day: (seconds: number) => sayDay(seconds, zone),
    wasAdded: history.wasAdded(of.environment),
  });
  const sinceWhen = saySince(found, named(found));
  const compare = linkToChanges(since, repository, "compare");
  const changes = compare && markup` (${compare})`;
  const hasSeveral = hasSeveralEnvironments(history);
  const before = sayBefore(found);
  const lastRuns = sayFailing(found);
  const calm = sayCalm(found);
  const stopped = stoppedRunning(history, page);
  // The history leaves outages out, in which the test may have been flaky on the base branch.
  const isElsewhere = state === "flaky" && runs.every(({ hasFailed }) => !hasFailed) &&
    areOnOtherBranches(disrupted, base);
  const latest = stopped ?? lastFailure(found, history, page);
  return markup`<section aria-label="History on the base branch" class="band said ${
    STATE_TONES[state]
  }">
<p><b class="state ${state}">${STATE_WORDS[state]}</b>${
    isElsewhere && ` on branches other than ${base}`
  }: ${sayRate(found, named(found))}${hasSeveral && inPlace(environment)}${
    sinceWhen && ` ${sinceWhen}`
  }${changes}${before && `; ${before}`}${
    !isBaseNamed && runs.length === 0 && markup`: ${ADD_BRANCH}`
  }.</p>
${lastRuns && markup`<p>${lastRuns}.</p>`}
${failing && markup`<p>It ${sayRate(judged, named(judged))}${inPlace(judged.environment)}.</p>`}
${latest && markup`<p>${latest}</p>`}
${stoppedInEnvironments(history, page)}
${calm && markup`<p>${hasSeveral && markup`In ${nameOf(environment)}: `}${calm}.</p>`}
${(state === "flaky" || judged.failingRuns !== null) && failsWhere(runs)}
${answer && markup`<p role="status">${answer}</p>`}</section>
${segments.length > 1 && segmentDetails(found, page)}`;
}

/** The evidence that stands for a test, and the one of another environment if the test fails only there. */
function judge(history: TestHistory, disrupted: readonly DisruptedPlace[]) {
  const disruptedIn = environmentsIn(disrupted, null);
  const judged = testEvidence(history.current, { disruptedIn, repair: null });
  // Of environments in which it is flaky the one with most runs stands for the test: its failures come first.
  const failing = judged.failures === 0 ? failingElsewhere(history, judged, disruptedIn) : null;
  return { judged, failing, found: failing ?? judged };
}

/** The environment in which a test fails most often, where the one that stands for it has no failure. */
function failingElsewhere(
  { current }: TestHistory,
  { environment }: TestEvidence,
  disruptedIn: Environments,
): TestEvidence | null {
  const others = Map.groupBy(current, (run) => run.environment);
  others.delete(environment);
  const [worst] = [...others.values()]
    .map((own) => testEvidence(own, { disruptedIn, repair: null }))
    .filter(({ failures }) => failures > 0)
    .sort((a, b) => b.rate! - a.rate! || compareTexts(a.environment, b.environment));
  return worst ?? null;
}

function inPlace(environment: string): Markup {
  return markup` in ${nameOf(environment)}`;
}

function nameOf(environment: string): Markup {
  return markup`<b>${environment || "an unknown environment"}</b>`;
}

/** When a test failed last that has not passed often enough since to be calm; `""` where there is nothing to say. */
function lastFailure(
  { state, environment, calm }: TestEvidence,
  { runs, base, latestRunAt }: TestHistory,
  { at, now }: TestPage,
): Markup | "" {
  const own = runs.filter((run) => run.environment === environment);
  const last = own.findLast(({ hasFailed }) => hasFailed);
  const isCalm = calm !== null && calm.passes >= calm.passesNeeded;
  if (!last) return "";
  const latest = runs.findLast(({ hasFailed }) => hasFailed)!;
  // The calm of one environment says nothing of another.
  if (state === "flaky" && latest.environment !== environment) {
    return markup`<b>Last failure</b> on ${base} ${at(latest.recordedAt)}${
      inPlace(latest.environment)
    }.`;
  }
  // The passes since then are of later code: without this sentence the page would only say that it is calm.
  const tested = new Set(own.slice(0, own.indexOf(last)).map(({ code }) => code));
  if (state !== "broken" && tested.has(last.code) && [...tested].at(-1) !== last.code) {
    return markup`<b>Last failure</b> on ${base} ${at(last.recordedAt)}, at earlier code.`;
  }
  if (isCalm || state === "healthy" || state === "new") return "";
  if (state === "broken" && isInactive({ latestRunAt, now })) {
    return markup`<b>Inactive</b>: no run on ${base} since ${at(latestRunAt)}.`;
  }
  // Of a test that failed once in 120 runs nothing says that it still fails.
  return state === "broken"
    ? markup`<b>Still failing</b>: last on ${base} ${at(last.recordedAt)}.`
    : markup`<b>Last failure</b> on ${base} ${at(last.recordedAt)}.`;
}

/** That its job runs without the test, and since when; `null` while it runs. */
function stoppedRunning({ stopped, base }: TestHistory, { at }: TestPage): Markup | null {
  return stopped &&
    markup`<b>Stopped running</b>: last on ${base} ${at(stopped.lastRunAt)}; ${
      sayStopped(stopped)
    }.`;
}

/** The environments in which the test failed and does not run any more, while others go on; nothing without one. */
function stoppedInEnvironments({ runs, current }: TestHistory, { at }: TestPage): Content {
  const running = new Set(current.map(({ environment }) => environment));
  const stopped = runs.filter(({ environment }) => !running.has(environment));
  return [...Map.groupBy(stopped, ({ environment }) => environment)]
    .filter(([, own]) => own.some(({ hasFailed }) => hasFailed))
    .map(([environment, own]) =>
      markup`<p>Stopped running in <b>${
        environment || "an unknown environment"
      }</b>, where it failed in ${
        formatCount(own.filter(({ hasFailed }) => hasFailed).length)
      } of ${plural(own.length, "run")}: last ${
        at(own.at(-1)!.recordedAt)
      }. Its state is taken from where it still runs.</p>`
    );
}

/** The environment in which the test fails, as the first lines of the page say; `null` where they do not. */
export function namedEnvironment(
  history: TestHistory,
  disrupted: readonly DisruptedPlace[],
): string | null {
  const { environment, failures } = judge(history, disrupted).found;
  return failures > 0 && hasSeveralEnvironments(history) ? environment : null;
}

function hasSeveralEnvironments({ runs }: TestHistory): boolean {
  return new Set(runs.map((run) => run.environment)).size > 1;
}

/** The conditions that the failures of a test prefer. */
function failsWhere(runs: TestHistory["runs"]): Markup | "" {
  const conditioned = runs.map((run) => ({ failed: run.hasFailed, values: conditionsOfRun(run) }));
  const found = findConditions(conditioned).slice(0, MAX_CONDITIONS);
  if (found.length === 0) return "";
  const items = found.map((
    { dimension, value, runs, failures, otherRuns, otherFailures, brokenRuns },
  ) =>
    markup`<li>${otherFailures === 0 && "only "}${DIMENSION_WORDS[dimension]} <b>${
      dimension === "hour" ? `${value}:00 to ${value}:59 UTC` : value
    }</b>: in ${failures === runs ? "all" : `${formatCount(failures)} of`} ${plural(runs, "run")}${
      brokenRuns > 0 ? `, in all of the last ${formatCount(brokenRuns)};` : ","
    } elsewhere in ${otherFailures === 0 ? "none" : formatCount(otherFailures)} of ${
      formatCount(otherRuns)
    }</li>`
  );
  return markup`<p>Fails where:</p><ul>${items}</ul>`;
}

function segmentDetails({ segments }: TestEvidence, { at, link, repository }: TestPage): Markup {
  const rows = segments.toReversed().slice(0, MAX_SEGMENTS).map((segment) => {
    const { runs, failures, from, to } = segment;
    return [
      at(from.recordedAt),
      at(to.recordedAt),
      `${percent(failures / runs)} %`,
      formatCount(failures),
      formatCount(runs),
      link.commit(repository, from.commitOid),
    ];
  });
  const columns = [
    "From|nowrap",
    "To|nowrap",
    "Failed|number",
    "Failures|number",
    "Runs|number",
    "First commit|wide",
  ];
  return markup`<details><summary>${
    plural(segments.length, "segment")
  } of constant failure rate</summary>
${table("Segments of constant failure rate", columns, rows, "dense")}</details>`;
}

/** The form for a commit that is meant as the repair. */
export function repairForm({ since, error }: Fix, { parameters }: TestPage): Markup {
  const { days } = parameters;
  return markup`<form class="filters">${
    textField({
      name: "since",
      label: "Commit with the fix",
      hint: "9f2c4e1",
      value: since,
      errors: error === null ? undefined : [error],
    })
  }
<button>Count its passes</button>${
    hiddenFields({ ...days && { days }, ...keptParameters(parameters) })
  }</form>`;
}
