import { docsPage } from "../lib/http/docs_page/page.ts";
import { noParameters } from "../lib/http/request/parameters.ts";
import { defineRoute, type HandlerResult, type Route } from "../lib/http/request/route.ts";

/** `GET /docs`: the documentation page of the route table, of which it is a row itself. */
export function docs(routes: () => readonly Route[]): Route {
  let page: HandlerResult | undefined;
  return defineRoute({
    method: "GET",
    path: "/docs",
    access: "token or basic",
    operationId: "getDocs",
    tag: "Service",
    summary: "Documentation page",
    description: "The reference as a page for browsers, with a form for each endpoint. A browser " +
      "asks for a user name (any) and a password (the token).",
    parameters: { path: noParameters, query: noParameters },
    response: {
      status: 200,
      description: "The page, complete in itself",
      mediaType: "text/html; charset=utf-8",
      headers: {
        "Content-Security-Policy": "Allows the page's own script and style sheet, and requests " +
          "to this service",
        "Referrer-Policy": "Links carry no referrer",
        "X-Frame-Options": "The page cannot be framed",
      },
      example: '<!doctype html>\n<html lang="en">\n',
    },
    handler: () => page ??= docsPage(routes()),
  });
}
