/** What the OpenAPI document says about the API as a whole. */

export const API_TITLE = "Test Analytics Platform";

export const API_SUMMARY = "Read-only analytics about the tests that a CI ran";

/** Markdown. */
export const API_DESCRIPTION = `\
Which tests are flaky, since when, and how often: counted from the results that CI runs uploaded.

### Requests

Every path but \`/health\` needs an API token, as \`Authorization: Bearer API_TOKEN\` or
\`Authorization: token API_TOKEN\`. Who has no valid one gets 401 for every path, known or not.

\`HEAD\` is answered wherever \`GET\` is, with the same status and headers and without the body. It is
not listed path by path.

An empty parameter is as if it were absent, unless its description says otherwise. Of a repeated one
the first counts, unknown ones are ignored. One slash at the end of a path is tolerated.

### Answers

Times are UTC, to the second. A list is never \`null\`, and a text only where its description says so.
The period that is looked at begins 14 days ago, to the second, and has no end: what was recorded
ahead of now counts too.

Successful answers with a body have an \`ETag\`. Sent back as \`If-None-Match\` it costs next to nothing as long as
nothing has changed: status 304.

### Pages

Lists come in pages. While \`metadata.after\` is not \`null\`, the same request with \`after\` set to it
is the next page; the header \`Link\` says the same as a relative address. A cursor past the end is an
empty page.

### Errors

Checked in this order, and the first that applies is the answer: token (401), path (404), method
(405), what the path names (404), all parameters at once (400), the repository that a parameter names
(404). 401 and 500 have no body; a 500 with \`Retry-After\` says that too many requests came at once. A
path that is not described here is a 404 with \`{"message":"Not Found"}\`.
`;
