/** `/tests/{id}`: one test. */
import { listQuarantineLog } from "../../db/admin/quarantine_log.ts";
import { loadFailures, type ShownGroup } from "../../db/read/failures.ts";
import { loadRepositoryDetails, type RepositoryDetails } from "../../db/read/repositories.ts";
import { loadTestDetails, type TestDetails } from "../../db/read/test_details.ts";
import {
  type FirstDisruption,
  loadFailureDays,
  loadFirstDisruption,
  type RunVersion,
} from "../../db/read/test_history.ts";
import {
  loadSubmissionRuns,
  loadTestRuns,
  type SubmissionRuns,
  type TestRun,
} from "../../db/read/test_runs.ts";
import type { QuarantineEvent } from "../../lib/analysis/quarantine_log.ts";
import { disruptivenessThousandths, passRateThousandths } from "../../lib/analysis/tracked_test.ts";
import { recordedAtOf } from "../../lib/base/identity.ts";
import { plural } from "../../lib/base/text.ts";
import { type Outcome, outcomeStrip } from "../../lib/html/charts.ts";
import { quarantineCommand, rerunCommands } from "../../lib/html/commands.ts";
import { formatDuration, formatThousandths, shortOid } from "../../lib/html/format.ts";
import { externalLink, type Markup, markup } from "../../lib/html/markup.ts";
import { columns, table } from "../../lib/html/table.ts";
import { selectedTest } from "../../lib/http/request/route.ts";
import { checkVersion, StaleVersionError } from "../../lib/http/request/stale_version.ts";
import { failureBars, HISTORY_DAYS } from "./history.ts";
import {
  buildLink,
  crumbsTo,
  definePage,
  disclosure,
  emptyState,
  keyFigures,
  type PageContext,
  placeOf,
  stackTrace,
} from "./page.ts";

const SHOWN_RUNS = 100;
const MAX_ROWS = 10;

/** Input of the functions that render the page's sections. */
interface TestContext extends PageContext {
  repository: RepositoryDetails;
}

/** `/tests/{id}`. */
export const testPage = definePage({
  path: "/tests/:id",
  resource: "test in path",
  async show(request, pageContext) {
    const { now, windowStart, today } = request;
    const { sql, pathTo } = pageContext;
    const selected = selectedTest(request);
    const { repositoryId, testNo } = selected;
    const test = { repositoryId, testNo };
    const ofWindow = { ...test, windowStart, branches: null };
    const [[repository], details, latest, all, failures, days, first] = await Promise.all([
      loadRepositoryDetails(sql, [repositoryId]),
      loadTestDetails(sql, { ...ofWindow, now }),
      loadTestRuns(sql, { ...ofWindow, status: "all", after: null, limit: SHOWN_RUNS }),
      loadSubmissionRuns(sql, ofWindow),
      loadFailures(sql, ofWindow),
      loadFailureDays(sql, { ...test, firstDay: today - HISTORY_DAYS + 1 }),
      loadFirstDisruption(sql, test),
    ]);
    if (!repository || !details) throw new StaleVersionError();
    for (const { version } of [details, latest, all, failures]) checkVersion(selected, version);
    const context = { ...pageContext, repository };
    const { id, name, tags, firstDisruptionAt } = details.test;
    const { organizationId } = request.caller!;
    const log = await listQuarantineLog(sql, { organizationId, testId: id, now });
    return {
      title: name,
      crumbs: crumbsTo(pathTo, repository),
      content: markup`<h1><bdi>${name}</bdi></h1>
<p class="soft">${placeOf(details.test)}</p>
<p>${tags.map((tag) => markup`<span class="tag">${tag}</span>`)}</p>
${testFigures(details.test, all.submissions, latest.runs, context)}
<nav class="pages" aria-label="On this page"><a href="#how">How it fails</a>
<a href="#since">When it became flaky</a> <a href="#quarantine">Quarantine</a>
<a href="#again">Run it again</a></nav>
<h2>Latest runs</h2>
${
        latest.runs.length > 0
          ? strip(latest.runs, context)
          : emptyState("It did not run in the last 14 days.")
      }
<h2 id="how">How it fails</h2>
${causes(failures, context)}
<div class="pair">${failureBars(days, today)}<section><h2>Runs by branch</h2>
${branchTable(all.submissions)}</section></div>
<h2 id="since">When it became flaky</h2>
${since(firstDisruptionAt, first, context)}
<h2 id="quarantine">Quarantine</h2>
${quarantine(details, log, context)}
<h2 id="again">Run it again</h2>
${rerun(details.test)}
<p class="soft">Id <code>${id}</code></p>`,
    };
  },
});

function testFigures(
  { disruptionCount, firstDisruptionAt, latestDisruption }: TestDetails["test"],
  submissions: readonly SubmissionRuns[],
  runs: readonly TestRun[],
  { at }: PageContext,
): Markup {
  const totals = { ...totalsOf(submissions), resultCount: 0, timeConsumed: null };
  const passRate = passRateThousandths(totals);
  const share = disruptivenessThousandths({ ...totals, disruptionCount });
  const times = runs.filter(({ conclusion }) => conclusion === "passing")
    .map(({ durationMicroseconds }) => durationMicroseconds).sort((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)];
  return keyFigures(
    [
      "Flaky share",
      formatThousandths(share),
      `${disruptionCount} of ${plural(totals.countedResultCount, "result")}`,
    ],
    ["Pass rate", passRate === null ? "–" : formatThousandths(passRate)],
    ["Typical duration", median === undefined ? "–" : formatDuration(median), "of a pass"],
    ["First flaky", at(firstDisruptionAt)],
    ["Latest flaky", at(latestDisruption?.recordedAt ?? null)],
  );
}

/** Totals over submissions. */
function totalsOf(submissions: readonly SubmissionRuns[]) {
  let [countedResultCount, negativeResultCount] = [0, 0];
  for (const { positive, negative } of submissions) {
    countedResultCount += positive + negative;
    negativeResultCount += negative;
  }
  return { countedResultCount, negativeResultCount };
}

/** The outcome of an attempt in charts. */
function outcomeOf({ conclusion, failure }: TestRun): Outcome {
  if (failure) return failure.isDisruption ? "flaky" : "failed";
  return conclusion === "skipped" || conclusion === "unknown" ? conclusion : "passed";
}

function strip(runs: readonly TestRun[], context: TestContext): Markup {
  const title = `The latest ${plural(runs.length, "run")}`;
  const shapes = runs.toReversed().map((run) => {
    const where = run.branch ? ` on ${run.branch}` : "";
    return {
      outcome: outcomeOf(run),
      text: `${outcomeOf(run)}${where}, ${shortOid(run.commitOid)}`,
    };
  });
  const failed = runs.filter(({ failure }) => failure !== null);
  const rows = failed.map((run) => [
    buildLink(context, context.repository, run.submissionId),
    outcomeOf(run) + (run.runCount > 1 ? ` (attempt ${run.runCount})` : ""),
    run.branch,
    markup`<span class="oid">${shortOid(run.commitOid)}</span>`,
    formatDuration(run.durationMicroseconds),
  ]);
  const names = ["Build|nowrap", "Outcome", "Branch", "Commit|wide", "Duration|number wide"];
  const list = markup`<details><summary>${plural(failed.length, "failed run")}</summary>
${table("Failed runs", columns(...names), rows)}</details>`;
  return markup`${outcomeStrip({ title, runs: shapes })}${failed.length > 0 && list}`;
}

function causes(
  { groups, count }: { groups: readonly ShownGroup[]; count: number },
  context: TestContext,
): Markup {
  if (count === 0) return emptyState("It did not fail in the last 14 days.");
  const more = count > MAX_ROWS &&
    markup`<p>${plural(count - MAX_ROWS, "rarer cause")} not shown.</p>`;
  const shown = groups.slice(0, MAX_ROWS).map((group, index) => {
    const { text, buildUrl, commitOid, submissionId, disruptionCount, branches } = group;
    const places = branches.length > 0 && `; on ${branches.slice(0, 3).join(", ")}`;
    const others = branches.length > 3 && ` and ${branches.length - 3} more`;
    const build = buildLink(context, context.repository, submissionId);
    return disclosure(
      markup`<b>${text.message || "without a message"}</b>
<small>${plural(group.count, "failure")}, ${disruptionCount} flaky; first
${context.at(group.firstRecordedAt)}, latest ${
        context.at(group.lastRecordedAt)
      }${places}${others}</small>`,
      markup`<p>Latest in the build of ${build}${
        buildUrl && markup` (${externalLink(buildUrl, "CI run")})`
      }, commit <span class="oid">${shortOid(commitOid)}</span>:</p>
${stackTrace(text.body)}`,
      index === 0,
    );
  });
  return markup`${shown}${more}`;
}

function branchTable(submissions: readonly SubmissionRuns[]): Markup {
  if (submissions.length === 0) return emptyState("It did not run in the last 14 days.");
  const rows = [...Map.groupBy(submissions, ({ branch }) => branch)]
    .map(([branch, parts]) => ({ branch, ...totalsOf(parts) }))
    .sort((a, b) => b.countedResultCount - a.countedResultCount).slice(0, MAX_ROWS)
    .map(({ branch, countedResultCount: counted, negativeResultCount: failed }) => [
      branch || "unknown",
      counted,
      failed,
      counted > 0 && formatThousandths(Math.floor(1000 * failed / counted)),
    ]);
  return table(
    "Runs by branch",
    columns("Branch", "Results|number", "Failures|number", "Share|number"),
    rows,
  );
}

function since(
  firstDisruptionAt: number | null,
  first: FirstDisruption | null,
  context: TestContext,
): Markup {
  if (firstDisruptionAt === null) {
    return emptyState("It never failed on code on which it also passed.");
  }
  if (!first || recordedAtOf(first.disrupted.submissionId) !== firstDisruptionAt) {
    return markup`<p>${context.at(firstDisruptionAt)}; that run is no longer stored.</p>`;
  }
  const { disrupted, clean } = first;
  const version = ({ commitOid, branch, submissionId }: RunVersion) =>
    markup`<span class="oid">${shortOid(commitOid)}</span>${branch && markup` on <b>${branch}</b>`},
${buildLink(context, context.repository, submissionId)}`;
  if (!clean) {
    return markup`<p>First flaky failure: ${version(disrupted)}. No earlier pass on other code is
stored.</p>`;
  }
  return markup`<p>First flaky failure: ${version(disrupted)}.<br>
Last pass on other code before: ${version(clean)}.</p>
${changes(context.repository.url, clean.commitOid, disrupted.commitOid)}`;
}

/** Link to the comparison of two commits; GitHub and GitLab have the same path for it. */
function changes(url: string, from: string, to: string): Markup | null {
  if (![from, to].every((oid) => /^[0-9a-f]{7,64}$/.test(oid))) return null;
  const canCompare = /^https:\/\/[^/]*git(hub|lab)[^/]*\//.test(url);
  const link = externalLink(`${url}/compare/${from}...${to}`, "Compare the commits");
  return markup`<p>The cause may lie between:</p>
<pre tabindex="0">git log --oneline ${from}..${to}</pre>
${canCompare && markup`<p>${link}</p>`}`;
}

function quarantine(
  { test: { id, quarantine } }: TestDetails,
  log: readonly QuarantineEvent[],
  { at }: PageContext,
): Markup {
  const events = log.toReversed().map((event) =>
    markup`<li>${at(event.at)}: <b>${event.action}</b>${event.author && ` by ${event.author}`}${
      event.quarantineReason && `: ${event.quarantineReason}`
    }</li>`
  );
  const history = events.length > 0 && markup`<h3>Log</h3><ul>${events}</ul>`;
  if (!quarantine) {
    return markup`<p>It is not quarantined. To quarantine it:</p>
<pre tabindex="0">${quarantineCommand(id)}</pre>${history}`;
  }
  const { quarantineReason: reason, quarantineOwner: owner, quarantineExpiresAt: end } = quarantine;
  return markup`<p>Quarantined ${at(quarantine.quarantinedAt)}, ${quarantine.quarantineType}${
    reason && `: ${reason}`
  }. ${owner ? markup`Its owner is <b>${owner}</b>.` : "It has no owner."}
${end === null ? "It has no end." : markup`It ends ${at(end)}.`} To end it now:</p>
<pre tabindex="0">test-analytics quarantine remove ${id}</pre>${history}`;
}

function rerun(test: TestDetails["test"]): Markup {
  const commands = rerunCommands(test);
  if (commands.length === 0) {
    return emptyState("The report has no file name, so the test runner is unknown.");
  }
  const loops = commands.map((line) => markup`<pre tabindex="0">while ${line}; do :; done</pre>`);
  return markup`<p>Until it fails, with the runner of this project:</p>${loops}`;
}
