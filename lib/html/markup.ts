/** HTML and SVG from templates, in which everything that is interpolated is escaped. */
import { escapeHtml } from "./escape.ts";

/** HTML or SVG that was made by {@linkcode markup} or {@linkcode builtMarkup}; nothing else creates it. */
export class Markup {
  readonly #text: string;

  constructor(parts: readonly string[], values: readonly Content[]) {
    let text = parts[0]!;
    for (let index = 0; index < values.length; index++) {
      text += textOf(values[index]) + parts[index + 1]!;
    }
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** Values of a template; `null`, `undefined` and `false` render nothing. */
export type Content = Markup | string | number | null | undefined | false | readonly Content[];

/**
 * The tag of templates. Attributes have double quotes, and addresses are made by
 * {@linkcode pathTo} or {@linkcode externalAddress}.
 */
export function markup(parts: TemplateStringsArray, ...values: Content[]): Markup {
  return new Markup(parts, values);
}

/** Markup that {@linkcode markup} wrote to a file of this project, or whose texts are escaped one by one. */
export function builtMarkup(html: string): Markup {
  return new Markup([html], []);
}

function textOf(value: Content): string {
  if (value instanceof Markup) return value.toString();
  if (typeof value === "string") return escapeHtml(value);
  if (typeof value === "number") return String(value);
  return value ? value.map(textOf).join("") : "";
}

/** The address of a page of this service, relative to the current one. */
export type PathTo = (segments: readonly string[], query?: Record<string, string>) => Markup;

/**
 * @param root leads from the current page to the root of the service, such as `../../`
 * @param kept parameters that every address has, unless it sets them
 */
export function pathsFrom(root: string, kept: Readonly<Record<string, string>> = {}): PathTo {
  return (segments, query = {}) => {
    const path = root + segments.map(encodeURIComponent).join("/");
    const parameters = String(new URLSearchParams({ ...kept, ...query }));
    return markup`${parameters ? `${path}?${parameters}` : path}`;
  };
}

/** An address of this service outside of HTML, as in a redirect. */
export function plainAddress(address: Markup): string {
  // Addresses are encoded: nothing else in them is escaped.
  return String(address).replaceAll("&amp;", "&");
}

/** The address of another site; `null` unless it is http or https. */
export function externalAddress(url: string): Markup | null {
  return /^https?:\/\//i.test(url) && URL.canParse(url) ? markup`${new URL(url).href}` : null;
}

/** A link to another site, or only the text when the address is none. */
export function externalLink(url: string, text: Content): Markup {
  const address = externalAddress(url);
  return address ? markup`<a href="${address}" rel="noreferrer">${text}</a>` : markup`${text}`;
}
