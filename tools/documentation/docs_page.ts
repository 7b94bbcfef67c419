/** The content of the documentation page, drawn from the route table. */
import { escapeHtml } from "../../lib/html/escape.ts";
import type { Route } from "../../lib/http/request/route.ts";
import {
  API_DESCRIPTION,
  API_SUMMARY,
  type DescribedParameter,
  describedParameters,
  parameterType,
  pathTemplate,
  TAGS,
} from "./description.ts";
import { renderMarkdown } from "./markdown.ts";
import { commonFields, commonFieldsText, responseText } from "./reference.ts";

/** HTML of what the page says first, its contents, and a form for every endpoint. */
export function docsPageContent(routes: readonly Route[]): string {
  const groups = Object.entries(TAGS).map(([tag, description]) => ({
    tag,
    description,
    routes: routes.filter((route) => route.tag === tag),
  }));
  const fields = commonFields(routes);
  return `<div class="introduction">
<h1>${escapeHtml(API_SUMMARY)}</h1>
<p class="formats">The same as <a href="openapi.yaml">OpenAPI</a> and as <a href="llms-full.txt">plain text</a>.</p>
<p>To send requests from this page, enter an API token above. It is kept only until you leave the
page.</p>
<noscript><p>Sending requests needs JavaScript.</p></noscript>
</div>
<nav class="contents" aria-label="Endpoints">
${groups.map(({ tag, routes }) => contentsOf(tag, routes)).join("\n")}
</nav>
<div class="endpoints">
${
    groups.map(({ tag, description, routes }) =>
      `<h2>${escapeHtml(tag)}</h2>\n${markdown(description)}\n${
        routes.map((route) => endpoint(route, fields)).join("\n")
      }`
    ).join("\n")
  }
${markdown(commonFieldsText(fields))}
<h2>General rules</h2>
${markdown(API_DESCRIPTION)}
</div>
`;
}

function contentsOf(tag: string, routes: readonly Route[]): string {
  const links = routes.map(({ operationId, summary }) =>
    `<li><a href="#${operationId}">${escapeHtml(summary)}</a></li>`
  );
  return `<p>${escapeHtml(tag)}</p>\n<ul>${links.join("")}</ul>`;
}

/** An endpoint; common fields are only named. */
function endpoint(route: Route, fields: ReadonlySet<string>): string {
  const { operationId, path, access, response: { mediaType, example } } = route;
  return `<section class="endpoint" id="${operationId}" aria-labelledby="${operationId}-title">
<h3 id="${operationId}-title">${escapeHtml(route.summary)}</h3>
<p class="path"><b>GET</b> <code>${escapeHtml(pathTemplate(path))}</code></p>
${markdown(route.description)}
<form data-path="${escapeHtml(path)}"${
    access === "public" ? "" : " data-token"
  } autocomplete="off" spellcheck="false">
${describedParameters(route).map((one) => parameterField(operationId, one)).join("\n")}
<button>Send request</button>
</form>
<div class="result" role="status" hidden></div>
<details><summary>Response</summary>${markdown(responseText(route, fields))}
${mediaType?.startsWith("image/svg") ? `<p>${example}</p>` : ""}</details>
</section>`;
}

function parameterField(operationId: string, parameter: DescribedParameter): string {
  const { name, required, description, jsonSchema, example = "" } = parameter;
  const id = `${operationId}-${name}`;
  const facts = [required ? "required" : "", parameterType(parameter).replaceAll("`", "")];
  const attributes = `id="${id}" name="${name}" aria-describedby="${id}-text"` +
    (required ? " required" : "");
  const values = jsonSchema.enum as string[] | undefined;
  const input = values
    ? `<select ${attributes}><option></option>${
      values.map((value) => `<option>${escapeHtml(value)}</option>`).join("")
    }</select>`
    : `<input ${attributes} placeholder="${escapeHtml(example)}"${
      jsonSchema.type === "integer" ? ' inputmode="numeric"' : ""
    }>`;
  return `<div class="parameter"><label for="${id}"><code>${name}</code> <small>${
    escapeHtml(facts.filter(Boolean).join(", "))
  }</small></label>${input}<div id="${id}-text">${markdown(description)}</div></div>`;
}

/** A description as HTML; no description has a link. Outside of tags, quotes need no escape: JSON has many. */
function markdown(text: string): string {
  const html = String(renderMarkdown(text, () => null).content);
  return html.replace(/>[^<]+/g, (between) => between.replaceAll("&quot;", '"'));
}
