// Tests: tests/lib/cli/commands/digest_test.ts tests/lib/digest/digest_test.ts
/** Formats a digest as text: what changed first, each test once, quiet repositories in one line. */
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
import { localDate, type TimeZone, UTC } from "../base/time_zone.ts";
import type {
  Digest,
  DigestBroken,
  DigestEntry,
  DigestGroup,
  DigestProof,
  DigestState,
  DigestStopped,
  DisruptedTest,
} from "./digest.ts";
import type { RedJobs } from "./red_jobs.ts";

/** Maximum number of tests in a section. */
const MAX_NAMED = 10;

/** Maximum number of repositories in the line of quiet ones. */
const MAX_QUIET = 20;

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

/** Where its links lead, and the time zone of its days. */
interface Frame {
  pagesUrl: string;
  zone: TimeZone;
}

function textOf(digest: Digest, syntax: Syntax, { pagesUrl, zone }: Frame): string {
  const { organization, since, until, groups } = digest;
  const { heading, code } = syntax;
  const place = zone === UTC ? "" : ` (${zone.name})`;
  const days = `${localDate(since, zone)} to ${localDate(until, zone)}${place}`;
  const changes = groups.flatMap((group) =>
    linesOf(group, syntax, { pagesUrl, zone, isGrouped: digest.group_by !== null })
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
    flaky_without_reruns: rare,
    builds,
  } = totals;
  const rarely = rare === 0
    ? ""
    : `, ${formatCount(rare)} ${rare === 1 ? "fails" : "fail"} now and then`;
  if (builds === 0) return [];
  const redCount = Object.values(red).reduce((sum, count) => sum + count, 0);
  const kinds = redCount === 0 ? "" : `: ${redKinds(red)}`;
  const cost = totals.flaky_seconds + totals.flaky_seconds_before === 0
    ? ""
    : ` Flaky failures cost ${formatDuration(1_000_000 * totals.flaky_seconds)} of tests, ${
      totals.flaky_seconds_before === 0
        ? "nothing"
        : formatDuration(1_000_000 * totals.flaky_seconds_before)
    } in the period before.`;
  const where = totals.repositories === 1
    ? ""
    : ` in ${plural(totals.repositories, "repository", "repositories")}`;
  const each = group_by === "owner" ? " A test with several owners is listed for each." : "";
  return [
    `\n${plural(redCount, "job")} ended red${where}${kinds}. ${plural(broken, "test")} ${
      broken === 1 ? "is" : "are"
    } broken, ${formatCount(flaky)} ${flaky === 1 ? "is" : "are"} flaky${rarely}.${cost}${each}`,
  ];
}

const RED_KINDS: Record<keyof RedJobs, string> = {
  failed: "with failures that are not flaky",
  flaky: "with flaky failures only",
  together: "with many failures on one branch alone",
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
  const quiet = repositories.filter(isQuiet).map(({ repository }) => code(repository));
  const named = quiet.slice(0, MAX_QUIET).join(", ");
  const more = quiet.length > MAX_QUIET ? `, and ${quiet.length - MAX_QUIET} more` : "";
  return [
    ...repositories.filter((one) => !isQuiet(one)).map((one) => {
      const page = pagesUrl && repositoryPage(pagesUrl, one.repository);
      return `${bullet}${link(one.repository, page)}: ${repositoryText(one)}`;
    }),
    ...quiet.length > 0 ? [`${bullet}No flaky builds: ${named}${more}`] : [],
  ];
}

/** Whether a repository had neither flaky builds nor unusual ones, now and before. */
function isQuiet({ flakiness, flakiness_before, builds, ...counts }: Repository): boolean {
  if (flakiness === null && builds > 0) return false;
  return [flakiness, flakiness_before].every((one) => one === null || one === "0%") &&
    counts.outages + counts.failed_without_test === 0;
}

function repositoryText(
  { flakiness, flakiness_before, builds, outages, failed_without_test, flaky_seconds }: Repository,
): string {
  const now = flakiness === null
    ? builds === 0 ? "no builds" : `nothing of ${plural(builds, "build")} was run twice`
    : `${shownPercentage({ percentage: flakiness })} of ${plural(builds, "build")} ${
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
  { pagesUrl, zone, isGrouped }: Frame & { isGrouped: boolean },
): string[] {
  const level = isGrouped ? 3 : 2;
  const lineOf = testLines(group, { code, link }, { pagesUrl, zone });
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
  { pagesUrl, zone }: Frame,
): (test: ListedTest) => string {
  const began = new Map(group.quarantine_began.map((entry) => [entry.id, entry]));
  const ends = new Map(group.quarantine_ends.map((entry) => [entry.id, entry]));
  const proofs = new Map(group.being_proved.map((proof) => [proof.id, proof]));
  const released = new Set(group.quarantine_may_be_released.map(({ id }) => id));
  const costs = new Map(group.cost_most_builds.map((test) => [test.id, test]));
  const faults = new Map(group.faults.map((fault) => [fault.tests[0]!, fault]));

  return (test) => {
    const { id } = test;
    const name = link(cut(fullTestName(test)), pagesUrl && `${pagesUrl}/tests/${id}`);
    const cost = costs.get(id) ?? ("builds" in test && test.disruptions > 0 ? test : undefined);
    const entry = began.get(id);
    const end = ends.get(id);
    const proof = proofs.get(id);
    const fault = faults.get(id);
    const together = fault && fault.tests.length > 1
      ? [
        `with ${plural(fault.tests.length - 1, "more test")} that ${
          fault.tests.length === 2 ? "fails" : "fail"
        } with it, ${plural(fault.builds, "build")}`,
      ]
      : [];
    const facts = [
      ..."failures" in test ? [historyOf(test)] : [],
      ..."has_stopped" in test && test.has_stopped
        ? [`stopped running, last run ${localDate(test.last_run_at, zone)}`]
        : [],
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
      ...entry ? [`quarantined${beginOf(entry)}`] : [],
      ...end ? [`quarantine ends ${localDate(end.at, zone)}`] : [],
      ...released.has(id) ? ["may be released"] : [],
    ];
    return `${name} in ${code(test.repository)}${facts.length > 0 ? `: ${facts.join("; ")}` : ""}`;
  };

  function historyOf({ failures, runs, since }: DigestState): string {
    const failed = `failed in ${failures} of ${plural(runs, "run")}`;
    if (since === null) return failed;
    const [from, to] = [localDate(since.from, zone), localDate(since.to, zone)];
    return `${failed} since ${from === to ? from : `${from} to ${to}`}`;
  }

  function beginOf({ reason, owner }: DigestEntry): string {
    return (reason ? `: ${code(cut(reason))}` : "") + (owner ? `, ${code(owner)}` : "");
  }
}

function costOf({ builds, disruptions }: DisruptedTest): string {
  return `${plural(builds, "build")}, ${plural(disruptions, "flaky failure")}`;
}

function cut(text: string): string {
  return cutText(text, NAME_CHARACTERS);
}
