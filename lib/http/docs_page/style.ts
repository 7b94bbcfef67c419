/**
 * How the page looks. The renderer takes its colours from custom properties; set from outside they
 * win over its own, so that dark and light need no script.
 */
export const DOCS_PAGE_STYLE = `
:root { color-scheme: light dark;
  --page: #ffffff; --panel: #f4f7f8; --panel-hover: #e6eef0; --line: #d8e0e4; --faint-line: #e7ecef;
  --text: #1d2a33; --soft-text: #4a5a66; --faint-text: #66757f; --accent: #0f766e;
  --accent-text: #ffffff; --code: #0b5d57; --string: #1a7f37; --property: #7c3aed; --number: #b35900;
  --good: #1a7f37; --bad: #c62828; --get: #0b6bcb; --good-back: #e8f5ec; --bad-back: #fdecec;
  --warn: #9a6700; --warn-back: #fff8e1 }
@media (prefers-color-scheme: dark) {
  :root { --page: #12181e; --panel: #0d1216; --panel-hover: #1b242c; --line: #31404b;
    --faint-line: #232e37; --text: #e2e8ed; --soft-text: #b9c5ce; --faint-text: #93a1ac;
    --accent: #4fd1c0; --accent-text: #06231f; --code: #7fe0d2; --string: #7ee2a0;
    --property: #c4b0ff; --number: #ffb86b; --good: #6fdd8b; --bad: #ff8a80; --get: #6cb8ff;
    --good-back: #15291d; --bad-back: #331a1b; --warn: #ffd166; --warn-back: #2e2712 }
}
html, body { height: 100% }
body { margin: 0; display: flex; flex-direction: column; background: var(--page);
  color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif }
header { display: flex; align-items: center; gap: 12px; padding: 10px 20px; flex: none;
  border-bottom: 1px solid var(--line) }
header svg { width: 28px; height: 28px; flex: none }
.product { font-size: 17px; font-weight: 600; flex: 1 }
header nav { display: flex; gap: 16px; white-space: nowrap }
header a { color: var(--accent); text-decoration: none }
header a:hover { text-decoration: underline }
noscript { padding: 20px }
openapi-explorer { flex: 1; min-height: 0;
  --font-regular: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  --font-mono: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
  --font-size-regular: 15px; --font-size-small: 14px; --font-size-mono: 13.5px;
  --border-radius: 4px; --bg: var(--page); --bg2: var(--panel); --bg3: var(--panel-hover);
  --light-bg: var(--panel-hover); --fg: var(--text); --fg2: var(--soft-text);
  --fg3: var(--soft-text); --light-fg: var(--faint-text); --border-color: var(--line);
  --light-border-color: var(--faint-line); --code-border-color: transparent;
  --input-bg: var(--page); --placeholder-color: var(--faint-text); --hover-color: var(--panel);
  --header-bg: var(--panel); --header-fg: var(--text); --nav-bg-color: var(--panel);
  --nav-text-color: var(--soft-text); --nav-hover-bg-color: var(--panel-hover);
  --nav-hover-text-color: var(--text); --nav-hover-scrollbar-color: var(--line);
  --primary-color: var(--accent); --secondary-color: var(--accent);
  --primary-btn-text-color: var(--accent-text); --code-fg: var(--text);
  --inline-code-fg: var(--code); --code-property-color: var(--property);
  --code-keyword-color: var(--get); --code-operator-color: var(--faint-text);
  --blue: var(--get); --green: var(--string); --red: var(--bad); --orange: var(--number);
  --yellow: var(--warn); --purple: var(--property); --gray: var(--faint-text);
  --light-green: var(--good-back); --light-red: var(--bad-back); --light-yellow: var(--warn-back);
  --light-blue: var(--panel); --light-orange: var(--warn-back); --light-gray: var(--panel);
  --light-purple: var(--panel) }
@media (max-width: 500px) {
  header { padding: 10px 16px; gap: 10px }
  .product { font-size: 15px }
  header nav { gap: 12px; font-size: 14px }
}
`;

/** Corrections inside the renderer's own tree, where the page's style does not reach. */
export const DOCS_PAGE_INNER_STYLE = `
.m-markdown h3 { font-size: 17px; font-weight: 600; margin: 1.6em 0 0.4em }
#api-title { font-weight: 600 }
.nav-bar-section { padding-left: 14px; letter-spacing: 0.04em; border-bottom-color: var(--line) }
.nav-bar-tag { color: var(--fg) }
api-request img { width: auto; height: 40px }
api-request .m-btn { width: auto !important }
.m-btn.primary:hover, .m-btn.primary:focus-visible { color: var(--primary-btn-text-color) }
`;
