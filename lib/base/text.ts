/** Texts that reports, commands and pages share. */
import type { TestIdentity } from "./identity.ts";

/** `1,284`. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 test`, `1,284 tests`; `several`: the noun of other counts where an `s` does not make it. */
export function plural(count: number, noun: string, several = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : several}`;
}

/** A duration in microseconds for people, in its two largest units: `6 m 10 s`, `1.4 s`, `30 ms`. */
export function formatDuration(microseconds: number): string {
  const milliseconds = Math.round(microseconds / 1000);
  if (milliseconds < 1000) return `${milliseconds} ms`;
  if (milliseconds < 9_950) return `${Math.round(milliseconds / 100) / 10} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return twoUnits(Math.floor(seconds / 60), "m", seconds % 60, "s");
  const minutes = Math.round(seconds / 60);
  return twoUnits(Math.floor(minutes / 60), "h", minutes % 60, "m");
}

function twoUnits(large: number, unit: string, small: number, smallUnit: string): string {
  const rest = small === 0 ? "" : ` ${small} ${smallUnit}`;
  return `${formatCount(large)} ${unit}${rest}`;
}

/** Suite, class and name of a test, and its file: `shop > CartTest > adds (cart_test.ts)`. */
export function fullTestName(test: TestIdentity): string {
  const { name, file } = test;
  return file === "" || file === name ? testPath(test) : `${testPath(test)} (${file})`;
}

/** Suite, class and name of a test: `shop > CartTest > adds`. Many reporters repeat one, or the file. */
export function testPath({ suite, class: className, name, file }: TestIdentity): string {
  const groups = [suite, className].filter((part, index, all) =>
    part !== "" && part !== name && part !== all[index - 1] && !`/${file}`.endsWith(`/${part}`)
  );
  return [...groups, name].join(" > ");
}

/** The first characters of a text, with dots if it was longer. */
export function cutText(text: string, limit: number): string {
  const characters = [...text];
  return characters.length <= limit ? text : `${characters.slice(0, limit).join("")}...`;
}

/** An untrusted text as inline code of Markdown. In a table, `|` has to be escaped as well. */
export function markdownCode(text: string): string {
  const line = showDirections(text.replaceAll(/\s+|\p{Cc}/gu, " "));
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return longest === 0 ? `${fence}${line}${fence}` : `${fence} ${line} ${fence}`;
}

/** A link of Markdown, or the label alone unless the address is http or https. */
export function markdownLink(label: string, address: string): string {
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol)) return label;
  const target = url.href.replaceAll(
    /[|()<>\\`*_]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `[${label}](${target})`;
}

/** Untrusted text as code in Slack's mrkdwn: no mention, link or second line comes out of it. */
export function slackCode(text: string): string {
  const line = showDirections(text.replaceAll(/\s+|\p{Cc}/gu, " "));
  return `\`${
    line.replaceAll("`", "'").replaceAll("&", "&amp;").replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
  }\``;
}

/** A link in Slack's mrkdwn. @param label our own words */
export function slackLink(address: string, label: string): string {
  return `<${address.replaceAll(/[<>|]/g, encodeURIComponent)}|${label}>`;
}

/** Compares by UTF-16 code units, for `sort`. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Copies a string. The reader of XML hands out slices of chunks, which they would keep alive. */
export function detach(text: string): string {
  return ` ${text}`.slice(1);
}

const DIRECTIONS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Shows characters that reverse the direction of a text as their code points: `[U+202E]`. */
export function showDirections(text: string): string {
  return text.replace(DIRECTIONS, showCodePoint);
}

/** A character as its code point: `[U+202E]`. */
export function showCodePoint(character: string): string {
  return `[U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`;
}

/**
 * The text with control characters replaced by spaces, and those that reverse its direction by their
 * code points: safe for terminals and logs.
 */
export function oneLine(text: string): string {
  return showDirections(text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, " "));
}
