import { DOCS_PAGE_INNER_STYLE } from "./style.ts";

/** What the page does by itself: it hands the contract to the renderer. Runs in browsers. */
export const DOCS_PAGE_SCRIPT = `
// One slash at the end of the path is tolerated, and relative addresses must not notice.
const base = new URL(location.pathname.endsWith("/") ? "../" : "./", location.href);
for (const link of document.querySelectorAll("a[href]")) {
  link.href = new URL(link.getAttribute("href"), base);
}
// The renderer shows answers with eight blanks a level, which leaves no room for what they say.
const stringify = JSON.stringify;
JSON.stringify = (value, replacer, space) => stringify(value, replacer, space === 8 ? 2 : space);
const explorer = document.querySelector("openapi-explorer");
const style = new CSSStyleSheet();
style.replaceSync(${JSON.stringify(DOCS_PAGE_INNER_STYLE)});
explorer.shadowRoot.adoptedStyleSheets.push(style);
const contract = JSON.parse(document.getElementById("contract").textContent);
contract.servers = [{ url: base.href }];
explorer.loadSpec(contract);
`;
