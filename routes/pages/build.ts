/** `/repos/{owner}/{name}/builds/{submission id}`: one build, with all its submissions. */
import { loadRepositoryDetails, type RepositoryDetails } from "../../db/read/repositories.ts";
import { loadSubmissionTests, type SubmissionAttempt } from "../../db/read/submission_tests.ts";
import { type BuildPart, loadBuild } from "../../db/read/submissions.ts";
import { loadTestsOnBase } from "../../db/read/verdicts.ts";
import { type Verdict, verdictOf } from "../../lib/analysis/verdict.ts";
import { parseTestId } from "../../lib/base/identity.ts";
import { glyph } from "../../lib/html/charts.ts";
import { formatCount, moment, plural, shortOid } from "../../lib/html/format.ts";
import { externalLink, type Markup, markup, type PathTo } from "../../lib/html/markup.ts";
import type { Context } from "../../lib/http/request/context.ts";
import { type ApiRequest, selectedSubmission } from "../../lib/http/request/route.ts";
import { checkVersion, StaleVersionError } from "../../lib/http/request/stale_version.ts";
import { DEFAULT_BASE } from "../verdicts.ts";
import { columns, crumbsTo, definePage, facts, table, testName } from "./page.ts";

/** Of the submissions with failures, those whose failures are shown. */
const MAX_PARTS = 20;
const MAX_ATTEMPTS = 100;

/** `/repos/{owner}/{name}/builds/{submission id}`. */
export const buildPage = definePage({
  path: "/repos/:owner/:name/builds/:id",
  resource: "submission in path",
  async show(request, { context: { sql }, pathTo }) {
    const submission = selectedSubmission(request);
    const { repositoryId } = submission;
    const [[repository], { version, parts }] = await Promise.all([
      loadRepositoryDetails(sql, [repositoryId]),
      loadBuild(sql, submission),
    ]);
    const pages = await Promise.all(
      parts.filter(({ failedTestCount }) => failedTestCount > 0).slice(0, MAX_PARTS).map((part) =>
        loadSubmissionTests(sql, {
          repositoryId,
          submissionId: part.submissionId,
          status: "failed",
          after: 0,
          limit: MAX_ATTEMPTS,
        })
      ),
    );
    for (const one of [version, ...pages.map((page) => page.version)]) {
      checkVersion(submission, one);
    }
    const latest = parts[0];
    if (!repository || !latest) throw new StaleVersionError();
    const attempts = [
      ...Map.groupBy(pages.flatMap((page) => page.attempts), ({ testId }) => testId),
    ];
    // The last attempt of a test that counts: a later one may have passed.
    const failed = attempts.flatMap(([, own]) => own.find(({ isLast }) => isLast) ?? []);
    const retried = attempts.flatMap(([, own]) =>
      own.some(({ isLast }) => isLast) ? [] : own.at(-1)!
    );
    const verdicts = await loadVerdicts(request, sql, { repositoryId, failed, parts });
    const isComplete = pages.every(({ count, attempts }) => count === attempts.length);
    const when = moment(latest.recordedAt, request.today);
    return {
      title: `Build ${shortOid(latest.commitOid)}`,
      crumbs: crumbsTo(pathTo, repository),
      content: markup`<h1>Build of ${when}</h1>
${buildFacts(parts, repository)}
<h2>What failed</h2>
${
        failed.length === 0
          ? markup`<p class="empty">${
            unfinished(parts) ??
              "No test failed at its last attempt: the build has nothing to mend."
          }</p>`
          : [
            verdictSummary(failed, verdicts),
            failed.map((attempt, index) =>
              failure(attempt, {
                pathTo,
                verdict: verdicts.get(attempt.testId),
                isOpen: index === 0,
              })
            ),
          ]
      }
${
        !isComplete &&
        markup`<p class="soft">Only the first ${MAX_ATTEMPTS} failures of a report are shown.</p>`
      }
<h2>What passed only when it was tried again</h2>
${
        retried.length === 0
          ? markup`<p class="empty">Nothing.</p>`
          : retried.map((attempt) => failure(attempt, { pathTo, isOpen: false }))
      }
${parts.length > 1 && markup`<h2>Reports</h2>${partTable(parts, { pathTo, repository })}`}`,
    };
  },
});

/** The verdicts of the gate on tests, as of before the build; by id. */
async function loadVerdicts(
  { windowStart, loadTests }: Pick<ApiRequest, "windowStart" | "loadTests">,
  sql: Context["sql"],
  { repositoryId, failed, parts }: {
    repositoryId: number;
    failed: readonly SubmissionAttempt[];
    parts: readonly BuildPart[];
  },
): Promise<Map<string, Verdict>> {
  const [{ tests }, tracked] = await Promise.all([
    loadTestsOnBase(sql, {
      repositoryId,
      testHashes: failed.map(({ testId }) => parseTestId(testId)!.testHash),
      windowStart,
      base: [DEFAULT_BASE],
      before: parts.at(-1)!.submissionId,
    }),
    loadTests(),
  ]);
  const trackedById = new Map(tracked.tests.map((test) => [test.id, test]));
  return new Map(tests.map(({ id, failure }) => {
    const { quarantine = null, disruptionCount = 0 } = trackedById.get(id) ?? {};
    const verdict = verdictOf({
      isQuarantined: quarantine !== null,
      isDisruptive: disruptionCount > 0,
      hasFailedOnBase: failure !== null,
    });
    return [id, verdict];
  }));
}

const ADVICE: Record<Verdict, string> = {
  new: "not seen before: look here first",
  known: "also failed on main before",
  flaky: "passed on the same code at another time",
  quarantined: "the gate excuses it",
};

function verdictSummary(
  failed: readonly SubmissionAttempt[],
  verdicts: ReadonlyMap<string, Verdict>,
): Markup {
  const counts = Map.groupBy(failed, ({ testId }) => verdicts.get(testId) ?? "new");
  return markup`<ul>${
    (Object.keys(ADVICE) as Verdict[]).filter((verdict) => counts.has(verdict)).map((verdict) =>
      markup`<li><b>${counts.get(verdict)!.length} ${verdict}</b>: ${ADVICE[verdict]}</li>`
    )
  }</ul>`;
}

/** What hinders the results of a build from being shown. */
function unfinished(parts: readonly BuildPart[]): string | null {
  const part = parts.find(({ status }) => status !== "processed");
  if (!part) return null;
  return part.status === "processing"
    ? "Its reports are being read: reload this page in a moment."
    : "Its reports could not be read: the log of the service says why.";
}

function buildFacts(parts: readonly BuildPart[], { url }: RepositoryDetails): Markup {
  const [latest] = parts as [BuildPart];
  const { commitOid, branch, buildUrl } = latest;
  const commit = markup`<span class="oid">${shortOid(commitOid)}</span>`;
  const results = parts.reduce((sum, { testResultCount }) => sum + testResultCount, 0);
  return facts([
    ["Branch", branch || "unknown"],
    [
      "Commit",
      /^[0-9a-f]{7,64}$/.test(commitOid) && url
        ? externalLink(`${url}/commit/${commitOid}`, commit)
        : commit,
    ],
    ["Results", formatCount(results), `in ${plural(parts.length, "report upload")}`],
    ...(buildUrl ? [["CI run", externalLink(buildUrl, "open")] as const] : []),
  ]);
}

/** A failed attempt of a test, with its text. */
function failure(
  { testId, text, failure, ...test }: SubmissionAttempt,
  { pathTo, verdict, isOpen }: { pathTo: PathTo; verdict?: Verdict; isOpen: boolean },
): Markup {
  return markup`<details class="cause"${isOpen && markup` open`}>
<summary>${glyph(failure?.isDisruption ? "flaky" : "failed")} <b><bdi>${test.name}</bdi></b>
${verdict && markup`<span class="tag">${verdict}</span>`}
<small><code>${text?.message}</code></small></summary>
<p>${testName(pathTo, testId, test)}</p>
${
    text?.body
      ? markup`<pre tabindex="0">${text.body}</pre>`
      : markup`<p>The report has no stack trace.</p>`
  }
</details>`;
}

function partTable(
  parts: readonly BuildPart[],
  { pathTo, repository: { owner, name } }: { pathTo: PathTo; repository: RepositoryDetails },
): Markup {
  return table(
    "Reports",
    columns("Upload", "Status", "Results|number", "Failed tests|number"),
    parts.map(({ submissionId, status, testResultCount, failedTestCount }) => [
      markup`<a href="${
        pathTo(["repos", owner, name, "builds", submissionId])
      }"><code>${submissionId}</code></a>`,
      status,
      formatCount(testResultCount),
      failedTestCount,
    ]),
  );
}
