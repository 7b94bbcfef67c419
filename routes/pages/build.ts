// Tests: tests/routes/build_page_test.ts
/** `/repos/{owner}/{name}/builds/{submission id}`: one build, with all its submissions. */
import { loadBuildOutcome } from "../../db/read/build_outcome.ts";
import { loadRepositoryDetails, type RepositoryDetails } from "../../db/read/repositories.ts";
import type { BuildPart } from "../../db/read/submissions.ts";
import { uploadsThatEndedRed } from "../../lib/analysis/build_outcome.ts";
import { formatCount, plural } from "../../lib/base/text.ts";
import { storedMassFailure } from "../../lib/evidence/mass_failure.ts";
import { sayBlames } from "../../lib/evidence/said.ts";
import { buildName, runName } from "../../lib/html/forge_links.ts";
import { band, factLine, type KeyFigure } from "../../lib/html/elements.ts";
import { externalLink, type Markup, markup } from "../../lib/html/markup.ts";
import { failedTests, type JudgedFailure, retriedTests, withVerdicts } from "./build_failures.ts";
import { definePage, type PageRequest } from "./page.ts";

export const buildPage = definePage({
  path: "/repos/:owner/:name/builds/:id",
  resource: "submission in path",
  async show(page) {
    const [[repository], outcome] = await Promise.all([
      page.load(loadRepositoryDetails, {}),
      page.load(loadBuildOutcome, {}),
    ]);
    const { parts, failed, retried, red, baseBranch, conclusions, ranTestCount, whole, notWhole } =
      outcome;
    const [latest] = parts as [BuildPart];
    const environmentOf = new Map(
      parts.map(({ submissionId, environment }) => [submissionId, environment]),
    );
    const judged = await withVerdicts(page, failed, { conclusions, environmentOf });
    const { status } = parts.find(({ status }) => status !== "processed") ?? latest;
    return {
      title: `Build ${buildName(latest)}`,
      crumbs: [
        page.link.repositories,
        page.link.repository(repository!),
        page.link.builds(repository!),
      ],
      content: markup`<h1><bdi>Build ${buildName(latest)}</bdi></h1>
${
        answer(parts, {
          failed: judged,
          ran: ranTestCount,
          retriedCount: retried.length,
          red,
          whole,
          notWhole,
          status,
        })
      }
${
        failed.length > 0 &&
        await failedTests(judged, baseBranch, { ...page, repository: repository! })
      }
${retried.length > 0 && await retriedTests(retried, page)}
${buildFacts(outcome, repository!, page)}
${buildNotes(parts)}`,
    };
  },
});

/** Whether the build failed, and whose that is. */
function answer(
  parts: readonly BuildPart[],
  { failed, ran, retriedCount, red, whole, notWhole, status }: {
    failed: readonly JudgedFailure[];
    /** How many tests ran. */
    ran: number;
    retriedCount: number;
    /** Uploads that ended red without a failed test. */
    red: readonly BuildPart[];
    /** `null`: not known. */
    whole: boolean | null;
    notWhole: readonly string[];
    status: BuildPart["status"];
  },
): Markup {
  const limits = [
    ...red.map(({ job, exitCode }) =>
      markup`<p><b>Ended red without a failed test</b>: exit code ${exitCode!}${
        job && ` of ${job}`
      }</p>`
    ),
    ...notWhole.map((text) => markup`<p><b>Not whole</b>: ${text}</p>`),
  ];
  if (failed.length > 0) {
    const blames = failed.flatMap(({ conclusion }) => conclusion?.blame ?? []);
    const unknown = failed.length - blames.length;
    const tone = blames.includes("yours")
      ? "failed"
      : blames.includes("unclear") || unknown > 0 || limits.length > 0
      ? "unclear"
      : "neutral";
    // What is missing comes first: what failed is not all.
    const whose = sayBlames(blames, { unknown, ran });
    return band(tone, whose, limits, massFailureNote(parts));
  }
  if (status !== "processed") return band("neutral", NO_FAILURES[status]);
  if (red.length > 0) {
    return band("failed", "Red without a failed test: the log of the job says why.", limits);
  }
  if (whole === false) {
    return band("unclear", "No test failed, but the run is not whole.", limits);
  }
  // Tests that passed on a retry may not be why, as with a threshold of coverage.
  const [ended] = uploadsThatEndedRed(parts);
  if (ended) {
    return band(
      "unclear",
      `No test failed at its last attempt, but exit code ${ended.exitCode}: the log of the job says why.`,
    );
  }
  if (whole === null) {
    // Tests may be missing of which nothing is known.
    const passed = `${plural(retriedCount, "test")} passed only on a retry.`;
    return band("passed", `No test failed.${retriedCount > 0 ? ` ${passed}` : ""}`);
  }
  const flaky = retriedCount > 0 && `, ${formatCount(retriedCount)} after a retry`;
  return band("passed", markup`All tests passed${flaky}.`, markup`<p>${NO_FAILURES.processed}</p>`);
}

const MASS_FAILURES = {
  outage: [
    "Outage",
    "as on other branches in the last two hours, so the change is probably not the cause",
  ],
  together: ["Together", "with this change alone, so it is the probable cause"],
} as const;

/** What to say of uploads in which many tests failed: an outage, or together with this change alone. */
function massFailureNote(parts: readonly BuildPart[]): Markup[] {
  const found = Map.groupBy(parts, storedMassFailure);
  return (["outage", "together"] as const).flatMap((kind) => {
    const own = found.get(kind);
    if (own === undefined) return [];
    const counts = own.map(({ job, environment, failedTestCount, ranTestCount }) => {
      const place = [job, environment].filter((text) => text !== "").join(", ");
      const count = `${formatCount(failedTestCount)} of ${plural(ranTestCount ?? 0, "test")}`;
      return `${count} failed${place && ` in ${place}`}`;
    });
    const [title, meaning] = MASS_FAILURES[kind];
    return markup`<p><b>${title}</b>: ${
      counts.join("; ")
    }, ${meaning}. The gate excuses nothing.</p>`;
  });
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

const JOB_FACTS = [
  ["Job", "job"],
  ["Workflow", "workflow"],
  ["Shard", "shard"],
  ["Attempt", "attempt"],
  ["Runner", "runner"],
] as const;

/** Values in a line; the API has all. */
const MAX_VALUES = 10;

/** The known values of the uploads, each once. */
function eachOnce(
  parts: readonly BuildPart[],
  key: "environment" | typeof JOB_FACTS[number][1],
): string {
  const values = [...new Set(parts.map((part) => part[key]))].filter((value) => value !== "")
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const more = values.length - MAX_VALUES;
  return values.slice(0, MAX_VALUES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/**
 * The number of results, and what makes it larger than the number of tests that ran: skips, unknown outcomes and
 * further attempts.
 */
function resultsFact(parts: readonly BuildPart[], unclearTestCount: number): KeyFigure {
  const sum = (count: (part: BuildPart) => number) =>
    parts.reduce((sum, part) => sum + count(part), 0);
  const results = sum(({ testResultCount }) => testResultCount);
  const skipped = sum(({ skippedTestCount }) => skippedTestCount ?? 0);
  const isKnown = parts.every(({ ranTestCount, skippedTestCount }) =>
    ranTestCount !== null && skippedTestCount !== null
  );
  const rest = isKnown ? results - skipped - sum(({ ranTestCount }) => ranTestCount!) : 0;
  const unclear = Math.min(unclearTestCount, rest);
  const repeated = rest - unclear;
  const more = [
    ...skipped > 0 ? [`${formatCount(skipped)} skipped`] : [],
    ...unclear > 0 ? [`${formatCount(unclear)} of unknown outcome`] : [],
    ...repeated > 0 ? [plural(repeated, "further attempt")] : [],
  ];
  const uploads = `in ${plural(parts.length, "upload")}`;
  return ["Results", formatCount(results), [uploads, ...more].join(", ")];
}

/** Where the build came from; what is unknown is left out. */
function buildFacts(
  { parts, unclearTestCount }: { parts: readonly BuildPart[]; unclearTestCount: number },
  repository: RepositoryDetails,
  { link, at }: PageRequest,
): Markup {
  const [{ commitOid, branch, buildUrl, recordedAt }] = parts as [BuildPart];
  const pull = parts.find(({ pullNumber }) => pullNumber !== null);
  const { author = "" } = parts.find((part) => part.author !== "") ?? {};
  const environment = eachOnce(parts, "environment");
  const facts: (KeyFigure | false)[] = [
    !!branch && ["Branch", markup`<bdi>${link.branch(repository, branch)}</bdi>`],
    pull !== undefined &&
    ["Pull request", link.pullRequest(repository, pull.pullNumber!), pull.pullTitle],
    ["Commit", link.commit(repository, commitOid), author && `by ${author}`],
    environment !== "" && ["Environment", environment],
    ...JOB_FACTS.map(([name, key]): KeyFigure => [name, eachOnce(parts, key)])
      .filter(([, text]) => text !== ""),
    resultsFact(parts, unclearTestCount),
    ["When", at(recordedAt)],
    buildUrl !== "" && ["CI run", externalLink(buildUrl, runName(buildUrl))],
  ];
  return factLine(...facts.filter((fact) => fact !== false));
}
