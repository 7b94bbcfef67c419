/** The style sheet of the documentation page: light and dark, one column on narrow screens. */
export const DOCS_PAGE_STYLE = `
:root { color-scheme: light dark; --page: #fff; --panel: #f4f7f8; --line: #d8e0e4; --text: #1d2a33;
  --soft: #4a5a66; --accent: #0f766e; --on-accent: #fff; --good: #1a7f37; --bad: #c62828 }
@media (prefers-color-scheme: dark) {
  :root { --page: #12181e; --panel: #1b242c; --line: #31404b; --text: #e2e8ed; --soft: #b9c5ce;
    --accent: #4fd1c0; --on-accent: #06231f; --good: #6fdd8b; --bad: #ff8a80 }
}
* { box-sizing: border-box }
html { scroll-padding-top: 76px }
body { margin: 0; background: var(--page); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif }
header { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; align-items: center;
  gap: 8px 14px; padding: 10px 24px; background: var(--page); border-bottom: 1px solid var(--line) }
.product { font-size: 18px; font-weight: 600 }
header nav { display: flex; gap: 16px; flex: 1 }
.token { display: flex; align-items: center; gap: 8px; color: var(--soft); font-size: 15px }
.token input { width: 240px }
a { color: var(--accent); text-decoration: none }
a:hover { text-decoration: underline }
.columns { display: flex; gap: 40px; max-width: 1180px; margin: 0 auto; padding: 0 24px 64px }
.contents { flex: 0 0 230px; align-self: flex-start; position: sticky; top: 60px;
  max-height: calc(100vh - 60px); overflow-y: auto; padding: 20px 0; font-size: 15px }
.contents p { margin: 14px 0 2px; font-weight: 600 }
.contents ul { margin: 0; padding: 0; list-style: none }
.contents a { display: block; padding: 3px 0 }
main { flex: 1; min-width: 0 }
h1 { font-size: 28px; line-height: 1.25; margin: 34px 0 12px }
h2 { font-size: 21px; margin: 40px 0 8px }
h3 { font-size: 18px; margin: 24px 0 4px }
.endpoint h3 { margin: 0 }
p { margin: 8px 0 }
.endpoint { margin: 20px 0; padding: 20px 22px; border: 1px solid var(--line); border-radius: 8px }
.endpoint:target { border-color: var(--accent) }
.path { overflow-wrap: anywhere }
.path b { color: var(--accent) }
code, pre { font: 14px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace }
code { overflow-wrap: anywhere }
p code, li code, dd code { padding: 1px 4px; border-radius: 4px; background: var(--panel) }
.path code { padding: 0; background: none }
pre { margin: 10px 0; padding: 12px 14px; max-height: 420px; overflow: auto; border-radius: 6px;
  background: var(--panel) }
small { color: var(--soft); font-size: 14px }
.parameter { margin: 14px 0 }
.parameter label { display: block; margin-bottom: 3px }
.parameter p { margin: 3px 0; color: var(--soft); font-size: 15px }
input, select { width: 100%; max-width: 460px; padding: 7px 10px; font: inherit; font-size: 16px;
  color: var(--text); background: var(--page); border: 1px solid var(--soft); border-radius: 5px }
::placeholder { color: var(--soft); opacity: 0.8; font-style: italic }
button { margin: 6px 0; padding: 8px 18px; font: inherit; font-weight: 600; cursor: pointer;
  color: var(--on-accent); background: var(--accent); border: 0; border-radius: 5px }
button:disabled { opacity: 0.6 }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
details { margin-top: 10px }
summary { cursor: pointer; color: var(--accent) }
dl { margin: 8px 0 }
dt { margin-top: 8px }
dd { margin: 0 0 0 18px; color: var(--soft) }
dd p { margin: 0 }
.result { margin: 14px 0 }
.good { color: var(--good); font-weight: 600 }
.bad { color: var(--bad); font-weight: 600 }
@media (max-width: 820px) {
  header { position: static; padding: 10px 16px }
  html { scroll-padding-top: 12px }
  .token { flex-basis: 100% }
  .token input { flex: 1 }
  .columns { display: block; padding: 0 16px 40px }
  .contents { position: static; max-height: none; padding: 6px 0 0 }
  .endpoint { padding: 16px 14px }
}
`;
