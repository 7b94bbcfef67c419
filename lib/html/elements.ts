// Tests: tests/lib/html/charts_test.ts tests/tools/documentation/markdown_test.ts
/** The parts that pages are made of. */
import type { TestIdentity } from "../base/identity.ts";
import { formatDay, formatTimestamp, SECONDS_PER_DAY } from "../base/time.ts";
import { formatOffset, localDay, localSeconds, type TimeZone, UTC } from "../base/time_zone.ts";
import { escapeHtml } from "./escape.ts";
import { builtMarkup, type Content, type Markup, markup } from "./markup.ts";

/** A column; the class `number` aligns right, `wide` hides it on a phone, `wider` on a tablet, too. */
interface Column {
  name: Content;
  className?: string;
  order?: "ascending" | "descending";
}

/**
 * A table that scrolls horizontally where it does not fit. The first cell of a row is its header. A text
 * is a column as `name` or `name|class`, such as `Builds|number`. A table of class `dense` has one line a
 * row on a wide screen.
 */
export function table(
  caption: string,
  head: readonly (string | Column)[],
  rows: readonly (readonly Content[])[],
  className = "",
): Markup {
  const columns: Column[] = head.map((column) => {
    if (typeof column !== "string") return column;
    const [name, className] = column.split("|");
    return { name, className };
  });
  const classes = columns.map(({ className }) => className && markup` class="${className}"`);
  const names = columns.map(({ name, order }, index) => {
    const sort = order && markup` aria-sort="${order}"`;
    return markup`<th scope="col"${classes[index]}${sort}>${name}</th>`;
  });
  const cells = ([first, ...others]: readonly Content[]) => [
    markup`<th scope="row"${classes[0]}>${first}</th>`,
    others.map((cell, index) => markup`<td${classes[index + 1]}>${cell}</td>`),
  ];
  return markup`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table${
    className && markup` class="${className}"`
  }>
<thead><tr>${names}</tr></thead>
<tbody>${rows.map((row) => markup`<tr>${cells(row)}</tr>\n`)}</tbody></table></div>`;
}

/** A key figure, with a detail in small letters, and whether it is left out on a phone. */
export type KeyFigure = readonly [name: string, value: Content, more?: Content, className?: "wide"];

/** Facts in lines of small letters. */
export function factLine(...list: readonly KeyFigure[]): Markup {
  const items = list.map(([name, value, more, className]) =>
    markup`<div${className && markup` class="${className}"`}><dt>${name}</dt><dd>${value}${
      more && markup` <small>${more}</small>`
    }</dd></div>`
  );
  return markup`<dl class="fact-line">${items}</dl>`;
}

/** The answer to the first question about a page, in the colour of what it says. */
export function band(
  tone: "failed" | "unclear" | "neutral" | "passed",
  answer: Content,
  ...more: readonly Content[]
): Markup {
  return markup`<div class="band ${tone}"><p>${answer}</p>${more}</div>`;
}

/** A summary that expands to a content and a stack trace. */
export function stackTrace(
  summary: Content,
  { content, body, isOpen, className }: {
    content: Content;
    body: string | undefined;
    isOpen: boolean;
    className?: string;
  },
): Markup {
  return markup`<details${className && markup` class="${className}"`}${isOpen && markup` open`}>
<summary>${summary}</summary>
${content}${body ? verbatim(body) : markup`<p>The report has no stack trace.</p>`}
</details>`;
}

/** Text in place of an empty section. */
export function emptyState(...content: Content[]): Markup {
  return markup`<div class="empty">${content}</div>`;
}

// White space, format characters, and letters that are drawn as nothing.
const BLANK = /^[\s\p{Cf}\u115f\u1160\u2800\u3164\uffa0]*$/u;

/** The name of a test, isolated from the direction of its surroundings. Long ones are cut by the style sheet. */
export function testName(name: string): Markup {
  return BLANK.test(name)
    ? markup`<bdi>(blank name)</bdi>`
    : markup`<bdi title="${name}">${breakable(name)}</bdi>`;
}

/**
 * A name in two parts, such as a branch and the rest of a build's name. Where the line of a `dense` table
 * is too short, the style sheet cuts the first part: the second distinguishes the rows.
 */
export function nameInParts(first: string, rest: string, title: string = first + rest): Markup {
  return markup`<span class="parts" title="${title}"><bdi>${breakable(first)}</bdi><span>${
    breakable(rest)
  }</span></span>`;
}

/** As {@linkcode nameInParts}, of a path: its last part is not cut. */
export function pathInParts(path: string): Markup {
  const end = path.lastIndexOf("/");
  return end < 0 ? nameInParts(path, "") : nameInParts(path.slice(0, end), path.slice(end));
}

/** Longer words than this may break anywhere. */
const WORD_CHARACTERS = 24;
const CHUNKS = new RegExp(`.{1,${WORD_CHARACTERS}}`, "gsu");
// After a separator, and between the words of a name in camel case; not before a file's extension.
const BETWEEN_WORDS = /(?<=[/._:\\?&=,;@()[\]-])(?=[\p{L}\p{N}])(?!.{1,4}$)|(?<=\p{Ll})(?=\p{Lu})/u;

/** A name, path or address that may break between its words, and not inside of them. */
export function breakable(text: string): Markup {
  // Most have nothing to escape.
  const escape = escapeHtml(text) === text ? (part: string) => part : escapeHtml;
  const words = text.split(/(?<=\s)(?=\S)/).map((word) =>
    word.length <= WORD_CHARACTERS && !BETWEEN_WORDS.test(word)
      ? escape(word)
      : word.split(BETWEEN_WORDS).flatMap((part) =>
        part.length <= WORD_CHARACTERS ? part : part.match(CHUNKS) ?? []
      ).map(escape).join("<wbr>")
  );
  return builtMarkup(words.join(""));
}

/**
 * Suite, class and file, which distinguish tests of the same name. What one of them says already is left
 * out: `tests.test_cart` next to `tests/test_cart.py`.
 */
export function testPlace({ suite, class: className, file }: Omit<TestIdentity, "name">): string {
  const filePath = normalized(file.replace(/\.\w{1,6}$/, ""));
  const classPath = normalized(className);
  const isInFile = filePath !== "" && classPath.startsWith(`${filePath}.`) &&
    classPath.length === className.length;
  const shown = [file];
  const said = [filePath, normalized(file)];
  for (const text of [isInFile ? className.slice(filePath.length + 1) : className, suite]) {
    if (said.some((path) => `.${path}`.endsWith(`.${normalized(text)}`))) continue;
    shown.push(text);
    said.push(normalized(text), ...text === suite ? [] : [classPath]);
  }
  return shown.filter((text) => text !== "").reverse().join(" · ");
}

/** `src/test/Cart` as `src.test.cart`. */
function normalized(path: string): string {
  return path.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, ".").replace(/^\./, "");
}

/** Content that stays on one line, such as a shape and the word after it. */
export function together(...content: Content[]): Markup {
  return markup`<span class="together">${content}</span>`;
}

/** A word that stands out, such as a tag of a test. */
export function label(text: Content): Markup {
  return markup`<span class="tag">${text}</span>`;
}

/** A command line to copy, or other text that keeps its lines. */
export function verbatim(text: string): Markup {
  return markup`<pre tabindex="0">${text}</pre>`;
}

/** Formats days since 1970: `2026-11-22`. */
export function isoDay(day: number): string {
  return formatTimestamp(day * SECONDS_PER_DAY).slice(0, 10);
}

/**
 * `today 09:14`, `yesterday 16:20`, `8 Nov 11:00` or, long ago, `8 Nov 2025`, in a time zone.
 *
 * @param options.now the time of the page, in seconds since 1970
 */
export function formatTime(
  seconds: number,
  { now, zone }: { now: number; zone: TimeZone },
): Markup {
  const local = formatTimestamp(localSeconds(seconds, zone));
  const [day, today] = [localDay(seconds, zone), localDay(now, zone)];
  const name = day === today ? "today" : day === today - 1 ? "yesterday" : formatDay(day);
  const detail = Math.abs(today - day) > 300 ? local.slice(0, 4) : local.slice(11, 16);
  const place = zone === UTC ? "" : ` (${zone.name})`;
  const title = `${local.slice(0, 10)} ${local.slice(11, 19)} ${
    formatOffset(seconds, zone)
  }${place}`;
  return markup`<time datetime="${
    formatTimestamp(seconds)
  }" title="${title}">${name} ${detail}</time>`;
}
