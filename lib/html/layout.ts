/** The frame of every page: head, navigation, footer, and response headers. */
import { createHash } from "node:crypto";
import { type Content, type Markup, markup, type PathTo } from "./markup.ts";
import style from "./style.css" with { type: "text" };

/** The name of the service on its pages. */
const PRODUCT = "test-analytics";

/** The style sheet that all pages share. */
export const STYLE: string = style;

/** The icon of the service, 32 by 32. */
export const LOGO =
  markup`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#0f766e"/><path d="M5 17h5l3-8 5 15 4-11 2 4h3" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/></svg>`;

/** `link` of the icon, which is in the page. */
export const ICON = `<link rel="icon" href="data:image/svg+xml,${
  encodeURIComponent(String(LOGO))
}">`;

/** A link of the breadcrumbs. */
export interface Crumb {
  text: string;
  address: Markup;
}

/** The content of a page. */
export interface Page {
  /** Plain text. */
  title: string;
  /** From the list of repositories down to the page above. */
  crumbs?: readonly Crumb[];
  content: Content;
}

// An element that the template language would escape: the style sheet is ours.
const HEAD = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${ICON}
<style>${STYLE}</style>
`;

/** The HTML document of a page. Without `pathTo`, which only signed-in readers need, it has no links. */
export function layout({ title, crumbs = [], content }: Page, pathTo: PathTo | null): string {
  const navigation = pathTo &&
    markup`<nav aria-label="Main"><a href="${pathTo(["repos"])}">Repositories</a>
<a href="${pathTo(["flaky-tests"], { quarantine: "false" })}">Flaky tests</a>
<a href="${pathTo(["docs"])}">API</a></nav>`;
  const trail = crumbs.length > 0 &&
    markup`<nav class="crumbs" aria-label="Breadcrumbs"><ol>${
      crumbs.map(({ text, address }) => markup`<li><a href="${address}">${text}</a></li>`)
    }</ol></nav>`;
  return HEAD + markup`<title>${title} · ${PRODUCT}</title>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">${LOGO}<span class="product">${PRODUCT}</span>${navigation}</header>
<main id="main" tabindex="-1">
${trail}
${content}
</main>
<footer><p><b>Flaky</b> is a failure of a test that also passed on the same code. Figures cover the
last 14 days unless they say otherwise; times are UTC.</p></footer>
</body>
</html>
`;
}

/** Content-Security-Policy: a page may only be shown and send its forms to this service. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
  "referrer-policy": "same-origin",
  "x-frame-options": "DENY",
};
