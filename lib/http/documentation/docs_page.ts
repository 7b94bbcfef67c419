// Tests: tests/tools/documentation/docs_page_test.ts
/** The documentation page of the API: one HTML document. It loads nothing else. */
import {
  documentHead,
  documentHeaders,
  hashSource,
  LOGO,
  mainNavigation,
  PRODUCT,
  STYLE,
} from "../../html/layout.ts";
import { pathsFrom } from "../../html/markup.ts";
import endpoints from "./generated/endpoints.html" with { type: "text" };
import script from "./script.js" with { type: "text" };
import ownStyle from "./style.css" with { type: "text" };

const style = STYLE + ownStyle;

/**
 * Creates the page, and the headers that allow its script and style.
 *
 * @param main HTML of its content; the committed file by default
 */
export function docsPage(
  main: string = endpoints,
): { body: string; headers: Readonly<Record<string, string>> } {
  const body = `${documentHead("Test Analytics Platform: API", style)}<header class="top">
${LOGO}
<span class="product">${PRODUCT}</span>
${mainNavigation({ pathTo: pathsFrom(""), path: "/docs" })}
<form class="token"><label for="token">API token</label>
<input id="token" type="password" autocomplete="off" spellcheck="false" placeholder="tk_..."></form>
</header>
<main id="main" tabindex="-1">
${main}</main>
<script>${script}</script>
</body>
</html>
`;
  return { body, headers: HEADERS };
}

/** Only this script and this style sheet take effect, and requests go to this service alone. */
const HEADERS = documentHeaders({
  style,
  policy: [
    `script-src ${hashSource(script)}`,
    "connect-src 'self'",
    // Badges that were requested are shown from a blob, the icon from a data URL.
    "img-src blob: data:",
    "form-action 'none'",
  ],
  referrer: "no-referrer",
});
