import { API_TITLE } from "../lib/http/openapi/texts.ts";
import { noParameters } from "../lib/http/request/parameters.ts";
import { proseReference } from "../lib/http/llms_txt/document.ts";
import { defineRoute, type Route } from "../lib/http/request/route.ts";

/**
 * `GET /llms-full.txt`: the contract for language models.
 *
 * @param routes the table that it describes, which it is a row of itself
 */
export function llms(routes: () => readonly Route[]): Route {
  let text: string | undefined;
  return defineRoute({
    method: "GET",
    path: "/llms-full.txt",
    access: "token or basic",
    operationId: "getLlmsFull",
    tag: "Service",
    summary: "Prose reference",
    description: "Everything about this API as one text, in Markdown: what the words mean, every " +
      "endpoint with an example, and how percentages are counted.",
    parameters: { path: noParameters, query: noParameters },
    response: {
      status: 200,
      description: "The text",
      mediaType: "text/plain; charset=utf-8",
      example: `# ${API_TITLE}\n`,
    },
    handler: () => ({ body: text ??= proseReference(routes()) }),
  });
}
