/** Markdown of this project's documentation as markup. What it has of HTML is shown as text. */
import { Lexer, type Token, type Tokens } from "marked";
import { type Content, type Markup, markup } from "../../lib/html/markup.ts";
import { verbatim } from "../../lib/html/elements.ts";

/** The link of an address in the Markdown; `null` leaves only its text. */
export type ResolveLink = (address: string) => Markup | null;

/** A document: its title, which is its first heading, and everything else. */
interface RenderedMarkdown {
  title: string;
  content: Markup;
}

/** Renders a document. Pictures are left out; headings can be linked to, as on forges. */
export function renderMarkdown(text: string, resolveLink: ResolveLink): RenderedMarkdown {
  const tokens = Lexer.lex(text);
  const [first] = tokens;
  const title = first?.type === "heading" ? first["text"] as string : "";
  const body = title ? tokens.slice(1) : tokens;
  return { title, content: markup`${blocks(body, resolveLink)}` };
}

/** The id of a heading, as forges make it. */
function slugOf(heading: string): string {
  return heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").trim().replaceAll(/\s/g, "-");
}

function blocks(tokens: readonly Token[], resolveLink: ResolveLink): Content[] {
  return tokens.map((token) => block(token, resolveLink));
}

// Sound: the type of a token names its interface.
function block(token: Token, resolveLink: ResolveLink): Content {
  switch (token.type) {
    case "heading":
      return heading(token as Tokens.Heading, resolveLink);
    case "paragraph": {
      const content = inline((token as Tokens.Paragraph).tokens, resolveLink);
      return markup`<p>${content}</p>\n`;
    }
    case "code":
      return verbatim((token as Tokens.Code).text);
    case "list":
      return list(token as Tokens.List, resolveLink);
    case "table":
      return tableOf(token as Tokens.Table, resolveLink);
    case "blockquote":
      return markup`<blockquote>${
        (token as Tokens.Blockquote).tokens.map((token) => quoted(token, resolveLink))
      }</blockquote>`;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inline(tokens, resolveLink) : text;
    }
    case "space":
    case "def":
      return null;
    default:
      return token.raw;
  }
}

/** A block of a quotation, whose headings are not headings of the page. */
function quoted(token: Token, resolveLink: ResolveLink): Content {
  if (token.type !== "heading") return block(token, resolveLink);
  return markup`<p><b>${inline((token as Tokens.Heading).tokens, resolveLink)}</b></p>\n`;
}

function heading({ depth, text, tokens }: Tokens.Heading, resolveLink: ResolveLink): Markup {
  const id = slugOf(text.replaceAll(/[`*]/g, ""));
  const content = inline(tokens, resolveLink);
  if (depth <= 2) return markup`<h2 id="${id}">${content}</h2>\n`;
  return markup`<h3 id="${id}">${content}</h3>\n`;
}

function list({ ordered, items }: Tokens.List, resolveLink: ResolveLink): Markup {
  const rows = items.map(({ tokens }) => markup`<li>${blocks(tokens, resolveLink)}</li>\n`);
  return ordered ? markup`<ol>${rows}</ol>` : markup`<ul>${rows}</ul>`;
}

function tableOf({ header, rows }: Tokens.Table, resolveLink: ResolveLink): Markup {
  const cells = (row: readonly Tokens.TableCell[]) =>
    row.map(({ tokens }) => markup`<td>${inline(tokens, resolveLink)}</td>`);
  const names = header.map(({ tokens }) =>
    markup`<th scope="col">${inline(tokens, resolveLink)}</th>`
  );
  const caption = header.map(({ text }) => text).filter((text) => text !== "").join(", ");
  // Not a landmark: several tables may have the same head.
  return markup`<div class="scroll" tabindex="0" role="group" aria-label="${caption}"><table>
<thead><tr>${names}</tr></thead>
<tbody>${rows.map((row) => markup`<tr>${cells(row)}</tr>\n`)}</tbody></table></div>`;
}

function inline(tokens: readonly Token[], resolveLink: ResolveLink): Content[] {
  return tokens.map((token) => {
    switch (token.type) {
      case "strong":
        return markup`<b>${inline((token as Tokens.Strong).tokens, resolveLink)}</b>`;
      case "em":
        return markup`<em>${inline((token as Tokens.Em).tokens, resolveLink)}</em>`;
      case "codespan":
        return markup`<code>${(token as Tokens.Codespan).text}</code>`;
      case "link": {
        const { href, tokens } = token as Tokens.Link;
        const address = resolveLink(href);
        const text = inline(tokens, resolveLink);
        return address ? markup`<a href="${address}">${text}</a>` : text;
      }
      case "br":
        return markup`<br>`;
      case "image":
        return null;
      case "text": {
        const { tokens, text } = token as Tokens.Text;
        return tokens ? inline(tokens, resolveLink) : text;
      }
      case "escape":
        return (token as Tokens.Escape).text;
      default:
        return token.raw;
    }
  });
}
