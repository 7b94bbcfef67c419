import { docsPage } from "../lib/http/docs_page/page.ts";
import { openapiDocument } from "../lib/http/openapi/document.ts";
import { API_TITLE } from "../lib/http/openapi/texts.ts";
import { noParameters } from "../lib/http/request/parameters.ts";
import { defineRoute, type HandlerResult, type Route } from "../lib/http/request/route.ts";

/**
 * `GET /docs`: the contract for people.
 *
 * @param routes the table that it shows, which it is a row of itself
 */
export function docs(routes: () => readonly Route[]): Route {
  let page: Promise<HandlerResult> | undefined;
  return defineRoute({
    method: "GET",
    path: "/docs",
    access: "token or basic",
    operationId: "getDocs",
    tag: "Service",
    summary: "Documentation page",
    description: "The contract as a page for browsers, where requests can be tried. A browser " +
      "asks for a user name (any) and a password (the token).",
    parameters: { path: noParameters, query: noParameters },
    response: {
      status: 200,
      description: "The page; nothing in it is loaded from elsewhere",
      mediaType: "text/html; charset=utf-8",
      headers: {
        "Content-Security-Policy": "The page runs its own scripts alone and reaches this service " +
          "alone",
        "Referrer-Policy": "Links do not tell where they were followed from",
        "X-Frame-Options": "The page is not shown inside others",
      },
      example: '<!doctype html>\n<html lang="en">\n',
    },
    handler: () => page ??= makePage(routes()),
  });
}

async function makePage(routes: readonly Route[]): Promise<HandlerResult> {
  // Loaded here: three quarters of a megabyte that no command and few servers ever need.
  const { default: renderer } = await import(
    "openapi-explorer/dist/browser/openapi-explorer.min.js",
    { with: { type: "text" } }
  );
  const { html, headers } = docsPage({
    contract: openapiDocument(routes),
    title: API_TITLE,
    renderer,
  });
  return { body: html, headers };
}
