import { escapeHtml } from "../../html/escape.ts";

/**
 * Renders the Markdown that descriptions use as HTML: paragraphs, `### headings`, `- lists` and
 * code spans. Everything else is plain text.
 */
export function markdown(text: string): string {
  return text.trim().split(/\n{2,}/).filter(Boolean).map(block).join("\n");
}

function block(text: string): string {
  if (text.startsWith("### ")) return `<h3>${inline(text.slice(4))}</h3>`;
  if (!text.startsWith("- ")) return `<p>${inline(text)}</p>`;
  const items = text.slice(2).split(/\n- /).map((item) => `<li>${inline(item)}</li>`);
  return `<ul>${items.join("")}</ul>`;
}

function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}
