/** `/tests/{id}`: one test. */
import { listQuarantineLog } from "../../db/admin/quarantine.ts";
import type { RepositoryVersion } from "../../db/read/caller.ts";
import { loadFailures, type ShownGroups } from "../../db/read/failures.ts";
import { loadRepository, type RepositoryDetails } from "../../db/read/repositories.ts";
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
import { formatTenths } from "../../lib/badge/percentage.ts";
import { plural } from "../../lib/base/text.ts";
import { type Outcome, outcomeStrip } from "../../lib/html/charts.ts";
import { quarantineCommand, rerunCommands } from "../../lib/html/commands.ts";
import { commit, formatDuration, shortOid } from "../../lib/html/format.ts";
import { externalLink, type Markup, markup } from "../../lib/html/markup.ts";
import { table } from "../../lib/html/table.ts";
import { failureBars, HISTORY_DAYS } from "./history.ts";
import {
  buildLink,
  crumbsTo,
  definePage,
  emptyState,
  failureDetails,
  keyFigures,
  label,
  type PageRequest,
  placeOf,
  verbatim,
} from "./page.ts";

const SHOWN_RUNS = 100;
const MAX_ROWS = 10;

/** Input of the functions that render the page's sections. */
interface TestPage extends PageRequest {
  repository: RepositoryDetails;
  test: TestDetails["test"];
}

/** `/tests/{id}`. */
export const testPage = definePage({
  path: "/tests/:id",
  resource: "test in path",
  async show(request) {
    const { sql, load, now, today } = request;
    const [selected] = request.repositories as [RepositoryVersion & { testNo: number }];
    const ofWindow = { branches: null };
    const [repository, { test }, latest, all, failures, days, first] = await Promise.all([
      load(loadRepository, {}),
      load(loadTestDetails, {}),
      load(loadTestRuns, { ...ofWindow, status: "all", after: null, limit: SHOWN_RUNS }),
      load(loadSubmissionRuns, {}),
      load(loadFailures, ofWindow),
      loadFailureDays(sql, { ...selected, firstDay: today - HISTORY_DAYS + 1 }),
      loadFirstDisruption(sql, selected),
    ]);
    const page: TestPage = { ...request, repository, test };
    const { organizationId } = request.caller!;
    const log = await listQuarantineLog(sql, { organizationId, testId: test.id, now });
    return {
      title: test.name,
      crumbs: crumbsTo(page, repository),
      content: markup`<h1><bdi>${test.name}</bdi></h1>
<p class="soft">${placeOf(test)}</p>
<p>${test.tags.map(label)}</p>
${testFigures(all.submissions, latest.runs, page)}
<nav class="pages" aria-label="On this page"><a href="#how">How it fails</a>
<a href="#since">When it became flaky</a> <a href="#quarantine">Quarantine</a>
<a href="#again">Run it again</a></nav>
<h2>Latest runs</h2>
${latest.runs.length > 0 ? strip(latest.runs, page) : NO_RUNS}
<h2 id="how">How it fails</h2>
${causes(failures, page)}
<div class="pair">${failureBars(days, today)}<section><h2>Runs by branch</h2>
${branchTable(all.submissions)}</section></div>
<h2 id="since">When it became flaky</h2>
${since(first, page)}
<h2 id="quarantine">Quarantine</h2>
${quarantine(log, page)}
<h2 id="again">Run it again</h2>
${rerun(test)}
<p class="soft">Id <code>${test.id}</code></p>`,
    };
  },
});

const NO_RUNS = emptyState("It did not run in the last 14 days.");

function testFigures(
  submissions: readonly SubmissionRuns[],
  runs: readonly TestRun[],
  { at, test: { disruptionCount, firstDisruptionAt, latestDisruption } }: TestPage,
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
      formatTenths(share),
      `${disruptionCount} of ${plural(totals.countedResultCount, "result")}`,
    ],
    ["Pass rate", passRate === null ? "–" : formatTenths(passRate)],
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

/** The outcomes of the latest runs, and a table of those that failed. */
function strip(runs: readonly TestRun[], page: TestPage): Markup {
  const shapes = runs.toReversed().map((run) => {
    const where = run.branch ? ` on ${run.branch}` : "";
    const outcome = outcomeOf(run);
    return { outcome, text: `${outcome}${where}, ${shortOid(run.commitOid)}` };
  });
  const rows = runs.filter(({ failure }) => failure !== null).map((run) => [
    buildLink(page, page.repository, run.submissionId),
    outcomeOf(run) + (run.runCount > 1 ? ` (attempt ${run.runCount})` : ""),
    run.branch,
    commit(run.commitOid),
    formatDuration(run.durationMicroseconds),
  ]);
  const columns = ["Build|nowrap", "Outcome", "Branch", "Commit|wide", "Duration|number wide"];
  const list = markup`<details><summary>${plural(rows.length, "failed run")}</summary>
${table("Failed runs", columns, rows)}</details>`;
  const title = `The latest ${plural(runs.length, "run")}`;
  return markup`${outcomeStrip({ title, runs: shapes })}${rows.length > 0 && list}`;
}

function causes({ groups, count }: ShownGroups, page: TestPage): Markup {
  if (count === 0) return emptyState("It did not fail in the last 14 days.");
  const shown = groups.slice(0, MAX_ROWS).map((group, index) => {
    const { text, buildUrl, disruptionCount, branches } = group;
    const places = branches.length > 0 && `; on ${branches.slice(0, 3).join(", ")}`;
    const others = branches.length > 3 && ` and ${branches.length - 3} more`;
    return failureDetails(
      markup`<b>${text.message || "without a message"}</b>
<small>${plural(group.count, "failure")}, ${disruptionCount} flaky; first
${page.at(group.firstRecordedAt)}, latest ${
        page.at(group.lastRecordedAt)
      }${places}${others}</small>`,
      {
        content: markup`<p>Latest in the build of ${
          buildLink(page, page.repository, group.submissionId)
        }${buildUrl && markup` (${externalLink(buildUrl, "CI run")})`}, commit ${
          commit(group.commitOid)
        }:</p>
`,
        body: text.body,
        isOpen: index === 0,
      },
    );
  });
  const rarer = count > MAX_ROWS &&
    markup`<p>${plural(count - MAX_ROWS, "rarer cause")} not shown.</p>`;
  return markup`${shown}${rarer}`;
}

function branchTable(submissions: readonly SubmissionRuns[]): Markup {
  if (submissions.length === 0) return NO_RUNS;
  const rows = [...Map.groupBy(submissions, ({ branch }) => branch)]
    .map(([branch, parts]) => ({ branch, ...totalsOf(parts) }))
    .sort((a, b) => b.countedResultCount - a.countedResultCount).slice(0, MAX_ROWS)
    .map(({ branch, countedResultCount: counted, negativeResultCount: failed }) => [
      branch || "unknown",
      counted,
      failed,
      counted > 0 && formatTenths(Math.floor(1000 * failed / counted)),
    ]);
  return table(
    "Runs by branch",
    ["Branch", "Results|number", "Failures|number", "Share|number"],
    rows,
  );
}

function since(first: FirstDisruption | null, page: TestPage): Markup {
  const { firstDisruptionAt } = page.test;
  if (firstDisruptionAt === null) {
    return emptyState("It never failed on code on which it also passed.");
  }
  if (!first || recordedAtOf(first.disrupted.submissionId) !== firstDisruptionAt) {
    return markup`<p>${page.at(firstDisruptionAt)}; that run is no longer stored.</p>`;
  }
  const { disrupted, clean } = first;
  const version = ({ commitOid, branch, submissionId }: RunVersion) =>
    markup`${commit(commitOid)}${branch && markup` on <b>${branch}</b>`},
${buildLink(page, page.repository, submissionId)}`;
  if (!clean) {
    return markup`<p>First flaky failure: ${version(disrupted)}. No earlier pass on other code is
stored.</p>`;
  }
  return markup`<p>First flaky failure: ${version(disrupted)}.<br>
Last pass on other code before: ${version(clean)}.</p>
${changes(page.repository.url, clean.commitOid, disrupted.commitOid)}`;
}

/** Link to the comparison of two commits; GitHub and GitLab have the same path for it. */
function changes(url: string, from: string, to: string): Markup | null {
  if (![from, to].every((oid) => /^[0-9a-f]{7,64}$/.test(oid))) return null;
  const canCompare = /^https:\/\/[^/]*git(hub|lab)[^/]*\//.test(url);
  const link = externalLink(`${url}/compare/${from}...${to}`, "Compare the commits");
  return markup`<p>The cause may lie between:</p>
${verbatim(`git log --oneline ${from}..${to}`)}
${canCompare && markup`<p>${link}</p>`}`;
}

function quarantine(log: readonly QuarantineEvent[], { test, at }: TestPage): Markup {
  const events = log.toReversed().map((event) =>
    markup`<li>${at(event.at)}: <b>${event.action}</b>${event.author && ` by ${event.author}`}${
      event.quarantineReason && `: ${event.quarantineReason}`
    }</li>`
  );
  const history = events.length > 0 && markup`<h3>Log</h3><ul>${events}</ul>`;
  if (!test.quarantine) {
    return markup`<p>It is not quarantined. To quarantine it:</p>
${verbatim(quarantineCommand(test.id))}${history}`;
  }
  const {
    quarantinedAt,
    quarantineType,
    quarantineReason: reason,
    quarantineOwner: owner,
    quarantineExpiresAt: end,
  } = test.quarantine;
  return markup`<p>Quarantined ${at(quarantinedAt)}, ${quarantineType}${reason && `: ${reason}`}. ${
    owner ? markup`Its owner is <b>${owner}</b>.` : "It has no owner."
  }
${end === null ? "It has no end." : markup`It ends ${at(end)}.`} To end it now:</p>
${verbatim(`test-analytics quarantine remove ${test.id}`)}${history}`;
}

function rerun(test: TestDetails["test"]): Markup {
  const commands = rerunCommands(test);
  if (commands.length === 0) {
    return emptyState("The report has no file name, so the test runner is unknown.");
  }
  const loops = commands.map((line) => verbatim(`while ${line}; do :; done`));
  return markup`<p>Until it fails, with the runner of this project:</p>${loops}`;
}
