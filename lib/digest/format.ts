// Tests: tests/lib/cli/commands/digest_test.ts tests/lib/digest/digest_test.ts
/** Formats a digest as text: what changed first, each test once, quiet repositories in one line. */
import { repositoryPage } from "../base/repository_name.ts";
import {
  cutText,
  formatDuration,
  fullTestName,
  markdownCode,
  markdownLink,
  plural,
  slackCode,
  slackLink,
} from "../base/text.ts";
import { localDate, type TimeZone, UTC } from "../base/time_zone.ts";
import type { Digest, DigestEntry, DigestGroup, DigestState, DisruptedTest } from "./digest.ts";

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
    ...changes.length > 0 ? changes : ["\nNothing changed."],
    heading(2, "Repositories"),
    ...repositoryLines(digest, syntax, pagesUrl),
  ];
  return `${lines.join("\n").replaceAll(/\n{3,}/g, "\n\n").trim()}\n`;
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
    : `${flakiness} of ${plural(builds, "build")} ${builds === 1 ? "was" : "were"} flaky`;
  const cost = flaky_seconds > 0
    ? `; flaky failures cost ${formatDuration(1_000_000 * flaky_seconds)} of tests`
    : "";
  const outage = outages > 0 ? `; ${plural(outages, "build")} in an outage` : "";
  const red = failed_without_test > 0
    ? `; ${plural(failed_without_test, "build")} ended red without a failed test`
    : "";
  return `${now}, ${flakiness_before ?? "no builds"} before${cost}${outage}${red}`;
}

function linesOf(
  group: DigestGroup,
  { heading, code, link, bullet }: Syntax,
  { pagesUrl, zone, isGrouped }: Frame & { isGrouped: boolean },
): string[] {
  const level = isGrouped ? 3 : 2;
  const began = new Map(group.quarantine_began.map((entry) => [entry.id, entry]));
  const ends = new Map(group.quarantine_ends.map((entry) => [entry.id, entry]));
  const released = new Set(group.quarantine_may_be_released.map(({ id }) => id));
  const costs = new Map(group.cost_most_builds.map((test) => [test.id, test]));
  const sections: [title: string, tests: readonly (DisruptedTest | DigestEntry | DigestState)[]][] =
    [
      ["Broken now", group.broken],
      ["Became flaky", group.became_flaky],
      ["Cost most builds", group.cost_most_builds],
      ["Fail now and then, not run again", group.flaky_without_reruns],
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
      heading(level, `${title} (${unseen.length})`),
      ...unseen.slice(0, MAX_NAMED).map((test) => bullet + lineOf(test)),
      ...more > 0 ? [`${bullet}and ${more} more`] : [],
    ];
  });
  if (!isGrouped) return shown;
  return [heading(2, group.owner === null ? "No owner" : code(group.owner)), ...shown];

  /** A test, with all that the digest says about it. */
  function lineOf(test: DisruptedTest | DigestEntry | DigestState): string {
    const { id } = test;
    const name = link(cut(fullTestName(test)), pagesUrl && `${pagesUrl}/tests/${id}`);
    const cost = costs.get(id) ?? ("builds" in test && test.disruptions > 0 ? test : undefined);
    const entry = began.get(id);
    const end = ends.get(id);
    const facts = [
      ..."failures" in test ? [historyOf(test)] : [],
      ...cost ? [costOf(cost)] : [],
      ...entry ? [`quarantined${beginOf(entry)}`] : [],
      ...end ? [`quarantine ends ${localDate(end.at, zone)}`] : [],
      ...released.has(id) ? ["may be released"] : [],
    ];
    return `${name} in ${code(test.repository)}${facts.length > 0 ? `: ${facts.join("; ")}` : ""}`;
  }

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
  return `${plural(builds, "build")}, ${plural(disruptions, "disruption")}`;
}

function cut(text: string): string {
  return cutText(text, NAME_CHARACTERS);
}
