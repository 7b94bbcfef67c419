// Tests: tests/routes/pages_test.ts tests/routes/repositories_page_test.ts
/** `/repos/{owner}/{name}`: one repository. */
import { type LastAttempts, loadLastAttempts } from "../../db/read/last_attempts.ts";
import { loadConclusionRecord } from "../../db/read/conclusion_record.ts";
import {
  type FailuresOfRepository,
  loadFailuresOfRepository,
} from "../../db/read/failing_together.ts";
import { loadFlakyMicroseconds } from "../../db/read/flaky_time.ts";
import { loadNewlyFlakyTests } from "../../db/read/newly_flaky_tests.ts";
import { loadOverviews, type Overview } from "../../db/read/repositories.ts";
import { loadSubmissionsPage, type SubmissionRow } from "../../db/read/submissions.ts";
import { loadBaseHistory, loadTestStates } from "../../db/read/test_states.ts";
import { loadBuildsNotWhole } from "../../db/read/builds_not_whole.ts";
import { loadTestNames } from "../../db/read/names_of_tests.ts";
import {
  buildKey,
  costliestTests,
  countFailedTests,
  type FailedTests,
  failedTestsByBuild,
  type TestCost,
} from "../../lib/analysis/build_costs.ts";
import { sayQuarantined } from "../../lib/analysis/quarantine.ts";
import { redUploads, uploadsWithGaps } from "../../lib/analysis/build_outcome.ts";
import { FAIL_HOW, type GroupedBy } from "../../lib/evidence/groups.ts";
import { BAD_STATES } from "../../lib/evidence/states.ts";
import { SHARE_DAYS } from "../../lib/evidence/shares.ts";
import { ALL_SUBMISSIONS } from "../../lib/query/submission_filter.ts";
import { coverageBadge } from "../../lib/badge/badge.ts";
import { formatPercent, shownPercentage, tenthsOfPercent } from "../../lib/badge/percentage.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { formatRepositoryName } from "../../lib/base/repository_name.ts";
import { formatDay, SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { formatCount, formatDuration, plural } from "../../lib/base/text.ts";
import { emptyState, factLine, isoDay, label, table } from "../../lib/html/elements.ts";
import { type Content, externalLink, type Markup, markup } from "../../lib/html/markup.ts";
import { buildOutcome } from "./builds.ts";
import { changeText, inOutages, NEVER_RERUN, shareText } from "./flakiness.ts";
import { historyCharts } from "./history.ts";
import { isInNoOtherList } from "../test_states.ts";
import { brokenSection, namedStates, noBranch, rareSections } from "./test_states.ts";
import { definePage, type PageRequest, placeOf, someTests, uploadCommand } from "./page.ts";
import {
  CHART_RANGES,
  daysOf,
  isListRange,
  pageDays,
  rangeStart,
  rangeTabs,
  WINDOW_RANGE,
  wrongRange,
} from "./ranges.ts";
import { recordSection } from "./record.ts";

const MAX_ROWS = 10;
/** As many as what to repair first, next to which they stand. */
const MAX_COSTS = 5;
const MAX_GROUPS = 5;
const MAX_GROUP_TESTS = 3;
/** Enough for ten builds in ten shards. */
const RECENT_SUBMISSIONS = 100;

interface RepositoryPage extends PageRequest {
  repository: string;
  /** The range of the lists and charts, such as `30`. */
  days: string;
  /** In days since 1970. */
  firstDay: number;
  overview: Overview;
  names: Awaited<ReturnType<typeof loadTestNames>>;
}

type Together = FailuresOfRepository["together"];
type NewlyFlakyTests = Awaited<ReturnType<typeof loadNewlyFlakyTests>>;

export const repositoryPage = definePage({
  path: "/repos/:owner/:name",
  resource: "repository in path",
  query: { days: pageDays },
  showErrors: wrongRange(CHART_RANGES, WINDOW_RANGE),
  async show(request) {
    const { today, load, query: { days } } = request;
    const windowStart = rangeStart(days, request);
    const firstDay = today - daysOf(days) + 1;
    // What takes the program longest comes first: it works while the database reads the rest.
    const history = await load(loadBaseHistory, {});
    const [states, failures, flakyMicroseconds, overviews, recent, newTests, record, attempts] =
      await Promise.all([
        load(loadTestStates, {
          history,
          states: BAD_STATES,
          isListed: isInNoOtherList,
          offset: 0,
          limit: Infinity,
        }),
        load(loadFailuresOfRepository, {
          windowStart,
          maxCauses: MAX_ROWS,
          maxGroups: MAX_GROUPS,
          maxTests: MAX_GROUP_TESTS,
        }),
        load(loadFlakyMicroseconds, { since: windowStart }),
        load(loadOverviews, { firstDay, withBefore: true }),
        load(loadSubmissionsPage, {
          windowStart,
          filter: ALL_SUBMISSIONS,
          after: null,
          limit: RECENT_SUBMISSIONS,
        }),
        load(loadNewlyFlakyTests, { since: firstDay * SECONDS_PER_DAY, limit: MAX_ROWS }),
        load(loadConclusionRecord, { since: (today - SHARE_DAYS) * SECONDS_PER_DAY }),
        load(loadLastAttempts, { since: windowStart }),
      ]);
    const [overview] = overviews as [Overview];
    const { together, causes, idOf } = failures;
    const costs = costliestTests(failures, { groups: together.all, idOf, limit: MAX_COSTS });
    const testIds = [
      ...costs.flatMap(({ testIds }) => testIds),
      ...causes.flatMap(({ tests }) => tests),
      ...namedStates(states),
    ];
    const [names, notWhole] = await Promise.all([
      load(loadTestNames, { testIds }),
      load(loadBuildsNotWhole, { uploads: recent.submissions }),
    ]);
    const repository = formatRepositoryName(overview);
    const page: RepositoryPage = { ...request, repository, days, firstDay, overview, names };
    const address = ["repos", overview.owner, overview.name];
    return {
      title: repository,
      crumbs: [request.link.repositories],
      content: markup`<div class="head"><h1>${repository}</h1>
${rangeTabs(days, (days) => request.pathTo(address, { days }))}</div>
${repositoryFigures(page, flakyMicroseconds)}
<p><a href="${request.pathTo([...address, "slow-tests"])}">Slow tests</a> · ${
        page.link.builds(overview, "All builds")
      } · ${inventoryLink(page, {}, "Flaky tests")}${
        overview.url && markup` · ${externalLink(overview.url, overview.url)}`
      }</p>
${noBranch(history, { hasUploads: recent.submissions.length > 0 })}
${brokenSection(states, page)}
${rareSections(states, page)}
<div class="pair lists"><section><h2>Tests that cost the most builds</h2>
${costTable(costs, together, page)}</section>${
        together.count > 0 && groupTable(together, page)
      }</div>
<h2>Recent builds</h2>
${await buildTable(recent.submissions, { failures, attempts, notWhole }, page)}
<p>${page.link.builds(overview, "All builds")}</p>
<h2>New flaky tests since ${formatDay(firstDay)}</h2>
${newTable(newTests, page)}
${causes.length > 0 && causeTable(causes, page)}
${charts(page)}
${recordSection(record)}`,
    };
  },
});

/** Builds by day or week; nothing without one. */
function charts({ overview, today }: RepositoryPage): Content {
  return overview.days.length > 0 &&
    historyCharts(overview.days, today);
}

/** A link to the flaky tests of the repository in the range of the page. */
function inventoryLink(
  { link, repository, days }: RepositoryPage,
  more: Record<string, string>,
  text: Content,
): Markup {
  return link.inventory({
    repository,
    quarantine: "false",
    ...isListRange(days) && days !== WINDOW_RANGE && { days },
    ...more,
  }, text);
}

function repositoryFigures(page: RepositoryPage, flakyMicroseconds: number): Markup {
  const { repository, overview } = page;
  const { builds, buildsBefore, flakyTestCount, quarantinedTestCount } = overview;
  // The figures of the API, which no range changes.
  const window = page.days === WINDOW_RANGE ? "" : " in 14 days";
  const change = changeText(builds, buildsBefore);
  const link = (count: number, quarantine: string) =>
    page.link.inventory({ repository, quarantine }, formatCount(count));
  return factLine(
    [
      "Flakiness",
      shareText(builds),
      builds.buildCount > 0 && !builds.hasReruns ? NEVER_RERUN : [
        `${builds.disruptedBuildCount} of ${plural(builds.buildCount, "build")}${window}` +
        (builds.outageBuildCount > 0 ? `; ${inOutages(builds)}` : ""),
        change && `; ${change}`,
      ],
    ],
    ["Flaky tests", link(flakyTestCount, "false"), `not quarantined${window}`],
    [
      "Quarantined",
      link(quarantinedTestCount, "true"),
      quarantinedTestCount === 1 ? "test" : "tests",
    ],
    [
      "Cost of flaky failures",
      formatDuration(flakyMicroseconds),
      markup`<span title="Failed attempts, and jobs that ran again">in ${page.days} days</span>`,
    ],
    ...overview.lineCount
      ? [["Coverage", shownPercentage(coverageBadge(overview)), "of lines"] as const]
      : [],
    ["Last upload", page.at(overview.lastRecordedAt)],
  );
}

function costTable(
  costs: readonly TestCost[],
  { groupedBy }: Together,
  page: RepositoryPage,
): Markup {
  const { names, overview, days } = page;
  const buildCount = days === WINDOW_RANGE
    ? overview.builds.buildCount
    : overview.days.reduce((sum, { buildCount }) => sum + buildCount, 0);
  if (costs.length === 0) {
    return emptyState(
      `No flaky failure in ${plural(buildCount, "build")} of the last ${days} days.`,
    );
  }
  const rows = costs.map(({ testIds, testCount, group, buildCount: lost, disruptionCount }) => {
    const tests = testIds.map((id) => ({ id, ...names.get(id)! }));
    const [first] = tests as [typeof tests[0]];
    const tags = [
      ...first.ownerTags.map(page.link.tag),
      ...first.isQuarantined ? [label(sayQuarantined(first.quarantineEnvironment))] : [],
    ].map((tag) => markup`${tag} `);
    // The days of the range begin with a whole one, its failures at this time of day.
    const share = formatPercent(tenthsOfPercent(lost, Math.max(lost, buildCount)));
    const how = { testCount, groupedBy: () => groupedBy(group) };
    return [rowName(tests, { ...how, tags }, page), lost, share, formatCount(disruptionCount)];
  });
  const columns = ["Test|name", "Builds|number", "Share of builds|number wide", "Failures|number"];
  return markup`${table("Tests that cost the most builds", columns, rows, "lines")}
<p>${inventoryLink(page, {}, "All flaky tests")}</p>`;
}

/** The name of a row: a test in two lines, its name and what distinguishes it, or tests that fail together. */
function rowName(
  tests: readonly (TestIdentity & { id: string })[],
  { testCount, groupedBy, tags = "" }: {
    testCount: number;
    groupedBy(): GroupedBy;
    tags?: Content;
  },
  { link }: RepositoryPage,
): Content {
  const [first, ...others] = tests as [typeof tests[0], ...typeof tests];
  const name = link.testName(first.id, first);
  if (testCount === 1) return markup`${name}<small class="line">${tags}${placeOf(first)}</small>`;
  const count = testCount - 1;
  return [
    name,
    someTests(
      count,
      others.map((test) => link.test(test.id, test)),
      `and ${formatCount(count)} more that ${count === 1 ? "fails" : "fail"} ${
        FAIL_HOW[groupedBy()]
      }`,
    ),
  ];
}

function newTable(tests: NewlyFlakyTests, page: RepositoryPage): Markup {
  const { days, firstDay } = page;
  if (tests.length === 0) return emptyState(`No test became flaky in the last ${days} days.`);
  const rows = tests.map(({ testCount, tests, firstDisruptionAt, message }) => {
    const links = tests.map((test) => page.link.test(test.id, test));
    return [
      testCount === 1 ? links[0] : [
        markup`<b>${plural(testCount, "test")}</b> with this message on one day`,
        someTests(testCount, links),
      ],
      page.at(firstDisruptionAt),
      markup`<code class="message">${message}</code>`,
    ];
  });
  const columns = ["Test|name", "First flaky failure|nowrap", "Message|wide"];
  const q = `first-seen:>=${isoDay(firstDay)}`;
  return markup`${table("New flaky tests", columns, rows)}
<p>${inventoryLink(page, { q }, "All new flaky tests")}</p>`;
}

/** Groups of tests that fail together, the costliest first. */
function groupTable({ groups, all, groupedBy }: Together, page: RepositoryPage): Markup {
  const rows = groups.flatMap(({ builds, tests, testCount, fingerprints }, index) =>
    tests.length === 0 ? [] : [[
      rowName(tests, { testCount, groupedBy: () => groupedBy(all[index]!) }, page),
      formatCount(builds),
      formatCount(fingerprints.length),
    ]]
  );
  const columns = ["Tests|name", "Failed builds|number", "Causes|number wide"];
  return markup`<section><h2 id="repair">What to repair first</h2>
${table("What to repair first", columns, rows, "lines")}
<p class="soft">Failures on all branches, flaky or not. Tests that mostly fail in the same runs, or that fail the
same way, are one row: one fault may be behind them.</p></section>`;
}

function causeTable(causes: FailuresOfRepository["causes"], page: RepositoryPage): Markup {
  const rows = causes.map(({ message, testCount, tests, count, lastRecordedAt }) => {
    const links = tests.map((id) => page.link.test(id, page.names.get(id)!));
    return [
      markup`${message ? markup`<code class="message">${message}</code>` : "Without a message"}
${someTests(testCount, links, plural(testCount, "test"))}`,
      formatCount(testCount),
      formatCount(count),
      page.at(lastRecordedAt),
    ];
  });
  const columns = ["Message|name", "Tests|number", "Failures|number", "Latest|nowrap wide"];
  return markup`<h2>Failures that several tests share</h2>
<p>A shared message often has one cause: look for it before you change the tests.</p>
${table("Causes that hit several tests", columns, rows)}`;
}

async function buildTable(
  submissions: readonly SubmissionRow[],
  { failures, attempts, notWhole }: {
    failures: FailuresOfRepository;
    attempts: LastAttempts;
    /** Keys of builds. */
    notWhole: ReadonlySet<string>;
  },
  page: RepositoryPage,
): Promise<Markup> {
  if (submissions.length === 0) {
    const text =
      markup`<p>No upload in the last ${page.days} days. Upload the reports of a run:</p>`;
    return emptyState(text, await uploadCommand(page, page.repository));
  }
  const builds = [...Map.groupBy(submissions, buildKey)].slice(0, MAX_ROWS);
  const failed = failedTestsByBuild(
    failures,
    builds.flatMap(([build]) => failures.buildOf(build) ?? []),
  );
  const outcomeOfBuild = (build: string, parts: readonly SubmissionRow[]) => {
    const { flaky, others } = failed.get(failures.buildOf(build) ?? -1) ?? NONE_FAILED;
    const failuresOf = (tests: ReadonlySet<number>, isDisruption: boolean) =>
      Array.from(tests, (test) => ({ testNo: failures.failures.testNos[test]!, isDisruption }));
    const counts = countFailedTests([...failuresOf(flaky, true), ...failuresOf(others, false)], {
      cleared: attempts.cleared.get(build),
      standing: attempts.standing.get(build),
    });
    return outcomeOf(parts, {
      flakyCount: counts.flakyTestCount,
      failedCount: counts.failedTestCount,
      isNotWhole: notWhole.has(build),
    });
  };
  return table(
    "Recent builds",
    ["Build|name", "Outcome|nowrap", "When|nowrap", "Commit|wide", "Results|number wide"],
    builds.map(([build, parts]) => {
      const [latest] = parts as [SubmissionRow];
      return [
        page.link.namedBuild(page.overview, latest),
        outcomeOfBuild(build, parts),
        page.at(latest.recordedAt),
        page.link.commit(page.overview, latest.commitOid),
        formatCount(parts.reduce((sum, { testResultCount }) => sum + testResultCount, 0)),
      ];
    }),
    "dense",
  );
}

const NONE: ReadonlySet<number> = new Set();
const NONE_FAILED: FailedTests = { flaky: NONE, others: NONE };

function outcomeOf(
  parts: readonly SubmissionRow[],
  { isNotWhole, ...counts }: { flakyCount: number; failedCount: number; isNotWhole: boolean },
): Content {
  const unfinished = parts.find(({ status }) => status !== "processed");
  return buildOutcome({
    status: unfinished?.status ?? "processed",
    ...counts,
    failedWithoutTest: redUploads(parts).length > 0,
    hasGaps: isNotWhole || uploadsWithGaps(parts).length > 0,
    hasRun: parts.some(({ ranTestCount, testResultCount }) =>
      (ranTestCount ?? testResultCount) > 0
    ),
  });
}
