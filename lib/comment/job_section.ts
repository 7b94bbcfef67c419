// Tests: tests/lib/comment/sections_test.ts
/** The section of a job: what failed in it, by verdict, with the facts about each test. */
import { shortCommit } from "../base/commit.ts";
import type { TestIdentity } from "../base/identity.ts";
import { fullTestName, markdownLink, plural } from "../base/text.ts";
import { localDate, type TimeZone } from "../base/time_zone.ts";
import type { Blame } from "../evidence/shares.ts";
import { safeCode } from "./safe_markdown.ts";
import { FAILED_LISTS, keysOf } from "./shared_tests.ts";
import type { Section } from "./sections.ts";

/** A test that failed, or that passed only on a retry. */
export interface ReportedTest extends TestIdentity {
  /** A verdict of the gate; `unknown` when the service did not answer. */
  verdict: string;
  /** Message of the failure, one line. */
  message: string;
  /** The page of the test; `""` when the service does not know it. */
  page: string;
  /** The last disruption, otherwise the last failure on the base branch. */
  last: { recorded_at: string; build_url: string } | null;
  owners: readonly string[];
  /** Whose the failure probably is; `null` when unknown. */
  blame: Blame | null;
  /** The conclusion as a sentence, Markdown in which names are inert; `""` without one. */
  said: string;
  /** The run that it rests on; `""` without one. */
  evidenceUrl: string;
}

interface JobReport extends Pick<Section, "job" | "workflow" | "run" | "runner" | "writtenAt"> {
  /** `""` when unknown. */
  commit: string;
  zone: TimeZone;
  /** Address of the job or build; `""` when unknown. */
  buildUrl: string;
  /** The page of the build; `""` when unknown. */
  page: string;
  failed: readonly ReportedTest[];
  /** Tests that failed and passed on a retry. */
  flaky: readonly ReportedTest[];
  /** Why reports cannot be read, and failures outside of tests. */
  problems: readonly string[];
  /** Why the service did not answer; `null` when it did. */
  serviceProblem: string | null;
  /** What says that not all tests ran; `null` when they did, or when that is not known. */
  notWhole: string | null;
  /** How the tests ended, when they ended red without a failed test; otherwise `null`. */
  redExitCode: number | null;
  /** What the number of failed tests means; `null` if it is not unusual. */
  outage: string | null;
}

/** Limit of each list; the job summary and the page of the build have the others. */
export const MAX_LISTED = 25;

/** What may stand in place of a commit is cut. */
const COMMIT_CHARACTERS = 10;
const NAME_CHARACTERS = 200;
const MESSAGE_CHARACTERS = 200;
/** Of one test. */
const MAX_OWNERS = 3;

export function jobSection(report: JobReport): Section {
  const { job, run, runner, writtenAt, failed, flaky, problems, notWhole, outage } = report;
  const { workflow, redExitCode } = report;
  const blamed = (blame: Blame | null) => failed.filter((test) => test.blame === blame);
  return {
    job,
    ...workflow && { workflow },
    run,
    runner,
    writtenAt,
    failed: failed.length,
    yours: blamed("yours").length,
    unclear: blamed("unclear").length,
    unknown: blamed(null).length,
    flaky: flaky.length,
    broken: problems.length,
    tests: keysOf(failed, flaky),
    ...notWhole !== null && { isPart: true },
    ...redExitCode !== null && { isRed: true },
    text: [
      heading(report),
      ...redExitCode === null ? [] : [
        `**Ended red without a failed test**: exit code ${redExitCode}. The log of the job says why.`,
      ],
      ...notWhole === null ? [] : [`**Not whole**: ${safeCode(notWhole, MESSAGE_CHARACTERS)}`],
      ...outage === null ? [] : [`Many tests failed: ${safeCode(outage, MESSAGE_CHARACTERS)}`],
      ...report.serviceProblem === null || failed.length === 0
        ? []
        : [`No verdicts: ${safeCode(report.serviceProblem, MESSAGE_CHARACTERS)}`],
      ...list(
        "Problems of the reports",
        problems,
        (problem) => `- ${safeCode(problem, MESSAGE_CHARACTERS)}`,
      ),
      ...FAILED_LISTS.flatMap(([title, blame]) =>
        list(title, blamed(blame), (test) => testItem(test, report))
      ),
      ...list("Passed only on a retry", flaky, (test) => testItem(test, report)),
    ].join("\n\n"),
  };
}

function heading(
  { job, commit, buildUrl, page, failed, flaky, problems, redExitCode }: JobReport,
): string {
  const counts = [
    ...failed.length > 0 ? [`${failed.length} failed`] : [],
    ...flaky.length > 0 ? [`${flaky.length} flaky`] : [],
    ...redExitCode === null ? [] : ["red without a failed test"],
    ...problems.length > 0 ? [plural(problems.length, "problem")] : [],
  ];
  // Not "resolved": what failed before may be among the tests that did not run.
  const found = counts.length === 0 ? "no test failed" : counts.join(", ");
  const at = commit === "" ? "" : ` at ${safeCode(shortCommit(commit), COMMIT_CHARACTERS)}`;
  const links = [["build", buildUrl], ["all tests", page]] as const;
  const linked = links.filter(([, url]) => url !== "")
    .map(([text, url]) => `, ${markdownLink(text, url)}`).join("");
  return `#### ${safeCode(job, NAME_CHARACTERS)}: ${found}${at}${linked}`;
}

function list<Item>(title: string, items: readonly Item[], line: (item: Item) => string): string[] {
  if (items.length === 0) return [];
  const lines = items.slice(0, MAX_LISTED).map(line);
  if (items.length > MAX_LISTED) lines.push(`- and ${items.length - MAX_LISTED} more`);
  return [`**${title}** (${items.length})`, lines.join("\n")];
}

function testItem(test: ReportedTest, { zone }: Pick<JobReport, "zone">): string {
  const { message, page, last, owners, said, evidenceUrl, verdict } = test;
  const facts = [
    ...message === "" ? [] : [safeCode(message, MESSAGE_CHARACTERS)],
    ...said === ""
      ? []
      : [evidenceUrl === "" ? said : `${said} (${markdownLink("run", evidenceUrl)})`],
    ...verdict.startsWith("quarantined") ? [verdict] : [],
    ...last ? [`last seen ${markdownLink(localDate(last.recorded_at, zone), last.build_url)}`] : [],
    ...owners.length === 0
      ? []
      : [`owner ${
        owners.slice(0, MAX_OWNERS).map((one) => safeCode(one, NAME_CHARACTERS)).join(", ")
      }`],
    ...page === "" ? [] : [markdownLink("history", page)],
  ];
  const name = `- ${safeCode(fullTestName(test), NAME_CHARACTERS)}`;
  return facts.length === 0 ? name : `${name}\n  ${facts.join(" · ")}`;
}
