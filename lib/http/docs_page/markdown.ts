import { escapeHtml } from "../../html/escape.ts";

/**
 * Renders the Markdown that descriptions use as HTML: paragraphs, `### headings`, `- lists`, tables,
 * code spans and `**bold**`. Everything else is plain text.
 */
export function markdown(text: string): string {
  return text.trim().split(/\n{2,}/).filter(Boolean).map(block).join("\n");
}

function block(text: string): string {
  if (text.startsWith("### ")) return `<h3>${inline(text.slice(4))}</h3>`;
  if (text.startsWith("| ")) return table(text.split("\n"));
  if (!text.startsWith("- ")) return `<p>${inline(text)}</p>`;
  const items = text.slice(2).split(/\n- /).map((item) => `<li>${inline(item)}</li>`);
  return `<ul>${items.join("")}</ul>`;
}

/** No cell may contain a vertical bar. */
function table([head = "", _rule, ...rows]: string[]): string {
  const row = (line: string, tag: string) =>
    `<tr>${
      line.slice(2, -2).split(" | ").map((cell) => `<${tag}>${inline(cell.trim())}</${tag}>`).join(
        "",
      )
    }</tr>`;
  return `<table><thead>${row(head, "th")}</thead><tbody>${
    rows.map((line) => row(line, "td")).join("")
  }</tbody></table>`;
}

function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>")
    .replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>");
}
