/** `/repos/{owner}/{name}/builds/{submission id}`: one build, with all its submissions. */
import { loadRepositoryDetails } from "../../db/read/repositories.ts";
import { loadSubmissionTests, type SubmissionAttempt } from "../../db/read/submission_tests.ts";
import { type BuildPart, loadBuild } from "../../db/read/submissions.ts";
import { loadTestsOnBase } from "../../db/read/verdicts.ts";
import { DEFAULT_BASE, type Verdict, VERDICTS } from "../../lib/analysis/verdict.ts";
import { parseTestId } from "../../lib/base/identity.ts";
import { formatCount, plural } from "../../lib/base/text.ts";
import { glyph } from "../../lib/html/charts.ts";
import {
  commit,
  emptyState,
  failureDetails,
  keyFigures,
  label,
  shortOid,
} from "../../lib/html/elements.ts";
import { externalAddress, externalLink, type Markup, markup } from "../../lib/html/markup.ts";
import { withVerdicts } from "../verdicts.ts";
import { definePage, type PageRequest, placeOf } from "./page.ts";

/** Maximum number of submissions whose failures are shown. */
const MAX_PARTS = 20;
const MAX_ATTEMPTS = 100;

export const buildPage = definePage({
  path: "/repos/:owner/:name/builds/:id",
  resource: "submission in path",
  async show(page) {
    const [[repository], { parts }] = await Promise.all([
      page.loadEach(loadRepositoryDetails, {}),
      page.load(loadBuild, {}),
    ]);
    const [latest] = parts as [BuildPart];
    const failing = parts.filter(({ failedTestCount }) => failedTestCount > 0).slice(0, MAX_PARTS);
    const query = { status: "failed", after: 0, limit: MAX_ATTEMPTS } as const;
    const pages = await Promise.all(
      failing.map(({ submissionId }) => page.load(loadSubmissionTests, { ...query, submissionId })),
    );
    const tests = Map.groupBy(pages.flatMap(({ attempts }) => attempts), ({ testId }) => testId);
    // The last attempt decides: a test whose last attempt is not among the failures passed.
    const shown = [...tests.values()].map((attempts) =>
      attempts.find(({ isLast }) => isLast) ?? attempts.at(-1)!
    );
    const failed = shown.filter(({ isLast }) => isLast);
    const retried = shown.filter(({ isLast }) => !isLast);
    const verdicts = await loadVerdicts(page, failed, parts);
    const { status } = parts.find(({ status }) => status !== "processed") ?? latest;
    const isCut = pages.some(({ count, attempts }) => count > attempts.length);
    return {
      title: `Build ${shortOid(latest.commitOid)}`,
      crumbs: [page.link.repositories, page.link.repository(repository!)],
      content: markup`<h1>Build of ${page.at(latest.recordedAt)}</h1>
${buildFigures(parts)}
<h2>Failures</h2>
${failed.length > 0 ? failures(failed, verdicts, page) : emptyState(NO_FAILURES[status])}
${isCut && markup`<p>Only the first ${MAX_ATTEMPTS} failures of a report are shown.</p>`}
${
        retried.length > 0 && markup`<h2>Passed after a retry</h2>
${retried.map((attempt) => failure(attempt, page, false))}`
      }`,
    };
  },
});

/** The verdicts on failed tests by id, from failures before the build. */
async function loadVerdicts(
  { load, loadTests }: PageRequest,
  failed: readonly SubmissionAttempt[],
  parts: readonly BuildPart[],
): Promise<Map<string, Verdict>> {
  if (failed.length === 0) return new Map();
  const [{ tests }, tracked] = await Promise.all([
    load(loadTestsOnBase, {
      testHashes: failed.map(({ testId }) => parseTestId(testId)!.testHash),
      base: [DEFAULT_BASE],
      before: parts.at(-1)!.submissionId,
    }),
    loadTests(),
  ]);
  return new Map(withVerdicts(tests, tracked.tests).map(({ id, verdict }) => [id, verdict]));
}

const ADVICE: Record<Verdict, string> = {
  quarantined: "the gate excuses it",
  flaky: "passed on the same code at another time",
  known: `also failed on ${DEFAULT_BASE} before`,
  new: "not seen before: look here first",
};

/** Failures by verdict, new ones first. */
function failures(
  failed: readonly SubmissionAttempt[],
  verdicts: ReadonlyMap<string, Verdict>,
  page: PageRequest,
): Markup {
  const groups = Map.groupBy(failed, ({ testId }) => verdicts.get(testId) ?? "new");
  const order = VERDICTS.toReversed().filter((verdict) => groups.has(verdict));
  const summary = order.map((verdict) =>
    markup`<li><b>${groups.get(verdict)!.length} ${verdict}</b>: ${ADVICE[verdict]}</li>`
  );
  const list = order.flatMap((verdict) => groups.get(verdict)!.map((one) => ({ ...one, verdict })))
    .map((attempt, index) => failure(attempt, page, index === 0));
  return markup`<ul>${summary}</ul>${list}`;
}

function failure(
  { testId, text, failure, verdict, ...test }: SubmissionAttempt & { verdict?: Verdict },
  { pathTo }: PageRequest,
  isOpen: boolean,
): Markup {
  return failureDetails(
    markup`${glyph(failure?.isDisruption ? "flaky" : "failed")} <b><bdi>${test.name}</bdi></b>
${verdict && label(verdict)} <small><code>${text?.message}</code></small>`,
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

function buildFigures(parts: readonly BuildPart[]): Markup {
  const [{ commitOid, branch, buildUrl }] = parts as [BuildPart];
  const results = parts.reduce((sum, { testResultCount }) => sum + testResultCount, 0);
  return keyFigures(
    ["Branch", branch || "unknown"],
    ["Commit", commit(commitOid)],
    ["Results", formatCount(results), `in ${plural(parts.length, "upload")}`],
    ["CI run", externalLink(buildUrl, externalAddress(buildUrl) ? "open" : buildUrl || "unknown")],
  );
}
