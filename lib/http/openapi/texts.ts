/** Title, summary and general rules of the API, for the OpenAPI document and the page. */

export const API_TITLE = "Test Analytics Platform";

export const API_SUMMARY = "Read-only analytics of CI test results";

/** Markdown. */
export const API_DESCRIPTION = `\
Which tests are flaky, since when, and how often, counted from the results that CI runs upload.

### Requests

Every path except \`/health\` requires an API token, as \`Authorization: Bearer API_TOKEN\` or
\`Authorization: token API_TOKEN\`. Without a valid one the response is 401, for unknown paths too.

\`HEAD\` works wherever \`GET\` does, with the same status and headers and no body.

An empty parameter counts as absent unless its description says otherwise. If a parameter is
repeated, the first one counts; unknown ones are ignored, and so is one trailing slash in a path.

### Responses

Times are UTC, to the second. A list is never \`null\`, and a string only where its description says
so. The window is the last 14 days, to the second. It has no upper bound: results recorded in the
future are included.

Successful responses with a body carry an \`ETag\`. While nothing has changed, a request with
\`If-None-Match\` gets a 304 at almost no cost.

### Pagination

Lists are returned in pages. While \`metadata.after\` is not \`null\`, the same request with \`after\` set
to it returns the next page; the \`Link\` header contains the same as a relative address. A cursor past
the end returns an empty page.

### Errors

Checks run in this order, and the first failure is the response: token (401), path (404), method
(405), the resource in the path (404), all parameters (400), the organization or repository in a
parameter (404). 401 and 500 have no body; a 500 with \`Retry-After\` means that the service is overloaded. Any path that is
not described here is a 404 with \`{"message":"Not Found"}\`.
`;
