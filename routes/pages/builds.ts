// Tests: tests/routes/builds_page_test.ts
/** `/repos/{owner}/{name}/builds`: all builds of a repository. */
import * as v from "valibot";
import { BUILD_OUTCOMES, type BuildRow, loadBuilds } from "../../db/read/builds.ts";
import { loadRepositoryDetails, type RepositoryDetails } from "../../db/read/repositories.ts";
import { formatTimestamp, SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { formatCount, plural } from "../../lib/base/text.ts";
import { glyph } from "../../lib/html/charts.ts";
import { buildName, forgeOf, pullRequestOf, shownBranch } from "../../lib/html/forge_links.ts";
import { emptyState, nameInParts, table, together } from "../../lib/html/elements.ts";
import { choiceField, hiddenFields, otherErrors, textField } from "../../lib/html/forms.ts";
import {
  type Content,
  externalAddress,
  externalLink,
  type Markup,
  markup,
} from "../../lib/html/markup.ts";
import { keptParameters } from "../../lib/html/layout.ts";
import type { ParameterErrors } from "../../lib/http/request/errors.ts";
import * as parameters from "../../lib/http/request/parameters.ts";
import * as schemas from "../schemas.ts";
import { buildDays, CHART_RANGES, rangeField, WINDOW_RANGE } from "./ranges.ts";
import { definePage, downloadLinks, type PageRequest } from "./page.ts";
import { pageAt, shownRange, turnPages } from "./paging.ts";

const LIMIT = 50;

const query = {
  q: parameters.words(
    "Words that must all be found: a commit or its beginning, a part of the branch or of the address of " +
      "the CI run, the number of the pull request or of the CI run",
    "24d0c8b",
  ),
  branch: parameters.branch,
  environment: parameters.environment,
  outcome: parameters.choice("outcome", BUILD_OUTCOMES, "The builds that are listed"),
  days: buildDays,
  after: parameters.offsetCursor,
};

/** The fields of the form, which show their own errors. */
const FIELDS = ["q", "branch", "environment", "outcome", "days"];

const OUTCOMES = [
  ["all", "all"],
  ["failed", "failed"],
  ["flaky", "with a flaky failure"],
  ["passed", "passed without any failure"],
] as const;

const buildSchema = schemas.object("Build", {
  id: schemas.described(schemas.objectId, "Id of its latest submission"),
  name: schemas.text("What the pages call it"),
  outcome: schemas.text(
    "processing, upload failed, failed, flaky, not whole, no test ran or passed, as on the page",
  ),
  failed_without_test: schemas.described(
    v.boolean(),
    "Whether a command that ran its tests failed, although no test did",
  ),
  failed_test_count: schemas.count(
    "Tests with a failure that is not a disruption, and stands at last",
  ),
  flaky_test_count: schemas.count("Other tests with a disruption"),
  test_result_count: schemas.count("Results of all its submissions"),
  recorded_at: schemas.timestamp,
  branch: schemas.branch,
  commit_oid: schemas.commit,
  environments: schemas.described(v.array(v.string()), "Known environments"),
  submission_count: schemas.count("Its submissions"),
  build_url: schemas.buildUrl,
  commit_url: schemas.text('Page of the commit, "" when it is not known'),
  pull_number: schemas.described(
    v.nullable(v.number()),
    "Number of the pull request, null when there is none or it is not known",
  ),
  pull_request_url: schemas.text('Page of the pull request, "" when there is none'),
});

const BATCH_BUILDS = 1_000;

export const buildsPage = definePage({
  path: "/repos/:owner/:name/builds",
  resource: "repository in path",
  query,
  list: {
    item: buildSchema,
    async *batches(read) {
      let before: string | null = null;
      do {
        const [[repository], { builds }] = await read(({ query, now, load }) =>
          Promise.all([
            load(loadRepositoryDetails, {}),
            load(loadBuilds, {
              ...wantedBuilds(query, now),
              offset: 0,
              before,
              limit: BATCH_BUILDS,
            }),
          ])
        );
        yield builds.map((build) => buildItem(build, repository!));
        before = builds.length < BATCH_BUILDS ? null : builds.at(-1)!.submissionId;
      } while (before !== null);
    },
  },
  showErrors: (errors, { parameters }) => ({
    title: "Builds",
    content: markup`<h1>Builds</h1>${filters(parameters, errors)}`,
  }),
  async show(page) {
    const { query, parameters, now, load, link } = page;
    const { after: offset } = query;
    const [[found], { count, builds }] = await Promise.all([
      load(loadRepositoryDetails, {}),
      load(loadBuilds, { ...wantedBuilds(query, now), offset, limit: LIMIT }),
    ]);
    const repository = found!;
    const path = ["repos", repository.owner, repository.name, "builds"];
    const range = shownRange({ offset, count, shown: builds.length });
    const none = offset > 0
      ? markup`<p>There are no older builds. ${
        pageAt(page, { path, offset: 0, text: "The newest" })
      }</p>`
      : "No build matches. Choose a longer time, or remove a word, the branch or the environment.";
    return {
      title: "Builds",
      crumbs: [link.repositories, link.repository(repository)],
      content: markup`<h1>Builds</h1>
${filters(parameters)}
${
        builds.length > 0
          ? markup`<p>${plural(count, "build")}${range}</p>${buildTable(builds, repository, page)}`
          : emptyState(none)
      }
${turnPages(page, { path, offset, limit: LIMIT, count }, ["Newer builds", "Older builds"])}
${builds.length > 0 && downloadLinks(path, page)}`,
    };
  },
});

/** The builds that the parameters ask for. */
function wantedBuilds(
  { q: words, branch: branches, environment: environments, outcome, days }: v.InferOutput<
    v.ObjectSchema<typeof query, undefined>
  >,
  now: number,
) {
  const since = now - Number(days) * SECONDS_PER_DAY;
  return { since, filter: { branches, environments }, words, outcome };
}

function filters(given: Readonly<Record<string, string>>, errors: ParameterErrors = {}): Markup {
  const field = (name: string, label: string, hint: string) =>
    textField({ name, label, hint, value: given[name], errors: errors[name] });
  return markup`<form class="filters" role="search">${otherErrors(errors, FIELDS)}
${field("q", "Search", "commit or #77")}
${field("branch", "Branch", "all, or release/*")}
${field("environment", "Environment", "all, or Windows*")}
${
    choiceField({
      name: "outcome",
      label: "Outcome",
      value: given.outcome ?? "",
      options: OUTCOMES,
      errors: errors.outcome,
    })
  }${
    rangeField(CHART_RANGES, {
      value: errors.days ? WINDOW_RANGE : given.days || WINDOW_RANGE,
      errors,
    })
  }
<button>Show</button>${hiddenFields(keptParameters(given))}</form>`;
}

/** A table of builds, with links to their pages and to the forge. */
function buildTable(
  builds: readonly BuildRow[],
  repository: RepositoryDetails,
  { link, at }: PageRequest,
): Markup {
  const rows = builds.map((build) => [
    link.namedBuild(repository, build),
    buildOutcome({
      ...build,
      failedCount: build.failedTestCount,
      flakyCount: build.flakyTestCount,
    }),
    at(build.recordedAt),
    someEnvironments(build.environments),
    formatCount(build.testResultCount),
    outerLinks(build, repository.url),
  ]);
  return table(
    "Builds",
    [
      "Build|name",
      "Outcome|nowrap",
      "When|nowrap",
      "Environment|wider nowrap",
      "Results|number wide",
      "Elsewhere|wider nowrap",
    ],
    rows,
    "dense",
  );
}

/** One, and how many more; the page of the build has all. */
function someEnvironments([first, ...more]: readonly string[]): Content {
  if (first === undefined) return "";
  return nameInParts(first, more.length > 0 ? ` +${more.length}` : "", [first, ...more].join(", "));
}

/** To the forge, as far as its address is known, and to the CI service. */
function outerLinks(build: BuildRow, url: string): Content {
  const { branch, commitOid, buildUrl } = build;
  const forge = forgeOf(url);
  const pull = pullOf(build);
  const links: [text: string, url: string | undefined][] = [
    ["commit", forge?.commit(commitOid)],
    pull === null ? ["branch", branch && forge?.branch(branch)] : [
      pullRequestOf(branch) === null ? `#${pull}` : shownBranch(branch),
      forge?.pullRequest(pull),
    ],
    ["CI run", externalAddress(buildUrl) ? buildUrl : ""],
  ];
  return links.filter(([, url]) => url).map(([text, url], index) => [
    index > 0 && " · ",
    externalLink(url!, text),
  ]);
}

/** The number of a build's pull request: as CI said, else from the ref that was checked out. */
function pullOf({ pullNumber, branch }: BuildRow): number | null {
  return pullNumber ?? pullRequestOf(branch);
}

function buildItem(
  build: BuildRow,
  { url }: RepositoryDetails,
): v.InferOutput<typeof buildSchema> {
  const { branch, commitOid, failedTestCount, flakyTestCount } = build;
  const forge = forgeOf(url);
  const pull = pullOf(build);
  return {
    id: build.submissionId,
    name: buildName(build),
    outcome: outcomeOf(build),
    failed_without_test: build.failedWithoutTest,
    failed_test_count: failedTestCount,
    flaky_test_count: flakyTestCount,
    test_result_count: build.testResultCount,
    recorded_at: formatTimestamp(build.recordedAt),
    branch,
    commit_oid: commitOid,
    environments: build.environments,
    submission_count: build.submissionCount,
    build_url: build.buildUrl,
    commit_url: forge?.commit(commitOid) ?? "",
    pull_number: pull,
    pull_request_url: pull === null ? "" : forge?.pullRequest(pull) ?? "",
  };
}

/** A build with a failure that is not a disruption is `failed`, whatever else it has. */
function outcomeOf(
  { status, flakyTestCount, failedTestCount, failedWithoutTest, hasGaps, hasRun }: BuildRow,
) {
  if (failedTestCount > 0 || failedWithoutTest) return "failed";
  if (status !== "processed") return sayUnread(status);
  if (flakyTestCount > 0) return "flaky";
  return outcomeWithoutFailure({ hasGaps, hasRun });
}

/** What became of a build: how many of its tests failed, and how many of them flaky. */
export function buildOutcome(
  { status, failedCount, flakyCount, failedWithoutTest, hasGaps, hasRun }: {
    status: BuildRow["status"];
    failedCount: number;
    flakyCount: number;
    failedWithoutTest: boolean;
    hasGaps: boolean;
    hasRun: boolean;
  },
): Content {
  const unread = status === "processed" ? "" : sayUnread(status);
  const failed = failedCount > 0 && `${formatCount(failedCount)} failed`;
  const flaky = flakyCount > 0 && `${formatCount(flakyCount)} flaky`;
  if (!failed && failedWithoutTest) {
    return [together(glyph("failed"), " red"), " without a failed test", unread && `, ${unread}`];
  }
  if (!failed && !flaky) {
    if (unread) return unread;
    const said = outcomeWithoutFailure({ hasGaps, hasRun });
    return together(glyph(said === "passed" ? "passed" : "unknown"), " ", said);
  }
  return [
    together(glyph(failed ? "failed" : "flaky"), " ", failed || flaky),
    failed && flaky && [", ", flaky],
    unread ? `, ${unread}` : !failed && hasGaps && ", not whole",
  ];
}

/** What is said of a build without a failure: passed, as far as its tests ran. */
function outcomeWithoutFailure({ hasGaps, hasRun }: Pick<BuildRow, "hasGaps" | "hasRun">) {
  if (hasGaps) return "not whole";
  return hasRun ? "passed" : "no test ran";
}

/** What became of an upload whose results are not known. */
function sayUnread(status: Exclude<BuildRow["status"], "processed">) {
  return status === "failed" ? "upload failed" : status;
}
