/** A digest as text for people. */
import { markdownCode } from "../base/markdown.ts";
import { testName } from "../gate/summary.ts";
import type { Digest, DigestEntry, DigestGroup, DisruptedTest } from "./digest.ts";

/** Tests that a section names at most. */
const MAX_NAMED = 10;

/** How a chat or page wants its text. */
interface Style {
  heading(level: 1 | 2 | 3, text: string): string;
  /** A text from outside, in which nothing is markup. */
  code(text: string): string;
  bullet: string;
}

const MARKDOWN: Style = {
  heading: (level, text) => `\n${"#".repeat(level)} ${text}\n`,
  code: markdownCode,
  bullet: "- ",
};

/** What Slack calls mrkdwn. */
const SLACK: Style = {
  heading: (_level, text) => `\n*${text}*`,
  code: (text) =>
    `\`${
      text.replaceAll(/\s+|\p{Cc}/gu, " ").replaceAll("`", "'").replaceAll("&", "&amp;")
        .replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    }\``,
  bullet: "• ",
};

/** The digest as Markdown. */
export function digestMarkdown(digest: Digest): string {
  return textOf(digest, MARKDOWN);
}

/** The digest as the body of a request to a webhook of Slack. */
export function digestSlack(digest: Digest): string {
  return JSON.stringify({ text: textOf(digest, SLACK).trim() });
}

function textOf(digest: Digest, style: Style) {
  const { organization, since, until, repositories, groups } = digest;
  const { heading, code, bullet } = style;
  const days = `${since.slice(0, 10)} to ${until.slice(0, 10)}`;
  const lines = [heading(1, `Flaky tests of ${code(organization)}, ${days}`)];
  for (const { repository, flakiness, flakiness_before, builds } of repositories) {
    lines.push(
      `${bullet}${code(repository)}: ` +
        `${flakiness === null ? "no builds" : `${flakiness} of ${builds} builds were flaky`}, ` +
        `${flakiness_before ?? "no builds"} before`,
    );
  }
  if (repositories.length === 0) lines.push("No builds.");
  const changes = groups.flatMap((group) => linesOf(group, style, digest.group_by !== null));
  lines.push(...changes.length > 0 ? changes : ["\nNothing changed."]);
  return `${lines.join("\n").replaceAll(/\n{3,}/g, "\n\n").trim()}\n`;
}

function linesOf(group: DigestGroup, style: Style, isGrouped: boolean): string[] {
  const { heading, code, bullet } = style;
  const level = isGrouped ? 3 : 2;
  const sections: [title: string, lines: string[]][] = [
    ["Became flaky", group.became_flaky.map((test) => nameOf(test) + costOf(test))],
    ["Calmed down", group.calmed_down.map(nameOf)],
    ["Cost most builds", group.cost_most_builds.map((test) => nameOf(test) + costOf(test))],
    ["Quarantine began", group.quarantine_began.map((entry) => nameOf(entry) + beginOf(entry))],
    ["Quarantine ends", group.quarantine_ends.map((entry) => `${nameOf(entry)}: ${dayOf(entry)}`)],
    ["May be released", group.quarantine_may_be_released.map((entry) => nameOf(entry))],
  ];
  const shown = sections.filter(([, lines]) => lines.length > 0).flatMap(([title, lines]) => [
    heading(level, `${title} (${lines.length})`),
    ...lines.slice(0, MAX_NAMED).map((line) => bullet + line),
    ...lines.length > MAX_NAMED ? [`${bullet}and ${lines.length - MAX_NAMED} more`] : [],
  ]);
  if (!isGrouped) return shown;
  return [heading(2, group.owner === null ? "No owner" : code(group.owner)), ...shown];

  function nameOf(test: DisruptedTest | DigestEntry): string {
    return `${code(testName(test))} in ${code(test.repository)}`;
  }

  function beginOf({ reason, owner }: DigestEntry): string {
    return (reason ? `: ${code(reason)}` : "") + (owner ? `, ${code(owner)}` : "");
  }
}

function dayOf({ at }: DigestEntry): string {
  return at.slice(0, 10);
}

function costOf({ builds, disruptions }: DisruptedTest): string {
  return `: ${counted(builds, "build")}, ${counted(disruptions, "disruption")}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
