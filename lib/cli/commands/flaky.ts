import * as v from "valibot";
import type { Repository } from "../../../db/admin/repositories.ts";
import type { Database } from "../../../db/connection/connect.ts";
import { readSnapshot } from "../../../db/read/snapshot.ts";
import { loadTestStates, type TestInState } from "../../../db/read/test_states.ts";
import { loadTrackedTests } from "../../../db/read/tracked_tests.ts";
import { isDisruptive } from "../../../routes/flaky_tests.ts";
import { testInStateView } from "../../../routes/test_states.ts";
import { COLUMNS, disruptiveTestView } from "../../../routes/test_fields.ts";
import type { TrackedTest } from "../../analysis/tracked_test.ts";
import { BAD_STATES, compareStates } from "../../evidence/states.ts";
import { parseTestId } from "../../base/identity.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { SECONDS_PER_DAY, WINDOW_SECONDS } from "../../base/time.ts";
import * as parameters from "../../http/request/parameters.ts";
import { TestCollection } from "../../http/test_cache/collection.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { LIST_OPTIONS } from "../list_options.ts";
import { flag, option, repositoryName } from "../parameters.ts";
import { printTests } from "../output.ts";
import { openOrganization, ORG, selectRepositories } from "../organization.ts";
import { type ItemColumn, itemTable, repositoryNames, WIDE_TERMINAL } from "../table.ts";

const DAYS = WINDOW_SECONDS / SECONDS_PER_DAY;

interface Listed {
  repository: string;
  test: TrackedTest;
}

export const flakyCommand: AddCommand = command({
  name: "flaky",
  summary: `List the flaky tests of the last ${DAYS} days, the worst first`,
  details: [
    "Prints a table on a terminal, otherwise tab-separated lines: id, OWNER/NAME, share of disruptions in " +
    "the results, disruptions, time of the latest, suite, class, name, file. With --json the " +
    "objects of /api/repos/{owner}/{name}/tests; without --repo they also have `repository`.",
    "--states lists the tests that are broken or flaky by their history on the base branch, also those that " +
    "never run twice on the same code: id, OWNER/NAME, state, failures, runs, suite, class, name, file; " +
    "with --json the objects of /api/repos/{owner}/{name}/states. Other filters do not apply to it.",
  ],
  example: "flaky --org acme --repo acme/shop",
  moreExamples: ["flaky --branch main --q 'checkout tags:nightly' --sort recency"],
  input: {
    org: ORG,
    repo: option("<owner/name>", "repository (default: all)", v.optional(repositoryName)),
    sort: option("<order>", "disruptivenessRatio (default), or recency", parameters.sort),
    states: flag("list broken and flaky tests by their history on the base branch instead"),
    q: option("<terms>", "search, as the parameter q of the API", parameters.search),
    ...LIST_OPTIONS,
  },
  async run({ org, repo, states: byStates, ...query }, context) {
    const { sql, organization } = await openOrganization(context, org, repo?.owner);
    const repositories = await selectRepositories(sql, organization, repo);
    if (byStates) {
      const { listed, count } = await listStates(sql, repositories, {
        ...query,
        now: context.now,
      });
      return await printStates(listed, context, { count, showRepository: repo === undefined });
    }
    const states = await readSnapshot(sql, (tx) =>
      loadTrackedTests(tx, {
        repositoryIds: repositories.map(({ repositoryId }) => repositoryId),
        now: context.now,
        windowStart: context.now - WINDOW_SECONDS,
        filter: parameters.filterOf(query),
      }));
    const all = new TestCollection(
      [...states.values()].flatMap(({ tests }) => [...tests.values()]),
    );
    const { count, tests } = all.list({ ...query, after: 0, isListed: isDisruptive });
    const names = new Map(repositories.map((one) => [one.idPrefix, formatRepositoryName(one)]));
    const listed = tests.map((test) => ({
      repository: names.get(parseTestId(test.id)!.idPrefix) ?? "",
      test,
    }));
    await print(listed, context, { count, showRepository: repo === undefined });
  },
});

/** Names have 20 columns next to an id, and a repository. */
const MIN_COLUMNS_WITH_IDS = 70;

interface ListedState {
  repository: string;
  test: TestInState;
}

/** The broken and flaky tests of some repositories, in the order of the list of one, and how many there are. */
async function listStates(
  sql: Database["sql"],
  repositories: readonly Repository[],
  { now, limit }: { now: number; limit: number },
): Promise<{ listed: ListedState[]; count: number }> {
  const listed: ListedState[] = [];
  let total = 0;
  for (const one of repositories) {
    const { count, tests } = await readSnapshot(sql, (tx) =>
      loadTestStates(tx, {
        ...one,
        now,
        windowStart: now - WINDOW_SECONDS,
        states: BAD_STATES,
        offset: 0,
        limit,
      }));
    listed.push(...tests.map((test) => ({ repository: formatRepositoryName(one), test })));
    total += count;
  }
  listed.sort(({ test: a }, { test: b }) => compareStates(a, b));
  return { listed: listed.slice(0, limit), count: total };
}

function printStates(
  listed: readonly ListedState[],
  context: CommandContext,
  { count, showRepository }: { count: number; showRepository: boolean },
): Promise<void> {
  return printTests(context, listed, {
    count,
    showRepository,
    view: ({ test }) => testInStateView(test),
    cells: ({ repository, test }) => [
      test.id,
      repository,
      test.state,
      test.failures,
      test.runs,
      test.suite,
      test.class,
      test.name,
      test.file,
    ],
    none: "no test is broken or flaky on the base branch",
    footer: `broken or flaky on the base branch: ${countText(listed, count)}; --json has more`,
    table(width) {
      const nameOf = repositoryNames(listed.map(({ repository }) => repository), width);
      return itemTable(listed, [
        [true, { title: "STATE" }, ({ test }) => test.state],
        [
          true,
          { title: "FAILED", align: "right" },
          ({ test: { failures, runs, failingRuns } }) =>
            failingRuns ? `last ${failingRuns.runs}` : `${failures} of ${runs}`,
        ],
        [true, { title: "TEST", cut: "end" }, ({ test }) => test.name],
        [
          showRepository,
          { title: "REPOSITORY", cut: "end" },
          ({ repository }) => nameOf(repository),
        ],
        // Otherwise ids alone fill the lines; --json has them.
        [width >= MIN_COLUMNS_WITH_IDS, { title: "ID" }, ({ test }) => test.id],
      ], width);
    },
  });
}

function print(
  listed: readonly Listed[],
  context: CommandContext,
  { count, showRepository }: { count: number; showRepository: boolean },
): Promise<void> {
  return printTests(context, listed, {
    count,
    showRepository,
    view: ({ test }) => disruptiveTestView(test),
    cells: plainCells,
    none: `no flaky tests in the last ${DAYS} days: none passed and failed on the same code`,
    table: (width) => testTable(listed, { now: context.now, width }),
    footer: `flaky in the last ${DAYS} days: ${countText(listed, count)}; --json has more`,
  });
}

/** How many tests there are, and how many of them are shown. */
function countText({ length }: readonly unknown[], count: number): string {
  return length < count ? `${count}, ${length} shown (--limit)` : String(count);
}

function plainCells({ repository, test }: Listed) {
  const view = disruptiveTestView(test);
  return [
    test.id,
    repository,
    view.disruptiveness,
    test.disruptionCount,
    view.latest_nondeterministic_negative_result?.recorded_at ?? null,
    test.suite,
    test.class,
    test.name,
    test.file,
  ];
}

function testTable(
  listed: readonly Listed[],
  { now, width }: { now: number; width: number },
): string[] {
  const hasSeveral = new Set(listed.map(({ repository }) => repository)).size > 1;
  const nameOf = repositoryNames(listed.map(({ repository }) => repository), width);
  const figures = COLUMNS.filter(({ terminal }) => terminal !== undefined);
  const lines = itemTable(listed, [
    ...figures.map(({ terminal, cell }): ItemColumn<Listed> => [
      true,
      { title: terminal!, align: "right" },
      ({ test }) => {
        const value = cell(test);
        return typeof value === "object" ? age(now - (value.at ?? now)) : String(value);
      },
    ]),
    [
      true,
      { title: "TEST", cut: "end" },
      ({ test }) => `${markOf(test)}${test.name}`,
    ],
    [hasSeveral, { title: "REPOSITORY", cut: "end" }, ({ repository }) => nameOf(repository)],
    // Narrower ones have room for the id, which `quarantine add` needs, but not for the file.
    [
      !hasSeveral && width >= WIDE_TERMINAL,
      { title: "FILE", cut: "start" },
      ({ test }) => test.file || test.class || test.suite,
    ],
    [true, { title: "ID" }, ({ test }) => test.id],
  ], width);
  const marks = new Set(listed.map(({ test }) => markOf(test)));
  return [
    ...lines,
    ...marks.has(QUARANTINED) ? [`${QUARANTINED}quarantined`] : [],
    ...marks.has(LIMITED) ? [`${LIMITED}quarantined in some environments only`] : [],
  ];
}

const QUARANTINED = "* ";
const LIMITED = "+ ";

/** Before the name of a quarantined test. */
function markOf({ quarantine }: TrackedTest): string {
  if (!quarantine) return "";
  return quarantine.quarantineEnvironment === null ? QUARANTINED : LIMITED;
}

/** A time in the past, such as `3h ago`. */
function age(seconds: number): string {
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ago`;
  if (seconds < SECONDS_PER_DAY) return `${Math.floor(seconds / 3600)}h ago`;
  return `${Math.floor(seconds / SECONDS_PER_DAY)}d ago`;
}
