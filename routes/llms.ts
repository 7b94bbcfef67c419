import { API_TITLE } from "../lib/http/openapi/texts.ts";
import { noParameters } from "../lib/http/request/parameters.ts";
import { llmsText } from "../lib/http/llms_txt/document.ts";
import { defineRoute, type Route } from "../lib/http/request/route.ts";

/** `GET /llms-full.txt`: the reference as plain text, mostly for language models. */
export function llms(routes: () => readonly Route[]): Route {
  let text: string | undefined;
  return defineRoute({
    method: "GET",
    path: "/llms-full.txt",
    access: "token or basic",
    operationId: "getLlmsFull",
    tag: "Service",
    summary: "Prose reference",
    description: "The whole reference as one Markdown text: terms, every endpoint with an " +
      "example, and how percentages are calculated.",
    parameters: { path: noParameters, query: noParameters },
    response: {
      status: 200,
      description: "The text",
      mediaType: "text/plain; charset=utf-8",
      example: `# ${API_TITLE}\n`,
    },
    handler: () => ({ body: text ??= llmsText(routes()) }),
  });
}
