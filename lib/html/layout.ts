// Tests: tests/tools/documentation/docs_page_test.ts tests/lib/http/sign_in/sign_in_test.ts
/** The frame of every page: head, navigation, footer, and response headers. */
import { createHash } from "node:crypto";
import { type TimeZone, UTC } from "../base/time_zone.ts";
import { escapeHtml } from "./escape.ts";
import { hiddenFields, textField } from "./forms.ts";
import { type Content, type Markup, markup, type PathTo } from "./markup.ts";
import style from "./style.css" with { type: "text" };

/** The name of the service on its pages. */
export const PRODUCT = "test-analytics";

export const STYLE: string = style;

/** The icon of the service, 32 by 32. */
export const LOGO =
  markup`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#0f766e"/><path d="M5 17h5l3-8 5 15 4-11 2 4h3" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/></svg>`;

const ICON = `data:image/svg+xml,${encodeURIComponent(String(LOGO))}`;

export interface Page {
  /** Plain text. */
  title: string;
  /** Links from the list of repositories down to the page above. */
  crumbs?: readonly Markup[];
  content: Content;
}

/** The beginning of an HTML document up to its first element, a link to `main`. */
export function documentHead(title: string, style = STYLE): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${ICON}">
<style>${style}</style>
<title>${escapeHtml(title)}</title>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
`;
}

/** What the frame of a page for signed-in readers depends on. */
interface Frame {
  pathTo: PathTo;
  /** The path of the page as it is declared: `/repos/:owner/:name`; `""` on pages for errors other than wrong parameters. */
  path: string;
  /** The parameters of the page, as they were sent. */
  parameters: Readonly<Record<string, string>>;
  zone: TimeZone;
  /** Whether the reader can sign out. */
  hasSession?: boolean;
  /** Whether the reader may act, and has tokens of their own. */
  isEditor?: boolean;
  /** What is wrong with the parameter `tz`. */
  zoneErrors?: readonly string[] | undefined;
}

/** The parameter that all links and forms of a page keep: the time zone, if it was given. */
export function keptParameters(
  { tz }: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return tz === undefined ? {} : { tz };
}

/** The HTML document of a page. Without a frame, which only signed-in readers need, it has no links. */
export function layout({ title, crumbs = [], content }: Page, frame: Frame | null): string {
  const navigation = frame && mainNavigation(frame);
  const trail = crumbs.length > 0 &&
    markup`<nav class="crumbs" aria-label="Breadcrumbs"><ol>${
      crumbs.map((crumb) => markup`<li>${crumb}</li>`)
    }</ol></nav>`;
  return documentHead(`${title} · ${PRODUCT}`) +
    markup`<header class="top">${LOGO}<span class="product">${PRODUCT}</span>${navigation}${
      frame && searchForm(frame)
    }${frame?.hasSession && signOutForm(frame)}</header>
<main id="main" tabindex="-1">
${trail}
${content}
</main>
<footer><p>A test is <b>flaky</b> if it both failed and passed on the same code. Figures cover the
last 14 days unless they say otherwise; ${
      !frame || frame.zone === UTC
        ? "times are UTC"
        : `times are in ${frame.zone.name}, days of charts and filters in UTC`
    }.</p>${frame && zoneForm(frame)}</footer>
</body>
</html>
`;
}

function signOutForm({ pathTo, isEditor }: Frame): Markup {
  const tokens = isEditor && markup`<a href="${pathTo(["tokens"])}">Your tokens</a> `;
  return markup`<form class="session" method="post" action="${
    pathTo(["sign-out"])
  }">${tokens}<button>Sign out</button></form>`;
}

/** The one field that finds everything. */
function searchForm({ pathTo, parameters }: Frame): Markup {
  return markup`<form class="search" action="${pathTo(["search"])}">${
    hiddenFields(keptParameters(parameters))
  }<label class="hidden" for="find">Find</label><input id="find" type="search" name="q" placeholder="commit, #pull request, test, repository" autocomplete="off" spellcheck="false"></form>`;
}

/** The links of the main navigation, with the path of their pages. */
const SECTIONS:
  readonly (readonly [text: string, path: readonly string[], query?: { quarantine: string }])[] = [
    ["Repositories", ["repos"]],
    ["Flaky tests", ["flaky-tests"], { quarantine: "false" }],
    ["Tests", ["tests"]],
    ["Owners", ["owners"]],
    ["Guides", ["docs", "guides"]],
    ["API", ["docs"]],
  ];

/** The links to the main pages, with the one that is shown. */
export function mainNavigation({ pathTo, path }: Pick<Frame, "pathTo" | "path">): Markup {
  const isBelow = (start: readonly string[]) => `${path}/`.startsWith(`/${start.join("/")}/`);
  // The longest: the guides are below the documentation of the API.
  const current = SECTIONS.filter(([, start]) => isBelow(start))
    .toSorted(([, a], [, b]) => b.length - a.length)[0];
  const links = SECTIONS.map((section) => {
    const [text, start, query] = section;
    const mark = section === current && markup` aria-current="true"`;
    return markup`<a href="${pathTo(start, query)}"${mark}>${text}</a>\n`;
  });
  return markup`<nav aria-label="Main">${links}</nav>`;
}

/** Shows the same page in another time zone. */
function zoneForm({ parameters, zone, zoneErrors }: Frame): Markup {
  // The owner of a page is in its path.
  const { tz = zone.name, owner: _, ...others } = parameters;
  const field = textField({
    name: "tz",
    label: "Time zone",
    hint: "Europe/Berlin",
    value: tz,
    errors: zoneErrors,
  });
  return markup`<details${
    zoneErrors && markup` open`
  }><summary>Other time zone</summary><form class="zone">${
    hiddenFields(others)
  }${field}<button>Change</button></form></details>`;
}

/** Headers of a document that contains its style sheet. `policy` is added to what all may do. */
export function documentHeaders(
  { style, policy, referrer }: { style: string; policy: readonly string[]; referrer: string },
): Readonly<Record<string, string>> {
  return {
    "content-security-policy": [
      "default-src 'none'",
      `style-src ${hashSource(style)}`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
      ...policy,
    ].join("; "),
    "referrer-policy": referrer,
    "x-frame-options": "DENY",
  };
}

/** Allows a script or style sheet that a document contains. */
export function hashSource(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** Headers of a page, which may only be shown and send its forms to this service. */
export const PAGE_HEADERS = documentHeaders({
  style: STYLE,
  policy: ["img-src data:", "form-action 'self'"],
  referrer: "same-origin",
});
