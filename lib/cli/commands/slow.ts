import * as v from "valibot";
import { loadSlowTests, type SlowTest } from "../../../db/read/slow_tests.ts";
import { loadTrackedTests } from "../../../db/read/tracked_tests.ts";
import { slowTestView } from "../../../routes/durations.ts";
import { formatTenths, tenthsOfPercent } from "../../badge/percentage.ts";
import { Failure } from "../../base/failure.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { formatDuration, oneLine } from "../../base/text.ts";
import { SECONDS_PER_DAY, WINDOW_SECONDS } from "../../base/time.ts";
import * as parameters from "../../http/request/parameters.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { openOrganization, ORG, selectRepositories } from "../organization.ts";
import { plainLine } from "../output.ts";
import { option, repositoryName, wholeNumber } from "../parameters.ts";
import { tableLines } from "../table.ts";

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
    "On a terminal a table. Elsewhere tab-separated lines: id, OWNER/NAME, microseconds of the median " +
    "run, of the 90th percentile, of all runs, before and since a slow-down, last fast and first slow " +
    "commit, suite, class, name, file. With --json the objects of " +
    "/api/repos/{owner}/{name}/slow-tests; without --repo they also have `repository`.",
    "Slower: in at least 20 runs on 3 days 20 % and one second more. Runs are compared by how slow all " +
    "their tests were, so that a slow machine makes no test slower.",
  ],
  example: "slow --org acme --repo acme/shop",
  moreExamples: ["slow --org acme --repo acme/shop --sort slower"],
  input: {
    org: ORG,
    repo: option("<owner/name>", "repository (default: all)", v.optional(repositoryName)),
    sort: option("<order>", "total (default), median, or slower", parameters.slowSort),
    branch: option("<main,release/*>", "only submissions of these branches", parameters.branch),
    environment: option(
      "<list>",
      "only submissions of these environments",
      parameters.environment,
    ),
    limit: option(
      "<n>",
      "maximum number of tests of each repository (default: 25)",
      v.optional(wholeNumber({ min: 1, max: 100_000 }), "25"),
    ),
  },
  async run({ org, repo, sort, limit, ...selected }, context) {
    const { sql, organization } = await openOrganization(context, org, repo?.owner);
    const repositories = await selectRepositories(sql, organization, repo);
    const window = { now: context.now, windowStart: context.now - WINDOW_SECONDS };
    const filter = parameters.filterOf(selected);
    const listed: Listed[] = [];
    for (const one of repositories) {
      const { repositoryId } = one;
      const repository = formatRepositoryName(one);
      const options = { ...window, filter, repositoryId };
      const { states } = await loadTrackedTests(sql, {
        ...options,
        repositoryIds: [repositoryId],
        withTime: true,
      });
      const runs = states.get(repositoryId)?.runs;
      if (!runs) throw new Failure(`uploads changed ${repository} while it was read: try again`);
      const { tests } = await loadSlowTests(sql, { ...options, sort, limit, after: 0, runs });
      const total = runs.timeConsumed ?? 0;
      listed.push(...tests.map((test) => ({ repository, test, total })));
    }
    await print(listed, context, { showRepository: repo === undefined });
  },
});

async function print(
  listed: readonly Listed[],
  { io, json }: CommandContext,
  { showRepository }: { showRepository: boolean },
): Promise<void> {
  if (json) {
    const records = listed.map(({ repository, test, total }) => ({
      ...slowTestView(test, total),
      ...showRepository && { repository },
    }));
    await io.stdout(`${JSON.stringify(records)}\n`);
  } else if (io.columns === undefined) {
    await io.stdout(listed.map((one) => `${plainTest(one)}\n`).join(""));
  } else if (listed.length === 0) {
    io.stderr(`no slow tests in the last ${DAYS} days\n`);
  } else {
    const lines = slowTable(listed, io.columns);
    await io.stdout(lines.map((line) => `${line}\n`).join(""));
  }
}

function plainTest({ repository, test }: Listed): string {
  const { slowDown } = test;
  return plainLine([
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
  ]);
}

function slowTable(listed: readonly Listed[], width: number): string[] {
  const rows = listed.map(({ test, total }) => [
    formatDuration(test.medianMicroseconds),
    formatTenths(tenthsOfPercent(test.totalMicroseconds, Math.max(total, 1))),
    test.slowDown
      ? `${formatDuration(test.slowDown.beforeMicroseconds)} to ${
        formatDuration(test.slowDown.afterMicroseconds)
      }`
      : "",
    test.name,
    test.id,
  ]);
  return tableLines(
    [
      { title: "MEDIAN", align: "right" },
      { title: "SHARE", align: "right" },
      { title: "SLOWER" },
      { title: "TEST", cut: "end" },
      { title: "ID" },
    ],
    rows.map((row) => row.map(oneLine)),
    width,
  );
}
