/** The chapters of the prose reference that no table knows: what words mean, and what holds for all. */
import { MAX_OFFSET } from "../../base/cursor.ts";
import { MAX_QUERY_CHARACTERS } from "../../query/mod.ts";
import { MAX_LIMIT } from "../request/parameters.ts";

/** What the service is, in a few sentences. */
export const INTRODUCTION = `\
A read-only HTTP API about the tests that a CI ran. Uploaded test reports tell which tests passed and
failed on the same code; the service counts that, lists the tests, shows how one of them failed, and
draws badges. It never changes anything: data comes in, and tokens are made, by the command line of
the same program.

In the examples \`$BASE_URL\` is the address of the service (\`http://127.0.0.1:8000\` where it listens
by default, possibly with a path behind it) and \`$TOKEN\` an API token.`;

/** What the words of the other chapters mean, by word. */
export const WORDS: Readonly<Record<string, string>> = {
  "result": "One attempt of one test in one upload. A retry is a result of its own, and so is a " +
    "skipped test.",
  "conclusion": "How a result ended: `passing`, `failure`, `error`, `skipped` or `unknown`. " +
    "`passing` is positive, `failure` and `error` are negative, the others neither.",
  "submission": "One upload of results: a whole CI run, or one shard of it.",
  "build": "All submissions of a repository with the same `build_url`. A submission without a " +
    "`build_url` is a build of its own.",
  "code version": "The git tree of a submission when it tells one, else its commit. Two commits " +
    "with the same tree are the same code. A submission that tells no tree is never put together " +
    "with one that does.",
  "nondeterministic": "A test is nondeterministic at a code version when it has both a positive " +
    "and a negative result there, in one submission or in several, in any order, however far apart.",
  "disruption": "A negative result of a test at a code version where the test is nondeterministic.",
  "disruptive test": "A test with at least one disruption in the window: a flaky test. Only the " +
    "failure must lie in the window, the pass that proves it flaky may be older or younger.",
  "window": "The last 14 days: everything recorded at or after this second minus 14 times 24 " +
    "hours. It moves with every second and ends nowhere before now.",
  "first seen, last seen":
    "The UTC days of a test's first and of its latest disruption ever, inside the window or not.",
  "quarantined": "Put aside by a person or by automation. A quarantined test stays in the " +
    "quarantined view however long it has been quiet.",
};

/** Who may ask. */
export const AUTHENTICATION = `\
Every path but \`/health\` needs an API token, in either of these forms, which mean the same:

- \`Authorization: Bearer TOKEN\`
- \`Authorization: token TOKEN\`

The first word may be written in any case, blanks around it are tolerated. Two \`Authorization\`
headers are as good as none. A token belongs to one organization and reads all of it; what belongs to
another organization does not exist for it. There are no scopes.

There are two shapes: \`tk_\` with 64 hex digits, and the 40 hex digits of an earlier service. The
latter are valid only while the organization has purchase units. A token that is malformed, expired
(from the very second of its expiry on), revoked (from the next request on) or not entitled is
answered like any wrong one: status 401, no body, \`WWW-Authenticate: Bearer\`. That comes before
everything else, so that a stranger cannot even find out which paths exist.

\`/docs\`, \`/openapi.yaml\` and \`/llms-full.txt\` also take the token as the password of HTTP Basic, with
any user name, so that a browser can open them. Their 401 says
\`WWW-Authenticate: Basic realm="Test Analytics Platform", charset="UTF-8"\`.`;

/** What holds for all requests. */
export const REQUESTS = `\
- Only GET and HEAD. HEAD answers what GET answers, without the body.
- An empty parameter is as if it were absent. Two exceptions guard scripts whose variable is unset:
  \`repository=\` and \`repository_id=\` are errors, and \`quarantine=\` counts as given.
- Of a parameter that is repeated the first one counts. Unknown parameters are ignored.
- Owners and names of repositories, and ids, are compared regardless of case. An owner may contain
  slashes, written \`%2F\` in a path. A parameter \`repository\` is \`name\` or \`owner/name\`, cut at the
  last slash.
- One slash at the end of a path is tolerated.
- The service may stand behind a path prefix: every address that it answers is relative.

The search language of \`q\`: terms with white space between them, all of which must hold.

- \`first-seen:2026-01-31\` and \`last-seen:2026-01-31\`: exactly this day. With \`<\`, \`<=\`, \`>\` or \`>=\`
  before the day: before it, up to it, after it, from it on. A test that was never disruptive matches
  neither.
- \`tags:nightly,mail\`: tests with at least one of these tags, in any case. Empty tags are ignored.
- Anything else must be part of the suite, the name, the file or the class, in any case (Unicode's
  lower case). Several words may be found in different fields. Nothing has a special meaning in it:
  \`%\`, \`_\` and \`\\\` stand for themselves, there is no quoting, and other words with a colon are plain
  text because names of tests contain colons.

A term that begins like one of the first three and is not one (no such day, no tag) is an error that
names the term by number and text. At most ${MAX_QUERY_CHARACTERS} characters.`;

/** What holds for all answers. */
export const ANSWERS = `\
- JSON in UTF-8, ended by a newline. Lists are never \`null\`. Texts are \`""\` when there is nothing to
  say and \`null\` only where it is said below; \`message\` of a positive result is always \`null\`.
- Every \`*_at\` is UTC to the second, \`YYYY-MM-DDTHH:MM:SSZ\`. \`quarantine_date\` has the same form.
- Ids are 24 lower-case hex digits. The same test (organization, owner, repository, suite, class, name,
  file) always has the same id, even after everything was imported anew.
- A ratio is disruptions divided by all positive and negative results of the test in the window, cut
  (not rounded) to 3 decimals. Lists are sorted by the exact ratio.
- A \`message\` is the first line of a failure that is not blank, at most 1,000 characters.
- \`ETag\` on every successful answer with a body; \`If-None-Match\` with it is answered with 304 while nothing has
  changed, which costs next to nothing. The tag is weak when the body is compressed.
- \`Cache-Control: private, no-cache\` (badges: \`no-cache\`), \`Vary: Authorization, Accept-Encoding\`,
  gzip for those who accept it, \`X-Content-Type-Options: nosniff\`.
- \`X-Request-Id\`: that of the request, or a new one. The service's log names it.`;

/** How to get all of a list. */
export const PAGING = `\
Lists come in pages of \`limit\` items. \`metadata.after\` is the cursor of the next page, \`null\` on the
last one; \`metadata.limit\` is the size in effect. To get everything, repeat the request with \`after\`
set to \`metadata.after\`, exactly as it came, until it is \`null\`. The header \`Link\` with
\`rel="next"\` holds the same as a relative address. \`count\` is the number of all items that match, not
only of this page.

Cursors are base64 (URL-safe and unpadded ones are taken too). Submissions use a position between two
submissions, so that new uploads do not shift pages; lists of tests use an offset of at most
${MAX_OFFSET}. A cursor past the end is an empty page; one that cannot be read, or belongs to the
other kind of list, is status 400.`;

/** What can go wrong, by status. */
export const ERRORS: readonly { status: number; body: string; when: string }[] = [
  {
    status: 400,
    body: '`{"errors":{"limit":["..."]}}`',
    when: "Parameters are wrong. All wrong ones are listed, each with all its messages",
  },
  { status: 401, body: "empty", when: "No token, or none that is valid" },
  {
    status: 404,
    body: '`{"message":"Not Found"}`',
    when: "No such path, repository or test, or it belongs to another organization",
  },
  {
    status: 405,
    body: '`{"message":"Method Not Allowed"}`',
    when: "Another method than GET and HEAD; `Allow` tells those",
  },
  {
    status: 500,
    body: "empty",
    when: "Something broke inside; the log tells the story. With `Retry-After`: too much at once",
  },
];

/** In which order errors are found. */
export const ORDER_OF_CHECKS = `\
The first that applies is the answer: the token (401), the path (404), the method (405), what the path
names (404), all parameters at once (400), the repository that a parameter names (404). A repository
or test that is known and has nothing to show is status 200 with empty lists.`;

/** Limits that are no parameter's. */
export const LIMITS: readonly { limit: string; value: string }[] = [
  { limit: "items on a page", value: `${MAX_LIMIT}; more is taken as ${MAX_LIMIT}` },
  { limit: "window of every list and of flakiness", value: "14 days" },
  { limit: "events of one test", value: "the 10 latest" },
  { limit: "characters of `q`", value: String(MAX_QUERY_CHARACTERS) },
  { limit: "characters of a `message`", value: "1,000" },
  { limit: "offset of a cursor", value: String(MAX_OFFSET) },
  { limit: "requests in a time", value: "no limit of the service's own" },
];
