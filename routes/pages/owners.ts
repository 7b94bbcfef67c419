// Tests: tests/routes/page_parameters_test.ts tests/routes/pages_test.ts
/** `/owners` and `/owners/{owner}`: whose tests are flaky or quarantined. */
import { loadFlakyMicroseconds } from "../../db/read/flaky_time.ts";
import { loadOwners } from "../../db/read/owners.ts";
import { loadRepositoryDetails, type RepositoryDetails } from "../../db/read/repositories.ts";
import { sortTests } from "../../lib/analysis/order.ts";
import { sayLimit } from "../../lib/analysis/quarantine.ts";
import { ownersOf } from "../../lib/analysis/test_tags.ts";
import { disruptivenessThousandths, type TrackedTest } from "../../lib/analysis/tracked_test.ts";
import { formatPercent } from "../../lib/badge/percentage.ts";
import { parseTestId } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { compareTexts, formatCount, formatDuration, plural } from "../../lib/base/text.ts";
import { emptyState, factLine, pathInParts, table } from "../../lib/html/elements.ts";
import { type Markup, markup } from "../../lib/html/markup.ts";
import * as parameters from "../../lib/http/request/parameters.ts";
import type { ApiRequest } from "../../lib/http/request/route.ts";
import { foldCase } from "../../lib/query/parse.ts";
import { isFlakyNotQuarantined } from "../flaky_tests.ts";
import * as schemas from "../schemas.ts";
import {
  LIST_RANGES,
  listDays,
  loadTestsOfRange,
  rangeLinks,
  WINDOW_RANGE,
  wrongRange,
} from "./ranges.ts";
import { definePage, downloadLinks, type PageRequest, uploadCommand } from "./page.ts";

const ENDING_DAYS = 7;
const MAX_ROWS = 50;

/** Tests by owner, in lower case, as their tags or their quarantine entries name them. */
function groupByOwner(tests: readonly TrackedTest[]): Map<string, TrackedTest[]> {
  const found = new Map<string, TrackedTest[]>();
  for (const test of tests) {
    const ofEntry = test.quarantine?.quarantineOwner ?? "";
    for (const key of new Set([...ownersOf(test.tags), ofEntry].map(foldCase))) {
      if (key === "") continue;
      const own = found.get(key);
      if (own) own.push(test);
      else found.set(key, [test]);
    }
  }
  return found;
}

const ownerSchema = schemas.object("Owner", {
  owner: schemas.text("Owner, as in a CODEOWNERS file"),
  disruption_count: schemas.count("Disruptions of the last 14 days"),
  flaky_test_count: schemas.count("Flaky tests that are not quarantined"),
  quarantined_test_count: schemas.count("Quarantined tests"),
  test_count: schemas.count("Tests that ran with this owner"),
});

export const ownersPage = definePage({
  path: "/owners",
  resource: "repositories in query",
  list: {
    item: ownerSchema,
    async *batches(read) {
      yield (await read(findOwners)).map(({ owner, cost, flaky, own, testCount }) => ({
        owner,
        disruption_count: cost,
        flaky_test_count: flaky.length,
        quarantined_test_count: own.length - flaky.length,
        test_count: testCount,
      }));
    },
  },
  async show(page) {
    const rows = await findOwners(page);
    return {
      title: "Owners",
      content: markup`<h1>Owners</h1>
${
        rows.length === 0
          ? emptyState(
            markup`<p>No test has an owner. An upload takes them from a CODEOWNERS file, with
<code>-F codeowners=@.github/CODEOWNERS</code>; the report must have the files of tests. The tag
<code>owner:WHO</code> sets one for all tests of an upload:</p>`,
            await uploadCommand(page),
          )
          : table(
            "Owners, those whose tests failed most by chance first",
            [
              "Owner|owner",
              "Flaky failures|number",
              "Flaky tests|number",
              "Quarantined|number",
              "Tests|number wide",
            ],
            rows.map(({ owner, testCount, flaky, cost, own }) => [
              page.link.owner(owner, pathInParts(owner)),
              formatCount(cost),
              flaky.length,
              own.length - flaky.length,
              formatCount(testCount),
            ]),
            "dense",
          )
      }
${
        rows.length > 0 &&
        markup`<p class="soft">Flaky tests and failures are those of the last 14 days.</p>
${downloadLinks(["owners"], page)}`
      }`,
    };
  },
});

/** All owners of tests and quarantine entries (case-insensitive), the most disruptions first. */
async function findOwners({ load, loadTests }: ApiRequest) {
  const [owners, { tests }] = await Promise.all([load(loadOwners, {}), loadTests()]);
  const ofEntries = tests.map(({ quarantine }) => quarantine?.quarantineOwner ?? "")
    .filter((owner) => owner !== "").sort().map((owner) => ({ owner, testCount: 0 }));
  const testsOf = groupByOwner(tests);
  return [...Map.groupBy([...owners, ...ofEntries], ({ owner }) => foldCase(owner))]
    .map(([key, spellings]) => {
      const own = testsOf.get(key) ?? [];
      const flaky = own.filter(isFlakyNotQuarantined);
      const testCount = spellings.reduce((sum, one) => sum + one.testCount, 0);
      return { owner: spellings[0]!.owner, testCount, flaky, cost: costOf(own), own };
    }).sort((a, b) => b.cost - a.cost || b.flaky.length - a.flaky.length);
}

/** Flaky failures in the window. */
function costOf(tests: readonly TrackedTest[]): number {
  return tests.reduce((sum, { disruptionCount }) => sum + disruptionCount, 0);
}

interface OwnerPage extends PageRequest {
  days: string;
  repositoryOf: ReadonlyMap<number, RepositoryDetails>;
}

export const ownerPage = definePage({
  // An owner may have slashes: @acme/web.
  path: "/owners/:owner+",
  resource: "owner",
  query: {
    owner: parameters.inPath("Owner, as in a CODEOWNERS file", {
      jsonSchema: { type: "string" },
      example: "@acme/web",
    }),
    days: listDays,
  },
  showErrors: wrongRange(LIST_RANGES, WINDOW_RANGE),
  async show(request) {
    const { link, query: { owner, days } } = request;
    const [details, collection, owners] = await Promise.all([
      request.load(loadRepositoryDetails, {}),
      loadTestsOfRange(request, { days }),
      request.load(loadOwners, {}),
    ]);
    const page: OwnerPage = {
      ...request,
      days,
      repositoryOf: new Map(details.map((one) => [one.idPrefix, one])),
    };
    const key = foldCase(owner);
    const tests = groupByOwner(collection.tests).get(key) ?? [];
    const flaky = sortTests(tests.filter(isFlakyNotQuarantined), "recency")
      .sort((a, b) => b.disruptionCount - a.disruptionCount);
    const quarantined = tests.filter(({ quarantine }) => quarantine !== null)
      .sort((a, b) => endOf(a) - endOf(b) || compareTexts(a.id, b.id));
    const own = owners.filter((one) => foldCase(one.owner) === key);
    const testCount = own.reduce((sum, one) => sum + one.testCount, 0);
    const head = markup`<h1><bdi>${owner}</bdi></h1>`;
    if (testCount === 0 && tests.length === 0) {
      const content = markup`${head}${
        emptyState("No test has this owner. The list of owners has the names of all.")
      }`;
      return { title: owner, crumbs: [link.owners], content };
    }
    const microseconds = await flakyMicrosecondsOf(tests, page);
    return {
      title: owner,
      crumbs: [link.owners],
      content: markup`${head}
${
        rangeLinks("Flaky failures", {
          ranges: LIST_RANGES,
          shown: days,
          addressOf: (days) => request.pathTo(["owners", owner], { days }),
        })
      }
${ownerFigures({ tests, testCount, flaky, quarantined, microseconds }, page)}
<h2>Flaky tests</h2>
${flaky.length > 0 ? flakyTable(flaky, page) : emptyState("None of them is flaky.")}
<h2>Quarantined</h2>
${
        quarantined.length > 0
          ? quarantineTable(quarantined, page)
          : emptyState("No test of theirs is quarantined.")
      }`,
    };
  },
});

function ownerFigures(
  { tests, testCount, flaky, quarantined, microseconds }: {
    tests: readonly TrackedTest[];
    testCount: number;
    flaky: readonly TrackedTest[];
    quarantined: readonly TrackedTest[];
    microseconds: number;
  },
  { now, days }: OwnerPage,
): Markup {
  const ending = quarantined.filter((test) => endOf(test) < now + ENDING_DAYS * SECONDS_PER_DAY);
  return factLine(
    ["Tests", formatCount(testCount)],
    ["Flaky", formatCount(flaky.length), "not quarantined"],
    ["Flaky failures", formatCount(costOf(tests)), `in ${days} days`],
    [
      "Cost of flaky failures",
      formatDuration(microseconds),
      markup`<span title="Failed attempts, and jobs that ran again">in ${days} days</span>`,
    ],
    [
      "Quarantined",
      formatCount(quarantined.length),
      `${formatCount(ending.length)} ${
        ending.length === 1 ? "ends" : "end"
      } within ${ENDING_DAYS} days`,
    ],
  );
}

/** What flaky failures of these tests cost in all of their repositories. */
async function flakyMicrosecondsOf(
  tests: readonly TrackedTest[],
  { load, now, days, repositoryOf }: OwnerPage,
): Promise<number> {
  const since = now - Number(days) * SECONDS_PER_DAY;
  const failed = tests.filter(({ disruptionCount }) => disruptionCount > 0)
    .map(({ id }) => parseTestId(id)!);
  const costs = await Promise.all(
    [...Map.groupBy(failed, ({ idPrefix }) => idPrefix)].map(([idPrefix, own]) =>
      load(loadFlakyMicroseconds, {
        repositoryId: repositoryOf.get(idPrefix)!.repositoryId,
        since,
        testHashes: own.map(({ testHash }) => testHash),
      })
    ),
  );
  return costs.reduce((sum, cost) => sum + cost, 0);
}

/** The end of an entry in seconds since 1970; Infinity without one. */
function endOf({ quarantine }: TrackedTest): number {
  return quarantine?.quarantineExpiresAt ?? Infinity;
}

function repositoryOf({ id }: TrackedTest, { repositoryOf }: OwnerPage): RepositoryDetails {
  return repositoryOf.get(parseTestId(id)!.idPrefix)!;
}

function flakyTable(tests: readonly TrackedTest[], page: OwnerPage): Markup {
  const rows = tests.slice(0, MAX_ROWS).map((test) => [
    page.link.test(test.id, test),
    page.link.repository(repositoryOf(test, page)),
    formatCount(test.disruptionCount),
    formatPercent(disruptivenessThousandths(test)),
    page.at(test.latestDisruption?.recordedAt ?? null),
  ]);
  const q = `tags:owner:${page.parameters.owner ?? ""}`;
  const all = page.link.inventory(
    { quarantine: "false", q, days: page.days },
    "all flaky tests of this owner",
  );
  return markup`${
    table(
      "Flaky tests, those with the most flaky failures first",
      [
        "Test|name",
        "Repository|nowrap",
        "Failures|number",
        "Share|number wide",
        "Latest|nowrap wide",
      ],
      rows,
    )
  }${moreTests(tests.length - rows.length, all)}`;
}

function moreTests(count: number, all: Markup): Markup | false {
  return count > 0 && markup`<p>And ${plural(count, "more test")}: ${all}.</p>`;
}

function quarantineTable(tests: readonly TrackedTest[], page: OwnerPage): Markup {
  const rows = tests.slice(0, MAX_ROWS).map((test) => {
    const entry = test.quarantine!;
    const limit = sayLimit(entry.quarantineEnvironment);
    return [
      [page.link.test(test.id, test), limit && markup` <small>${limit}</small>`],
      page.link.repository(repositoryOf(test, page)),
      entry.quarantineReason ?? "",
      page.at(entry.quarantinedAt),
      page.at(entry.quarantineExpiresAt),
    ];
  });
  const columns = [
    "Test|name",
    "Repository|nowrap",
    "Reason|wide",
    "Since|nowrap wide",
    "End|nowrap",
  ];
  const all = page.link.inventory({}, "all quarantined tests");
  return markup`${table("Quarantined tests, the next to end first", columns, rows)}${
    moreTests(tests.length - rows.length, all)
  }`;
}
