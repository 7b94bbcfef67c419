import * as v from "valibot";
import { readWith } from "../../base/read_with.ts";
import { UsageError } from "../../base/failure.ts";
import { MAX_LISTED } from "../../comment/job_section.ts";
import { headline, isNoteworthy } from "../../comment/sections.ts";
import { NEW_CAUSE } from "../../analysis/verdict.ts";
import { identityKey, isKnownFor, notWhole } from "../../gate/rule.ts";
import { isWithoutFailure } from "../../gate/summary.ts";
import { readName } from "../../intake/upload_values.ts";
import { type AddCommand, command } from "../command.ts";
import { findCheckout, startLookup } from "../gate_run/lookup.ts";
import {
  annotateFailures,
  appendToSummary,
  COMMENT_VARIABLES,
  commentedRun,
  commentOnPull,
  factsOf,
  problemOf,
  sectionOfRun,
} from "../gate_run/pull_comment.ts";
import { findMissingPlaces } from "../gate_run/missing_places.ts";
import { readRunReports } from "../gate_run/run_reports.ts";
import { buildPageOf, showBuildPage } from "../build_link.ts";
import { ASKED_RUN_OPTIONS, givenRun, jobStartOf, noteOnCode } from "../run_options.ts";
import { ATTEMPTS, flag, option, REPO_OF_JOB, REPORTS, wholeNumber } from "../parameters.ts";

/** `comment`: tells a pull request what failed, and which of it is probably its own. */
export const commentCommand: AddCommand = command({
  name: "comment",
  summary:
    "Comment on the pull request: what failed in a job, and what is known about each failure",
  details: [
    "One comment on the pull request of GitHub, Gitea or Forgejo (GITHUB_TOKEN), or one note on the " +
    "merge request of GitLab (GITLAB_TOKEN), with a section for each job. It is written only if a test " +
    "failed or passed on a retry, and edited afterwards. Jobs that write at once keep each other's " +
    "sections, which are named by job, shard and environment.",
    "If it cannot be written, as in pull requests from forks, the job summary of GitHub Actions gets " +
    "the section.",
  ],
  example: "comment --job unit reports/",
  moreExamples: ["comment --dry-run reports/", "comment --repo acme/shop --pull 12 reports/"],
  settings: ["TIME_ZONE"],
  environment: [
    "PLATFORM_API_TOKEN",
    "PLATFORM_API_TOKEN_FILE",
    "PLATFORM_API_URL",
    "GITHUB_STEP_SUMMARY",
    ...COMMENT_VARIABLES,
  ],
  exitCodes: {
    0: "even if tests failed, or if the comment could not be written",
    2: "usage error",
  },
  usesDatabase: false,
  input: {
    reports: REPORTS,
    attempts: ATTEMPTS,
    repo: REPO_OF_JOB,
    pull: option(
      "<n>",
      "pull or merge request (default: from the CI job)",
      v.optional(wholeNumber({ min: 1, max: 2_147_483_647 })),
    ),
    job: option(
      "<name>",
      "job of the run, which names the section (default: from the CI job)",
      v.optional(readWith(readName)),
    ),
    exitCode: option(
      "<n>",
      "exit code of the tests (default: 1 if a test failed, otherwise 0)",
      v.undefinedable(wholeNumber({ min: 0, max: 255 })),
    ),
    ...ASKED_RUN_OPTIONS,
    dryRun: flag("print the section as Markdown instead of writing it"),
  },
  async run({ reports, attempts, repo, pull, dryRun, ...given }, context, { TIME_ZONE: zone }) {
    const { base } = given;
    if (reports.length === 0) {
      throw new UsageError("missing REPORTS: expected files, folders or globs");
    }
    const { io, json } = context;
    const checkout = findCheckout(io, repo, { reports, ...noteOnCode(given, context) });
    const lookup = startLookup(checkout, {
      base,
      environment: io.environment,
      run: givenRun(given, context),
    });
    try {
      const { repository, folder, run: ofCi } = await checkout;
      const checkedOut = { checkoutFolder: folder, pathPrefix: given.pathPrefix };
      const commitOid = given.commit ?? ofCi.commit;
      const jobStart = await jobStartOf({ commitOid }, {}, context);
      const read = { before: null, jobStart, ...checkedOut, attempts };
      const run = await readRunReports(reports, read);
      const { failed, flaky } = run.attempts;
      const { exitCode = failed.length === 0 ? 0 : 1 } = given;
      const found = await lookup.finish({
        exitCode,
        failed: [...failed, ...flaky.slice(0, MAX_LISTED)],
        attempts: run.attempts,
      });
      const { verdicts, earlier, problem } = found;
      const missing = await findMissingPlaces(earlier, { places: run.places, folder });
      const buildUrl = given.buildUrl ?? ofCi.buildUrl;
      const page = problem === null ? buildPageOf({ repository, buildUrl }, context) : "";
      const judged = commentedRun({
        failed: failed.map((test) => {
          const known = verdicts?.tests.get(identityKey(test));
          return {
            ...test,
            ...factsOf(test, found),
            verdict: known?.verdict === "quarantined" && !isKnownFor(test, known.causes)
              ? NEW_CAUSE
              : known?.verdict ?? (verdicts ? "new" : "unknown"),
          };
        }),
        notWhole: notWhole({
          counts: run.attempts.counts,
          earlier,
          missingPlaces: missing,
          reports: run.reports,
          unclear: run.attempts.unclear,
        }),
        redExitCode: exitCode !== 0 && isWithoutFailure({ ...run.attempts, ...run })
          ? exitCode
          : null,
      }, { run, found });
      const section = await sectionOfRun(judged, { named: given, zone, page }, context);
      if (dryRun) return await io.stdout(`**${headline([section])}**\n\n${section.text}\n`);
      annotateFailures(judged, context);
      const unread = run.reports.flatMap(problemOf);
      for (const problem of unread) context.note(`comment: ${problem}`);
      // A wrong path should not comment on every pull request, but replaces what an earlier run said.
      const isUnread = unread.length === section.broken && section.failed + section.flaky === 0;
      const place = await commentOnPull(
        { ...section, ...isUnread && { onlyReplaces: !section.isRed } },
        { repository, pull },
        context,
      );
      if (place === null) await appendToSummary(section, context);
      const { text: _text, tests: _keys, missed: _missed, ...facts } = section;
      if (json || place !== null) await context.print(place ?? "", { comment: place, ...facts });
      if (isNoteworthy(section)) await showBuildPage(page, context);
    } finally {
      lookup.close();
    }
  },
});
