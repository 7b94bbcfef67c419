/** `/repos/{owner}/{name}/builds/{submission id}`: one build, with all its submissions. */
import { type BuildFailure, loadBuildFailures } from "../../db/read/build_failures.ts";
import { loadCauses } from "../../db/read/causes.ts";
import { loadRepositoryDetails, type RepositoryDetails } from "../../db/read/repositories.ts";
import { type BuildPart, loadBuild } from "../../db/read/submissions.ts";
import { loadTexts } from "../../db/read/texts.ts";
import { loadTestsOnBase } from "../../db/read/verdicts.ts";
import { NO_TEXT } from "../../lib/analysis/failure_causes.ts";
import type { FailureText } from "../../lib/analysis/failure_texts.ts";
import { DEFAULT_BASE, type Verdict } from "../../lib/analysis/verdict.ts";
import { isOutage } from "../../lib/analysis/test_counts.ts";
import { parseTestId } from "../../lib/base/identity.ts";
import { formatCount, plural } from "../../lib/base/text.ts";
import { isKnownFor } from "../../lib/gate/rule.ts";
import { buildName } from "../../lib/html/forge_links.ts";
import { glyph } from "../../lib/html/charts.ts";
import {
  emptyState,
  failureDetails,
  keyFigures,
  label,
  testName,
} from "../../lib/html/elements.ts";
import { externalAddress, externalLink, type Markup, markup } from "../../lib/html/markup.ts";
import { withVerdicts } from "../verdicts.ts";
import { definePage, type PageRequest, placeOf, someTests } from "./page.ts";

/** Maximum number of failed tests that are shown with their texts. */
const MAX_SHOWN = 100;

export const buildPage = definePage({
  path: "/repos/:owner/:name/builds/:id",
  resource: "submission in path",
  async show(page) {
    const [[repository], parts] = await Promise.all([
      page.load(loadRepositoryDetails, {}),
      page.load(loadBuild, {}),
    ]);
    const [latest] = parts as [BuildPart];
    const failures = await page.load(loadBuildFailures, {
      submissionIds: parts.map(({ submissionId }) => submissionId),
    });
    const failed = failures.filter(({ isFailed }) => isFailed);
    const outage = outageNote(parts);
    const retried = failures.filter(({ isFailed }) => !isFailed);
    const verdicts = await loadVerdicts(page, failed, parts);
    const { status } = parts.find(({ status }) => status !== "processed") ?? latest;
    return {
      title: `Build ${buildName(latest)}`,
      crumbs: [
        page.link.repositories,
        page.link.repository(repository!),
        page.link.builds(repository!),
      ],
      content: markup`<h1><bdi>Build ${buildName(latest)}</bdi></h1>
${buildFigures(parts, repository!, page)}
${buildNotes(parts)}
${outage}
<h2>Failures</h2>
${failed.length > 0 && !outage && answer(failed, verdicts)}
${failed.length > 0 ? await failedTests(failed, verdicts, page) : emptyState(NO_FAILURES[status])}
${
        retried.length > 0 && markup`<h2>Passed after a retry</h2>
${await shownTests(retried, page)}`
      }`,
    };
  },
});

/** What to say of uploads in which so many tests failed that the change is probably not the cause. */
function outageNote(parts: readonly BuildPart[]): Markup | false {
  const outages = parts.flatMap(({ failedTestCount: failed, ranTestCount: ran, ...part }) =>
    ran !== null && isOutage({ ran, failed }) ? [{ ...part, ran, failed }] : []
  );
  const where = ({ job, environment }: typeof outages[number]) =>
    [job, environment].filter((text) => text !== "").join(", ");
  const [first] = outages;
  if (!first) return false;
  const count = ({ failed, ran }: typeof outages[number]) =>
    `${formatCount(failed)} of ${plural(ran, "test")}`;
  const what = outages.length === 1
    ? markup`<b>Outage</b>${where(first) && ` (${where(first)})`}: ${count(first)} failed`
    : markup`<b>Outage</b> in ${plural(outages.length, "upload")}: ${
      outages.map((one) => `${count(one)}${where(one) && ` (${where(one)})`}`).join(", ")
    } failed`;
  return markup`<p>${what}, so the change is probably not the cause. The gate excuses nothing.</p>`;
}

/** As the gate calls it. */
const NEW_CAUSE = "quarantined, new cause";

type ShownVerdict = Verdict | typeof NEW_CAUSE;

/** New failures first. */
const ORDER: readonly ShownVerdict[] = ["new", NEW_CAUSE, "known", "flaky", "quarantined"];

/** The verdicts on failed tests by id, from failures before the build. */
async function loadVerdicts(
  { load, loadTests }: PageRequest,
  failed: readonly BuildFailure[],
  parts: readonly BuildPart[],
): Promise<Map<string, ShownVerdict>> {
  if (failed.length === 0) return new Map();
  const [tests, tracked] = await Promise.all([
    load(loadTestsOnBase, {
      testHashes: failed.map(({ testId }) => parseTestId(testId)!.testHash),
      base: [DEFAULT_BASE],
      before: parts.at(-1)!.submissionId,
    }),
    loadTests(),
  ]);
  const verdicts = new Map<string, ShownVerdict>(
    withVerdicts(tests, tracked.tests).map(({ id, verdict }) => [id, verdict]),
  );
  const quarantined = failed.filter(({ testId }) => verdicts.get(testId) === "quarantined");
  // The causes of a test may take 10 ms. The gate excuses so many failures only with `--max-excused`.
  if (quarantined.length === 0 || quarantined.length > MAX_SHOWN) return verdicts;
  const hashOf = ({ testId }: BuildFailure) => parseTestId(testId)!.testHash;
  const causes = await load(loadCauses, { testHashes: quarantined.map(hashOf) });
  for (const failure of quarantined) {
    // An attempt without a text has no cause: another attempt has it.
    const [fingerprint = NO_TEXT, ...others] = failure.causes.filter((one) => one !== NO_TEXT);
    const failed = { ...failure, fingerprint, otherFingerprints: others };
    const isKnown = isKnownFor(failed, causes.get(hashOf(failure)) ?? []);
    if (!isKnown) verdicts.set(failure.testId, NEW_CAUSE);
  }
  return verdicts;
}

const ADVICE: Record<ShownVerdict, string> = {
  [NEW_CAUSE]: "it is not known for this cause, so the gate does not excuse it",
  quarantined: "the gate excuses it",
  flaky: "passed on the same code at another time",
  known: `also failed on ${DEFAULT_BASE} before`,
  new: "not seen before",
};

/** Whether the change is probably the cause: the first question about a failed build. */
function answer(
  failed: readonly BuildFailure[],
  verdicts: ReadonlyMap<string, ShownVerdict>,
): Markup {
  const isNew = ({ testId }: BuildFailure) =>
    ["new", NEW_CAUSE].includes(verdicts.get(testId) ?? "new");
  const count = failed.filter(isNew).length;
  return count === 0
    ? markup`<p><b>No failure is new</b>: the change is probably not the cause.</p>`
    : markup`<p><b>${plural(count, "new failure")}</b> of ${
      formatCount(failed.length)
    }: the change may be the cause.</p>`;
}

/** Failed tests by verdict. */
async function failedTests(
  failed: readonly BuildFailure[],
  verdicts: ReadonlyMap<string, ShownVerdict>,
  page: PageRequest,
): Promise<Markup> {
  const groups = Map.groupBy(failed, ({ testId }) => verdicts.get(testId) ?? "new");
  const order = ORDER.filter((verdict) => groups.has(verdict));
  const summary = order.map((verdict) =>
    markup`<li><b>${groups.get(verdict)!.length} ${verdict}</b>: ${ADVICE[verdict]}</li>`
  );
  const list = order.flatMap((verdict) => groups.get(verdict)!.map((one) => ({ ...one, verdict })));
  return markup`<ul>${summary}</ul>${await shownTests(list, page, { isFirstOpen: true })}`;
}

type ShownTest = BuildFailure & { verdict?: ShownVerdict };

/**
 * The first tests with their texts, and how many more there are. Tests with the same text and verdict, as in
 * an outage, are one group.
 */
async function shownTests(
  tests: readonly ShownTest[],
  page: PageRequest,
  { isFirstOpen = false } = {},
): Promise<Markup> {
  const alike = [...Map.groupBy(tests, ({ textId, verdict }) => `${textId} ${verdict}`).values()];
  const texts = await page.load(loadTexts, {
    textIds: [...new Set(alike.slice(0, MAX_SHOWN).map(([first]) => first!.textId))],
  });
  // Tests without a message may have failed for different reasons.
  const hasMessage = ({ textId }: ShownTest) => texts.get(textId)?.message !== "";
  const groups = alike.flatMap((group) =>
    hasMessage(group[0]!) ? [group] : group.map((one) => [one])
  );
  const shown = groups.slice(0, MAX_SHOWN);
  const more = groups.slice(MAX_SHOWN).reduce((sum, group) => sum + group.length, 0);
  const list = shown.map((group, index) => {
    const options = { ...page, isOpen: isFirstOpen && index === 0 };
    const [first] = group as [ShownTest];
    const text = texts.get(first.textId);
    return group.length === 1 ? failure(first, text, options) : groupOf(group, text, options);
  });
  return markup`${list}${more > 0 && markup`<p>And ${plural(more, "more test")}.</p>`}`;
}

/** Tests that failed with the same text. */
function groupOf(
  tests: readonly ShownTest[],
  text: FailureText | undefined,
  { link, isOpen }: Pick<PageRequest, "link"> & { isOpen: boolean },
): Markup {
  const { verdict } = tests[0]!;
  const isFlaky = tests.every(({ isDisruption }) => isDisruption);
  const links = tests.slice(0, MAX_SHOWN).map((test) => link.test(test.testId, test));
  return failureDetails(
    markup`${glyph(isFlaky ? "flaky" : "failed")} <b>${plural(tests.length, "test")} alike</b>
${verdict && label(verdict)} <small class="message"><code>${text?.message}</code></small>`,
    {
      content: someTests(tests.length, links, plural(tests.length, "test")),
      body: text?.body,
      isOpen,
    },
  );
}

function failure(
  { testId, isDisruption, verdict, ...test }: ShownTest,
  text: FailureText | undefined,
  { pathTo, isOpen }: Pick<PageRequest, "pathTo"> & { isOpen: boolean },
): Markup {
  return failureDetails(
    markup`${glyph(isDisruption ? "flaky" : "failed")} <b>${testName(test.name)}</b>
${verdict && label(verdict)} <small class="message"><code>${text?.message}</code></small>`,
    {
      content: markup`<p><a href="${pathTo(["tests", testId])}">All runs of this test</a>
<small>${placeOf(test)}</small></p>`,
      body: text?.body,
      isOpen,
    },
  );
}

/** Why a build shows no failure, by the status of its uploads. */
const NO_FAILURES: Record<BuildPart["status"], string> = {
  processing: "Its reports are being read: reload this page in a moment.",
  failed: "Its reports could not be read: the log of the service says why.",
  processed: "No test failed at its last attempt: there is nothing to fix.",
};

/** Notes on the uploads, each once. */
function buildNotes(parts: readonly BuildPart[]): Markup | false {
  const notes = new Set(parts.flatMap((part) => part.notes));
  return notes.size > 0 && markup`<h2>Notes on the uploads</h2>
<ul>${[...notes].map((note) => markup`<li><bdi>${note}</bdi></li>`)}</ul>`;
}

function buildFigures(
  parts: readonly BuildPart[],
  repository: RepositoryDetails,
  { link, at }: PageRequest,
): Markup {
  const [{ commitOid, branch, buildUrl, recordedAt }] = parts as [BuildPart];
  const environments = [...new Set(parts.map(({ environment }) => environment))]
    .filter((environment) => environment !== "").sort();
  const results = parts.reduce((sum, { testResultCount }) => sum + testResultCount, 0);
  return keyFigures(
    ["When", at(recordedAt)],
    ["Branch", branch ? markup`<bdi>${link.branch(repository, branch)}</bdi>` : "unknown"],
    ["Commit", link.commit(repository, commitOid)],
    ["Environment", environments.join(", ") || "unknown"],
    ["Results", formatCount(results), `in ${plural(parts.length, "upload")}`],
    ["CI run", externalLink(buildUrl, externalAddress(buildUrl) ? "open" : buildUrl || "unknown")],
  );
}
