/** Formats a digest as text. */
import { formatDuration, fullTestName, markdownCode, markdownLink, plural } from "../base/text.ts";
import type { Digest, DigestEntry, DigestGroup, DisruptedTest } from "./digest.ts";

/** Maximum number of tests in a section. */
const MAX_NAMED = 10;

/** A markup language. */
interface Syntax {
  heading(level: 1 | 2 | 3, text: string): string;
  /** Untrusted text, escaped. */
  code(text: string): string;
  /** A text of this language as a link. */
  link(text: string, address: string): string;
  bullet: string;
}

const MARKDOWN: Syntax = {
  heading: (level, text) => `\n${"#".repeat(level)} ${text}\n`,
  code: markdownCode,
  link: markdownLink,
  bullet: "- ",
};

/** Slack's mrkdwn. */
const SLACK: Syntax = {
  heading: (_level, text) => `\n*${text}*`,
  code: (text) =>
    `\`${
      text.replaceAll(/\s+|\p{Cc}/gu, " ").replaceAll("`", "'").replaceAll("&", "&amp;")
        .replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    }\``,
  // Code cannot be the text of a link.
  link: (text, address) => `${text} <${address.replaceAll(/[<>|]/g, encodeURIComponent)}|runs>`,
  bullet: "• ",
};

/** The digest as Markdown. `pagesUrl`: base URL of links to the pages of tests, none if `""`. */
export function digestMarkdown(digest: Digest, pagesUrl = ""): string {
  return textOf(digest, MARKDOWN, pagesUrl);
}

/** The digest as the request body for a Slack webhook; `pagesUrl` as for Markdown. */
export function digestSlack(digest: Digest, pagesUrl = ""): string {
  return JSON.stringify({ text: textOf(digest, SLACK, pagesUrl).trim() });
}

function textOf(digest: Digest, syntax: Syntax, pagesUrl: string) {
  const { organization, since, until, repositories, groups } = digest;
  const { heading, code, bullet } = syntax;
  const days = `${since.slice(0, 10)} to ${until.slice(0, 10)}`;
  const lines = [heading(1, `Flaky tests of ${code(organization)}, ${days}`)];
  for (const one of repositories) {
    const { repository, flakiness, flakiness_before, builds, outages, flaky_seconds } = one;
    const now = flakiness === null
      ? "no builds"
      : `${flakiness} of ${plural(builds, "build")} ${builds === 1 ? "was" : "were"} flaky`;
    const cost = flaky_seconds > 0
      ? `; flaky failures cost ${formatDuration(1_000_000 * flaky_seconds)} of tests`
      : "";
    lines.push(
      `${bullet}${code(repository)}: ${now}, ${flakiness_before ?? "no builds"} before${cost}`,
    );
    if (outages > 0) {
      lines.push(`${bullet}${code(repository)}: ${plural(outages, "build")} in an outage`);
    }
  }
  if (repositories.length === 0) lines.push("No builds.");
  const changes = groups.flatMap((group) =>
    linesOf(group, syntax, { isGrouped: digest.group_by !== null, pagesUrl })
  );
  lines.push(...changes.length > 0 ? changes : ["\nNothing changed."]);
  return `${lines.join("\n").replaceAll(/\n{3,}/g, "\n\n").trim()}\n`;
}

function linesOf(
  group: DigestGroup,
  { heading, code, link, bullet }: Syntax,
  { isGrouped, pagesUrl }: { isGrouped: boolean; pagesUrl: string },
): string[] {
  const level = isGrouped ? 3 : 2;
  const sections: [title: string, lines: string[]][] = [
    ["Became flaky", group.became_flaky.map((test) => nameOf(test) + costOf(test))],
    ["Calmed down", group.calmed_down.map(nameOf)],
    ["Cost most builds", group.cost_most_builds.map((test) => nameOf(test) + costOf(test))],
    ["Quarantine began", group.quarantine_began.map((entry) => nameOf(entry) + beginOf(entry))],
    [
      "Quarantine ends",
      group.quarantine_ends.map((entry) => `${nameOf(entry)}: ${entry.at.slice(0, 10)}`),
    ],
    ["May be released", group.quarantine_may_be_released.map(nameOf)],
  ];
  const shown = sections.filter(([, lines]) => lines.length > 0).flatMap(([title, lines]) => [
    heading(level, `${title} (${lines.length})`),
    ...lines.slice(0, MAX_NAMED).map((line) => bullet + line),
    ...lines.length > MAX_NAMED ? [`${bullet}and ${lines.length - MAX_NAMED} more`] : [],
  ]);
  if (!isGrouped) return shown;
  return [heading(2, group.owner === null ? "No owner" : code(group.owner)), ...shown];

  function nameOf(test: DisruptedTest | DigestEntry): string {
    const name = code(fullTestName(test));
    const linked = pagesUrl === "" ? name : link(name, `${pagesUrl}/tests/${test.id}`);
    return `${linked} in ${code(test.repository)}`;
  }

  function beginOf({ reason, owner }: DigestEntry): string {
    return (reason ? `: ${code(reason)}` : "") + (owner ? `, ${code(owner)}` : "");
  }
}

function costOf({ builds, disruptions }: DisruptedTest): string {
  return `: ${plural(builds, "build")}, ${plural(disruptions, "disruption")}`;
}
