// Tests: tests/lib/cli/commands/completion_test.ts tests/lib/cli/program_test.ts
import * as v from "valibot";
import { loadSlowTests, type SlowTest } from "../../../db/read/slow_tests.ts";
import { readSnapshot } from "../../../db/read/snapshot.ts";
import { loadTrackedTests } from "../../../db/read/tracked_tests.ts";
import { slowTestView } from "../../../routes/durations.ts";
import { slownessOf, type SlowOrder } from "../../analysis/slow_downs.ts";
import { formatPercent, tenthsOfPercent } from "../../badge/percentage.ts";
import { shortCommit } from "../../base/commit.ts";
import { Failure } from "../../base/failure.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { compareTexts, formatDuration, plural } from "../../base/text.ts";
import { SECONDS_PER_DAY, WINDOW_SECONDS } from "../../base/time.ts";
import * as parameters from "../../http/request/parameters.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { openOrganization, ORG, selectRepositories } from "../organization.ts";
import { printTests } from "../output.ts";
import { DEFAULT_LIMIT, LIST_OPTIONS } from "../list_options.ts";
import { option, repositoryName } from "../parameters.ts";
import { itemTable, repositoryNames, WIDE_TERMINAL } from "../table.ts";

const DAYS = WINDOW_SECONDS / SECONDS_PER_DAY;

interface Listed {
  repository: string;
  test: SlowTest;
  /** Microseconds of all tests of the repository. */
  total: number;
}

/** `slow`: the tests that take the most time, or became slower. */
export const slowCommand: AddCommand = command({
  name: "slow",
  summary: `List the slow tests of the last ${DAYS} days`,
  details: [
    "On a terminal a table, without --limit of the tests that take 80 % of the time. Elsewhere tab-separated lines: id, OWNER/NAME, microseconds of the median " +
    "run, of the 90th percentile, of all runs, before and since a slow-down, last fast and first slow " +
    "commit, suite, class, name, file. With --json the objects of " +
    "/api/repos/{owner}/{name}/slow-tests; without --repo they also have `repository`.",
    "Slower: by 20 % and 1 s, with at least 20 runs on 3 days. Runs are compared by how slow all " +
    "their tests were, so that a slow machine makes no test slower.",
  ],
  example: "slow --org acme --repo acme/shop",
  moreExamples: ["slow --org acme --repo acme/shop --sort slower"],
  input: {
    org: ORG,
    repo: option("<owner/name>", "repository (default: all)", v.optional(repositoryName)),
    sort: option("<order>", "total (default), median, or slower", parameters.slowSort),
    ...LIST_OPTIONS,
  },
  async run({ org, repo, sort, limit, ...selected }, context) {
    const { sql, organization } = await openOrganization(context, org, repo?.owner);
    const repositories = await selectRepositories(sql, organization, repo);
    const window = { now: context.now, windowStart: context.now - WINDOW_SECONDS };
    const filter = parameters.filterOf(selected);
    const all: Listed[] = [];
    const totals: number[] = [];
    let count = 0;
    for (const one of repositories) {
      const { repositoryId, idPrefix } = one;
      const repository = formatRepositoryName(one);
      const options = { ...window, filter, repositoryId, idPrefix };
      await readSnapshot(sql, async (tx) => {
        const repositoryIds = [repositoryId];
        const states = await loadTrackedTests(tx, { ...options, repositoryIds, withTime: true });
        const runs = states.get(repositoryId)?.runs;
        if (!runs) throw new Failure(`repository ${repository} was deleted while it was read`);
        const found = await loadSlowTests(tx, { ...options, sort, limit, after: 0, runs });
        const total = runs.timeConsumed ?? 0;
        count += found.count;
        totals.push(total);
        all.push(...found.tests.map((test) => ({ repository, test, total })));
      });
    }
    const listed = all.sort((a, b) =>
      slownessOf(b.test, sort) - slownessOf(a.test, sort) || compareTexts(a.test.id, b.test.id)
    ).slice(0, limit);
    const allTime = totals.reduce((sum, total) => sum + total, 0);
    await print(listed, context, {
      sort,
      count,
      allTime,
      showRepository: repo === undefined,
      isShort: context.io.columns !== undefined && sort === "total" && limit === DEFAULT_LIMIT,
    });
  },
});

function print(
  listed: readonly Listed[],
  context: CommandContext,
  { sort, count, allTime, showRepository, isShort }: {
    sort: SlowOrder;
    count: number;
    /** Microseconds of all tests of the repositories. */
    allTime: number;
    showRepository: boolean;
    /** Whether a terminal has only the tests that take most of the time. */
    isShort: boolean;
  },
): Promise<void> {
  const inTable = isShort ? slowest(listed, allTime) : listed;
  const rest = inTable.length < listed.length
    ? `, which take ${formatPercent(shareOf(inTable, allTime))} of the time (--limit)`
    : " (--limit)";
  const shown = inTable.length < count ? `, ${inTable.length} shown${rest}` : "";
  const what = sort === "slower" ? " that became slower" : "";
  return printTests(context, listed, {
    count,
    showRepository,
    view: ({ test, total }) => slowTestView(test, total),
    cells: plainCells,
    none: sort === "slower"
      ? `no test became slower in the last ${DAYS} days (at least 20 runs on 3 days, by 20 % and 1 s)`
      : `no test ran in the last ${DAYS} days`,
    table: (width) => slowTable(inTable, { sort, allTime, width }),
    footer: `${plural(count, "test")}${what} in the last ${DAYS} days${shown}; --json has more`,
  });
}

/** A terminal has the tests that take most of the time together: the others are all alike. */
const MOST_OF_TIME = 800;
const MIN_ROWS = 5;

/** The first tests, until they take most of the time together. */
function slowest(listed: readonly Listed[], allTime: number): readonly Listed[] {
  const end = listed.findIndex((_, index) =>
    index + 1 >= MIN_ROWS && shareOf(listed.slice(0, index + 1), allTime) >= MOST_OF_TIME
  );
  return end < 0 ? listed : listed.slice(0, end + 1);
}

/** The share of tests in the time of all, in tenths of a percent. */
function shareOf(tests: readonly Listed[], allTime: number): number {
  const time = tests.reduce((sum, { test }) => sum + test.totalMicroseconds, 0);
  return tenthsOfPercent(time, Math.max(allTime, 1));
}

function plainCells({ repository, test }: Listed) {
  const { slowDown } = test;
  return [
    test.id,
    repository,
    test.medianMicroseconds,
    test.p90Microseconds,
    test.totalMicroseconds,
    slowDown?.beforeMicroseconds ?? null,
    slowDown?.afterMicroseconds ?? null,
    slowDown?.lastBefore.commitOid ?? null,
    slowDown?.firstAfter.commitOid ?? null,
    test.suite,
    test.class,
    test.name,
    test.file,
  ];
}

function slowTable(
  listed: readonly Listed[],
  { sort, allTime, width }: { sort: SlowOrder; allTime: number; width: number },
): string[] {
  // Wide enough to say where a test is, and between which commits it became slower.
  const isWide = width >= WIDE_TERMINAL;
  const nameOf = repositoryNames(listed.map(({ repository }) => repository), width);
  const isBySlowDown = sort === "slower";
  const hasSeveral = new Set(listed.map(({ repository }) => repository)).size > 1;
  const hasSlower = listed.some(({ test }) => test.slowDown !== null);
  return itemTable(listed, [
    [
      !isBySlowDown,
      { title: "MEDIAN", align: "right" },
      ({ test }) => formatDuration(test.medianMicroseconds),
    ],
    [
      !isBySlowDown,
      { title: "SHARE", align: "right" },
      (one) => formatPercent(shareOf([one], allTime)),
    ],
    [hasSlower, { title: "SLOWER" }, ({ test }) => slowDownText(test, isBySlowDown)],
    [
      hasSlower && isWide,
      { title: "COMMITS" },
      ({ test: { slowDown } }) =>
        slowDown
          ? `${shortCommit(slowDown.lastBefore.commitOid)}..${
            shortCommit(slowDown.firstAfter.commitOid)
          }`
          : "",
    ],
    [true, { title: "TEST", cut: "end" }, ({ test }) => test.name],
    [hasSeveral, { title: "REPOSITORY", cut: "end" }, ({ repository }) => nameOf(repository)],
    [
      isWide && !hasSeveral,
      { title: "FILE", cut: "start" },
      ({ test }) => test.file || test.class || test.suite,
    ],
    [true, { title: "ID" }, ({ test }) => test.id],
  ], width);
}

/** `4 s to 8 s`, or `+4 s`. */
function slowDownText({ slowDown }: SlowTest, isLong: boolean): string {
  if (!slowDown) return "";
  const { beforeMicroseconds, afterMicroseconds } = slowDown;
  return isLong
    ? `${formatDuration(beforeMicroseconds)} to ${formatDuration(afterMicroseconds)}`
    : `+${formatDuration(afterMicroseconds - beforeMicroseconds)}`;
}
