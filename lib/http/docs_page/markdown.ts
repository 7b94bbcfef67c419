import { escapeHtml } from "../../html/escape.ts";

/**
 * Renders the Markdown that descriptions use as HTML: paragraphs, `### headings`, `- lists`, tables,
 * fenced code without blank lines, code spans and `**bold**`. Everything else is plain text.
 */
export function markdown(text: string): string {
  return text.trim().split(/\n{2,}/).filter(Boolean).map(block).join("\n");
}

function block(text: string): string {
  if (text.startsWith("### ")) return `<h3>${inline(text.slice(4))}</h3>`;
  if (text.startsWith("| ")) return table(text);
  if (text.startsWith("```")) return `<pre>${escapeHtml(text.replaceAll(/^```.*\n?/gm, ""))}</pre>`;
  if (!text.startsWith("- ")) return `<p>${inline(text)}</p>`;
  const items = text.slice(2).split(/\n- /).map((item) => `<li>${inline(item)}</li>`);
  return `<ul>${items.join("")}</ul>`;
}

/** No cell contains a vertical bar. */
function table(text: string): string {
  const [head = "", _rule, ...body] = text.split("\n");
  return `<table>${row(head, "th")}${body.map((line) => row(line, "td")).join("")}</table>`;
}

function row(line: string, tag: string): string {
  const cells = line.slice(2, -2).split(" | ").map((cell) => inline(cell.trim()));
  return `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;
}

function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>")
    .replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>");
}
