// Tests: tests/lib/cli/commands/digest_test.ts tests/lib/digest/digest_test.ts
/** Formats a digest as text: what changed first, each test once, quiet repositories in one line. */
import { sayLimit } from "../analysis/quarantine.ts";
import { shownPercentage } from "../badge/percentage.ts";
import { repositoryPage } from "../base/repository_name.ts";
import {
  cutText,
  formatCount,
  formatDuration,
  fullTestName,
  markdownCode,
  markdownLink,
  plural,
  slackCode,
  slackLink,
} from "../base/text.ts";
import { SECONDS_PER_DAY, WINDOW_SECONDS } from "../base/time.ts";
import { localDate, type TimeZone, UTC } from "../base/time_zone.ts";
import type {
  Digest,
  DigestBegin,
  DigestBroken,
  DigestEntry,
  DigestGroup,
  DigestProof,
  DigestState,
  DigestStopped,
  DisruptedTest,
} from "./digest.ts";
import { countJobs, type RedJobs } from "./red_jobs.ts";
import { FAIL_HOW } from "../evidence/groups.ts";
import { sayFailing } from "../evidence/history_said.ts";

/** Maximum number of tests in a section. */
const MAX_NAMED = 10;

/** Maximum number of repositories in a line of several. */
const MAX_IN_LINE = 20;

/** The time that the share of flaky builds is of, whatever the period. */
const WINDOW = `${WINDOW_SECONDS / SECONDS_PER_DAY} days`;

/** Longer names are cut: the page of the test has all of it. */
const NAME_CHARACTERS = 120;

/** A markup language. */
interface Syntax {
  heading(level: 1 | 2 | 3, text: string): string;
  /** Untrusted text, escaped. */
  code(text: string): string;
  /** A name, with a link to its page unless the address is `""`. */
  link(name: string, address: string): string;
  bullet: string;
}

const MARKDOWN: Syntax = {
  heading: (level, text) => `\n${"#".repeat(level)} ${text}\n`,
  code: markdownCode,
  link: (name, address) => markdownLink(markdownCode(name), address),
  bullet: "- ",
};

/** Slack's mrkdwn. */
const SLACK: Syntax = {
  heading: (_level, text) => `\n*${text}*`,
  code: slackCode,
  link: (name, address) =>
    slackCode(name) + (address === "" ? "" : ` ${slackLink(address, "runs")}`),
  bullet: "• ",
};

/**
 * The digest as Markdown.
 *
 * @param pagesUrl address of the pages without a trailing slash; `""`: no links
 * @param zone of its days
 */
export function digestMarkdown(digest: Digest, pagesUrl = "", zone = UTC): string {
  return textOf(digest, MARKDOWN, { pagesUrl, zone });
}

/** The digest as the request body for a Slack webhook; parameters as of {@linkcode digestMarkdown}. */
export function digestSlack(digest: Digest, pagesUrl = "", zone = UTC): string {
  return JSON.stringify({ text: textOf(digest, SLACK, { pagesUrl, zone }).trim() });
}

type ListedTest =
  | DisruptedTest
  | DigestEntry
  | DigestState
  | DigestBroken
  | DigestProof
  | DigestStopped;

/** Where its links lead, the time zone of its days, and when its period began. */
interface Frame {
  pagesUrl: string;
  zone: TimeZone;
  since: string;
}

function textOf(digest: Digest, syntax: Syntax, { pagesUrl, zone }: Omit<Frame, "since">): string {
  const { organization, since, until, groups } = digest;
  const { heading, code } = syntax;
  const place = zone === UTC ? "" : ` (${zone.name})`;
  const days = `${localDate(since, zone)} to ${localDate(until, zone)}${place}`;
  const changes = groups.flatMap((group) =>
    linesOf(group, syntax, { pagesUrl, zone, since, isGrouped: digest.group_by !== null })
  );
  const lines = [
    heading(1, `Flaky tests of ${code(organization)}, ${days}`),
    ...headline(digest),
    ...changes.length > 0 ? changes : ["\nNothing changed."],
    heading(2, "Repositories"),
    ...repositoryLines(digest, syntax, pagesUrl),
  ];
  return `${lines.join("\n").replaceAll(/\n{3,}/g, "\n\n").trim()}\n`;
}

/** What the week was, in two or three sentences; nothing without a build. */
function headline({ totals, group_by }: Digest): string[] {
  const {
    red_jobs: red,
    broken_tests: broken,
    flaky_tests: flaky,
    flaky_quarantined: quarantined,
    flaky_without_reruns: rare,
    builds,
  } = totals;
  const rarely = rare === 0
    ? ""
    : `, ${formatCount(rare)} ${rare === 1 ? "fails" : "fail"} now and then`;
  const aside = quarantined === 0
    ? ""
    : flaky === 1
    ? " and quarantined"
    : `, ${formatCount(quarantined)} of them quarantined`;
  if (builds === 0) return [];
  const redCount = countJobs(red);
  const kinds = redCount === 0 ? "" : `: ${redKinds(red)}`;
  const cost = totals.flaky_seconds + totals.flaky_seconds_before === 0
    ? ""
    : ` Flaky failures cost ${formatDuration(1_000_000 * totals.flaky_seconds)} of tests, ${
      totals.flaky_seconds_before === 0
        ? "nothing"
        : formatDuration(1_000_000 * totals.flaky_seconds_before)
    } in the period before.`;
  const share = redCount === 0 ? "" : `${formatCount(totals.red_repositories)} of `;
  const where = totals.repositories === 1
    ? ""
    : ` in ${share}${plural(totals.repositories, "repository", "repositories")}`;
  const each = group_by === "owner" ? " A test with several owners is listed for each." : "";
  return [
    `\n${plural(redCount, "job")} ended red${where}${kinds}. ${plural(broken, "test")} ${
      broken === 1 ? "is" : "are"
    } broken, ${formatCount(flaky)} ${
      flaky === 1 ? "is" : "are"
    } flaky${aside}${rarely}.${cost}${each}`,
  ];
}

const RED_KINDS: Record<keyof RedJobs, string> = {
  failed: "with failures that are not flaky",
  flaky: "with flaky failures only",
  together: "with many failures of one change alone",
  outage: "in an outage",
  without_test: "without a failed test",
};

function redKinds(red: RedJobs): string {
  const kinds = Object.keys(RED_KINDS) as (keyof RedJobs)[];
  return kinds.filter((kind) => red[kind] > 0)
    .map((kind) => `${formatCount(red[kind])} ${RED_KINDS[kind]}`).join(", ");
}

type Repository = Digest["repositories"][number];

function repositoryLines(
  { repositories }: Digest,
  { code, link, bullet }: Syntax,
  pagesUrl: string,
): string[] {
  if (repositories.length === 0) return ["No builds."];
  const { own = [], quiet = [], untested = [] } = Object.groupBy(repositories, lineOf);
  const named = (some: readonly Repository[]) => {
    const names = some.slice(0, MAX_IN_LINE).map(({ repository }) => code(repository)).join(", ");
    return some.length > MAX_IN_LINE ? `${names}, and ${some.length - MAX_IN_LINE} more` : names;
  };
  const builds = untested.reduce((sum, one) => sum + one.builds, 0);
  return [
    ...[...own, ...untested.length === 1 ? untested : []].map((one) => {
      const page = pagesUrl && repositoryPage(pagesUrl, one.repository);
      return `${bullet}${link(one.repository, page)}: ${repositoryText(one)}`;
    }),
    ...untested.length > 1
      ? [
        `${bullet}In ${plural(untested.length, "repository", "repositories")} ${
          nothingOf(builds)
        }: ${named(untested)}`,
      ]
      : [],
    ...quiet.length > 0 ? [`${bullet}No flaky builds: ${named(quiet)}`] : [],
  ];
}

/**
 * The line of a repository: shared if it had neither flaky builds nor unusual ones, now and before, or if nothing was
 * run twice that would tell.
 */
function lineOf(
  { flakiness, flakiness_before, builds, ...counts }: Repository,
): "own" | "quiet" | "untested" {
  const isCalm = [flakiness, flakiness_before].every((one) => one === null || one === "0%") &&
    counts.outages + counts.failed_without_test + counts.flaky_seconds === 0;
  if (!isCalm) return "own";
  return flakiness === null && builds > 0 ? "untested" : "quiet";
}

function nothingOf(builds: number): string {
  return `nothing of ${plural(builds, "build")} in ${WINDOW} was run twice`;
}

function repositoryText(
  { flakiness, flakiness_before, builds, outages, failed_without_test, flaky_seconds }: Repository,
): string {
  const now = flakiness === null
    ? builds === 0 ? `no builds in ${WINDOW}` : nothingOf(builds)
    : `${shownPercentage({ percentage: flakiness })} of ${plural(builds, "build")} in ${WINDOW} ${
      builds === 1 ? "was" : "were"
    } flaky`;
  const cost = flaky_seconds > 0
    ? `; flaky failures cost ${formatDuration(1_000_000 * flaky_seconds)} of tests`
    : "";
  const outage = outages > 0 ? `; ${plural(outages, "build")} in an outage` : "";
  const red = failed_without_test > 0
    ? `; ${plural(failed_without_test, "build")} ended red without a failed test`
    : "";
  const before = flakiness_before !== null
    ? `, ${shownPercentage({ percentage: flakiness_before })} before`
    // Nothing was run twice: no share is known.
    : flakiness === null && builds > 0
    ? ""
    : ", no figure before";
  return `${now}${before}${cost}${outage}${red}`;
}

function linesOf(
  group: DigestGroup,
  { heading, code, link, bullet }: Syntax,
  { isGrouped, ...frame }: Frame & { isGrouped: boolean },
): string[] {
  const level = isGrouped ? 3 : 2;
  const lineOf = testLines(group, { code, link }, frame);
  const costs = new Map(group.cost_most_builds.map((test) => [test.id, test]));
  // Of tests that fail together, the first stands for all.
  const faults = new Map(group.faults.map((fault) => [fault.tests[0]!, fault]));
  const others = new Set(group.faults.flatMap(({ tests }) => tests.slice(1)));
  const sections: [title: string, tests: readonly ListedTest[]][] = [
    ["Broken now", group.broken],
    ["Became flaky", group.became_flaky.filter(({ id }) => !others.has(id))],
    ["Cost most builds", [...faults.keys()].map((id) => costs.get(id)!)],
    ["Fail now and then", group.flaky_without_reruns],
    ["Pass again, not proved yet", group.being_proved],
    ["Stopped running", group.stopped],
    ["Quarantine began", group.quarantine_began],
    ["Quarantine ends", group.quarantine_ends],
    ["May be released", group.quarantine_may_be_released],
    ["Calmed down", group.calmed_down],
  ];
  const seen = new Set<string>();
  const shown = sections.flatMap(([title, tests]) => {
    const unseen = tests.filter(({ id }) => !seen.has(id));
    for (const { id } of unseen) seen.add(id);
    if (unseen.length === 0) return [];
    const more = unseen.length - MAX_NAMED;
    return [
      // Tests of a list above are not named again.
      heading(level, `${title} (${unseen.length}${unseen.length < tests.length ? " more" : ""})`),
      ...unseen.slice(0, MAX_NAMED).map((test) => bullet + lineOf(test)),
      ...more > 0 ? [`${bullet}and ${more} more`] : [],
    ];
  });
  if (!isGrouped) return shown;
  return [heading(2, group.owner === null ? "No owner" : code(group.owner)), ...shown];
}

/** The line of a test, with all that the digest says about it. */
function testLines(
  group: DigestGroup,
  { code, link }: Pick<Syntax, "code" | "link">,
  { pagesUrl, zone, since: periodStart }: Frame,
): (test: ListedTest) => string {
  const began = new Map(group.quarantine_began.map((entry) => [entry.id, entry]));
  const ends = new Map(group.quarantine_ends.map((entry) => [entry.id, entry]));
  const proofs = new Map(group.being_proved.map((proof) => [proof.id, proof]));
  const releases = new Map(group.quarantine_may_be_released.map((entry) => [entry.id, entry]));
  const costs = new Map(group.cost_most_builds.map((test) => [test.id, test]));
  const faults = new Map(group.faults.map((fault) => [fault.tests[0]!, fault]));

  return (test) => {
    const { id } = test;
    const name = link(cut(fullTestName(test)), pagesUrl && `${pagesUrl}/tests/${id}`);
    const cost = costs.get(id) ?? ("builds" in test && test.disruptions > 0 ? test : undefined);
    const entry = began.get(id);
    const end = ends.get(id);
    const release = releases.get(id);
    const proof = proofs.get(id);
    const fault = faults.get(id);
    const together = fault?.grouped_by
      ? [
        `with ${plural(fault.tests.length - 1, "more test")} that ${
          fault.tests.length === 2 ? "fails" : "fail"
        } ${FAIL_HOW[fault.grouped_by]}, ${plural(fault.builds, "build")}`,
      ]
      : [];
    const facts = [
      ..."failures" in test ? [historyOf(test), ...lastRunOf(test)] : [],
      ...proof
        ? [
          `${plural(proof.passes, "pass", "passes")} since, ${
            formatCount(proof.passes_needed)
          } needed`,
        ]
        : [],
      ..."was_calm" in test
        ? [
          `last run ${localDate(test.last_run_at, zone)}, ${
            test.was_calm ? "calm" : "not calm"
          } then`,
        ]
        : [],
      ...cost ? [costOf(cost)] : [],
      ...together,
      ...entry ? [sayBegin(entry)] : [],
      ...end ? [`quarantine ends ${localDate(end.at, zone)}${limitOf(end)}`] : [],
      ...release ? [`may be released${limitOf(release)}`] : [],
    ];
    return `${name} in ${code(test.repository)}${facts.length > 0 ? `: ${facts.join("; ")}` : ""}`;
  };

  function historyOf({ failures, runs, since, failing_runs: failingRuns }: DigestState): string {
    const failed = sayFailing({ failingRuns }) || `failed in ${failures} of ${plural(runs, "run")}`;
    if (since === null) return failed;
    const [from, to] = [localDate(since.from, zone), localDate(since.to, zone)];
    return `${failed} since ${from === to ? from : `${from} to ${to}`}`;
  }

  /** Of a test that did not run in the period, or not at last. */
  function lastRunOf(
    { last_run_at, has_stopped = false }: DigestState & Partial<DigestBroken>,
  ): string[] {
    const lastRun = `last run ${localDate(last_run_at, zone)}`;
    if (has_stopped) return [`stopped running, ${lastRun}`];
    return last_run_at < periodStart ? [lastRun] : [];
  }

  function limitOf({ environment }: DigestEntry): string {
    const limit = sayLimit(environment, (text) => code(cut(text)));
    return limit && ` (${limit})`;
  }

  function sayBegin(entry: DigestBegin): string {
    const { reason, owner, ended_at: end } = entry;
    const said = end === null ? "quarantined" : `was quarantined until ${localDate(end, zone)}`;
    return said + limitOf(entry) + (reason ? `: ${code(cut(reason))}` : "") +
      (owner ? `, ${code(owner)}` : "");
  }
}

function costOf({ builds, disruptions_in_period: failures }: DisruptedTest): string {
  return `${plural(builds, "build")}, ${plural(failures, "flaky failure")}`;
}

function cut(text: string): string {
  return cutText(text, NAME_CHARACTERS);
}
