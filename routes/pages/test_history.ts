// Tests: tests/routes/page_parameters_test.ts tests/routes/pages_test.ts
/** The history of a test on the base branch: its state, since when, and whether it is repaired. */
import type { loadBaseHistory } from "../../db/read/test_evidence.ts";
import { formatCount, plural } from "../../lib/base/text.ts";
import { conditionsOfRun, findConditions } from "../../lib/evidence/conditions.ts";
import {
  percent,
  sayBefore,
  sayCalm,
  sayRate,
  sayRepair,
  saySince,
} from "../../lib/evidence/history_said.ts";
import { sayDay } from "../../lib/evidence/said.ts";
import type { TestState } from "../../lib/evidence/states.ts";
import { type TestEvidence, testEvidence } from "../../lib/evidence/test_evidence.ts";
import { table } from "../../lib/html/elements.ts";
import { hiddenFields, textField } from "../../lib/html/forms.ts";
import { forgeOf } from "../../lib/html/forge_links.ts";
import { keptParameters } from "../../lib/html/layout.ts";
import { externalAddress, externalLink, type Markup, markup } from "../../lib/html/markup.ts";
import type { ParameterErrors } from "../../lib/http/request/errors.ts";
import type { RawParameters } from "../../lib/http/request/parameters.ts";
import type { TestPage } from "./quarantine.ts";

type BaseHistory = Awaited<ReturnType<typeof loadBaseHistory>>;

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

/** State, since when, calm, and what the runs since a commit say that is meant as the repair. */
export function baseHistory(history: BaseHistory, page: TestPage): Markup {
  const { base, firstRecordedAt, runs } = history;
  const { repository, test, zone } = page;
  const found = testEvidence(runs, { isDisruptive: test.disruptionCount > 0, repair: null });
  const { state, environment, segments, since } = found;
  const [first] = segments;
  const oldest = firstRecordedAt.get(environment);
  const named = {
    base,
    day: (seconds: number) => sayDay(seconds, zone),
    wasAdded: first !== undefined && oldest !== undefined && oldest < first.from.recordedAt,
  };
  const compare = since
    ? forgeOf(repository.url)?.compare(since.from.commitOid, since.to.commitOid) ?? ""
    : "";
  const changes = externalAddress(compare) && markup` (${externalLink(compare, "compare")})`;
  const hasSeveral = new Set(runs.map((run) => run.environment)).size > 1;
  const place = hasSeveral && markup` in <b>${environment || "an unknown environment"}</b>`;
  const before = sayBefore(found);
  const calm = sayCalm(found);
  return markup`<section aria-label="History on the base branch" class="band said ${
    STATE_TONES[state]
  }">
<p><b class="state ${state}">${STATE_WORDS[state]}</b>: ${sayRate(found, named)}${place} ${
    saySince(found, named)
  }${changes}${before && `; ${before}`}.</p>
${calm && markup`<p>${calm}.</p>`}
${state === "flaky" && failsWhere(runs)}
${repairAnswer(history, page)}</section>
${segments.length > 1 && segmentDetails(found, page)}`;
}

/** The conditions that the failures of a test prefer. */
function failsWhere(runs: BaseHistory["runs"]): Markup | "" {
  const found = findConditions(
    runs.map((run) => ({ failed: run.hasFailed, values: conditionsOfRun(run) })),
  ).slice(0, MAX_CONDITIONS);
  if (found.length === 0) return "";
  const items = found.map(({ dimension, value, ...counts }) => {
    const { runs, failures, otherRuns, otherFailures } = counts;
    return markup`<li>${DIMENSION_WORDS[dimension]} <b>${
      dimension === "hour" ? `${value}:00 to ${value}:59 UTC` : value
    }</b>: in ${failures} of ${plural(runs, "run")}, elsewhere in ${otherFailures} of ${
      formatCount(otherRuns)
    }</li>`;
  });
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

/** What the runs since the commit that is meant as the repair say. */
function repairAnswer(
  { base, repair, runs }: BaseHistory,
  { test, parameters: { since = "" } }: TestPage,
): Markup | null {
  if (since !== "" && repair === null) {
    return markup`<p role="status">No run of <code>${since}</code> on ${base} is stored, so nothing can be said about
this fix.</p>`;
  }
  const isDisruptive = test.disruptionCount > 0;
  const answer = repair && sayRepair(testEvidence(runs, { isDisruptive, repair }).calm!, repair);
  return answer ? markup`<p role="status">${answer}.</p>` : null;
}

/** The form for a commit that is meant as the repair. */
export function repairForm({ base, repair }: BaseHistory, { parameters }: TestPage): Markup {
  const { since = "", days } = parameters;
  const isUnknown = since !== "" && repair === null;
  const errors = { since: [`no run of this commit on ${base} is stored`] };
  return markup`<form class="filters">${repairField(parameters, isUnknown ? errors : {})}
<button>Count its passes</button>${
    hiddenFields({ ...days && { days }, ...keptParameters(parameters) })
  }</form>`;
}

/** The field for a commit that is meant as the repair. */
export function repairField({ since }: RawParameters, errors: ParameterErrors): Markup {
  return textField({
    name: "since",
    label: "Commit with the fix",
    hint: "9f2c4e1",
    value: since,
    errors: errors.since,
  });
}
