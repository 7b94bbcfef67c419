/** The chapters of llms-full.txt that are not generated from the route table. */
import { BADGE_FILLS } from "../../badge/mod.ts";
import { MAX_OFFSET } from "../../base/cursor.ts";
import {
  MAX_BRANCH_CHARACTERS,
  MAX_BRANCH_PATTERNS,
  MAX_QUERY_CHARACTERS,
} from "../../query/mod.ts";
import { MAX_LIMIT } from "../request/parameters.ts";
import type { Tag } from "../request/route.ts";

/** What the service is. */
export const INTRODUCTION = `\
A read-only HTTP API over the results of CI test runs. It finds tests that both pass and fail on the
same code, and reports their history, a flakiness percentage and a coverage percentage. The API
performs no writes: data, organizations and tokens are managed with the command line of the same
program, \`test-analytics\`.

The examples use \`$BASE_URL\` for the address of the service (by default \`http://127.0.0.1:8000\`; it
may include a path prefix) and \`$TOKEN\` for an API token.`;

/** The rules that all endpoints share. */
export const GENERAL_RULES = `\
## Terms

- **result**: One attempt of one test in one submission. Retries and skipped tests are results \
too.
- **conclusion**: The outcome of a result: \`passing\`, \`failure\`, \`error\`, \`skipped\` or \
\`unknown\`. \`passing\` is positive, \`failure\` and \`error\` are negative, the other two are \
neither.
- **submission**: One upload of results: a CI run, or one shard of it.
- **build**: All submissions of a repository with the same \`build_url\`. A submission without a \
\`build_url\` is a build by itself.
- **code version**: The git tree of a submission, or its commit if no tree was uploaded. Two \
commits with the same tree are the same code version. A submission without a tree never shares a \
code version with one that has a tree. In an uploaded archive the commit may be something other \
than 7 to 64 hex digits (\`HEAD\`, \`main\`, an unset variable): it is stored as text, and \
without a tree that submission is a code version by itself.
- **nondeterministic**: A test is nondeterministic at a code version if it has both a positive \
and a negative result there: in one submission (a retry) or in several, in any order, however far \
apart in time.
- **disruption**: A negative result of a test at a code version where the test is \
nondeterministic.
- **disruptive test**: A test with at least one disruption in the window; also called flaky. Only \
the negative result has to be in the window. The pass may be older or newer.
- **disruptiveness**: Disruptions divided by the positive and negative results of the test in the \
window. Clients of the earlier service expect three spellings of it: the field \`disruptiveness\` \
of a repository's tests, the field \`disruptiveness_ratio\` of the inventory, and the value \
\`disruptivenessRatio\` of \`sort\`. All three are the same number.
- **window**: The last 14 x 24 hours, to the second. It has no upper bound: results recorded in \
the future are included.
- **first seen, last seen**: The UTC days of the first and the latest disruption ever of a test, \
whether or not they are in the window.
- **quarantined**: Set aside by a person or by automation. A quarantined test stays in the \
quarantined view, however old its last disruption is.

## Authentication

Every path except \`/health\` requires an API token. Two equivalent forms are accepted:

- \`Authorization: Bearer TOKEN\`
- \`Authorization: token TOKEN\`

The scheme is case-insensitive and surrounding blanks are ignored. A request with two \`Authorization\`
headers is rejected. A token reads everything in its organization and nothing of any other; there are
no scopes.

A token is \`tk_\` followed by 64 hex digits, or one of the 40 hex digits that the earlier service
issued. The latter is only valid while its organization has purchase units. A malformed, unknown,
expired, revoked or unentitled token gets the same response: 401, an empty body and
\`WWW-Authenticate: Bearer\`. Expiry takes effect at the second of \`expires_at\`, revocation with the next
request. Authentication is checked before routing, so unknown paths are 401 too.

\`/docs\`, \`/openapi.yaml\` and \`/llms-full.txt\` also accept the token as the password of HTTP Basic, with
any user name, so that a browser can open them. Their 401 carries
\`WWW-Authenticate: Basic realm="Test Analytics Platform", charset="UTF-8"\`.

## Requests

- Methods are GET and HEAD. HEAD returns the headers of GET without a body.
- An empty parameter counts as absent. Exceptions, because an unset shell variable must not widen a
  query: \`repository=\` and \`repository_id=\` are errors, and \`quarantine=\` means \`true\`.
- If a parameter is repeated, the first one counts. Unknown parameters are ignored.
- Repository owners, repository names and ids are case-insensitive. An owner may contain slashes
  (GitLab groups), encoded as \`%2F\` in a path. The parameter \`repository\` takes \`name\` or
  \`owner/name\` and splits at the last slash.
- Every path below \`/api/\` accepts \`organization_id\`, the \`id\` that \`/api/me/organizations\`
  returns, in any case. The one of the token's organization changes nothing, any other value is a 404.
- One trailing slash in a path is ignored.
- The service works behind a path prefix: every address in a response is relative.

The parameter \`q\` consists of terms separated by white space. A test has to match all of them.

- \`first-seen:2026-01-31\` and \`last-seen:2026-01-31\` match that UTC day. Put \`<\`, \`<=\`, \`>\` or \`>=\`
  before the date to match a range. Tests without any disruption never match.
- \`tags:nightly,mail\` matches tests with at least one of the tags, ignoring case and empty elements.
- Any other text matches as a case-insensitive substring of suite, name, file or class. Each word may
  match in a different field. There is no quoting and there are no wildcards: \`%\`, \`_\` and \`\\\` match
  themselves, and so does any other text with a colon.

A \`first-seen:\`, \`last-seen:\` or \`tags:\` term that cannot be parsed is an error that gives the term's
number and text. The maximum length is ${MAX_QUERY_CHARACTERS} characters.

The parameter \`branch\` is a comma-separated list of branches, in which \`*\` stands for any characters:
\`branch=main,release/*\`. Upper and lower case differ. Only submissions of these branches count: for
results, disruptions, ratios, the figures of the window and the latest disruption, which is then the
latest of the window. Submissions whose branch is unknown match no pattern, so \`branch=*\` selects those
with any known branch. Independent of \`branch\`:

- whether a test is nondeterministic at a code version: code is the same on every branch
- the first disruption and the latest passing result, which are those of all branches
- tags and quarantine: a quarantined test without a disruption on these branches in the window is \
listed with 0 disruptions, \`null\` as its latest disruption, and after all others

At most ${MAX_BRANCH_PATTERNS} patterns and ${MAX_BRANCH_CHARACTERS} characters are accepted.

## Responses

- Bodies are JSON in UTF-8. Lists are never \`null\`. Unknown strings are \`""\`, and \`null\` only where a
  field's description says so; \`message\` of a positive result is always \`null\`.
- Fields that end in \`_at\`, and \`quarantine_date\`, are UTC with seconds: \`YYYY-MM-DDTHH:MM:SSZ\`.
- Ids of tests, submissions and events are 24 lower-case hex digits. A test keeps its id as long as its organization, repository,
  suite, class, name and file stay the same, also when all data is imported again. Renaming a
  repository keeps the ids. Ids of submissions and events are stable in the same way. The id of an
  organization is a UUID, that of a repository its \`repository_id\`.
- Ratios are truncated, not rounded, to 3 decimals. Sorting uses the exact ratio.
- A \`message\` is the first non-blank line of the failure's message, or of its text when it has no
  message, cut to 1,000 characters.
- Every successful response with a body carries an \`ETag\`, weak when the body is compressed. While
  nothing has changed, \`If-None-Match\` (also as a list, or \`*\`) gets a 304 at almost no cost.
- \`Cache-Control\` is \`private, no-cache\` (badges: \`no-cache\`), \`Vary\` is
  \`Authorization, Accept-Encoding\`. gzip is used for clients that accept it.
- \`X-Request-Id\` repeats the request's, or is generated. The log contains it.

## Pagination

Lists are returned in pages of \`limit\` items. \`metadata.after\` is the cursor of the next page, or
\`null\` on the last page; \`metadata.limit\` is the page size in effect. To read a whole list, repeat the
request with \`after\` set to \`metadata.after\`, unchanged, until it is \`null\`. The \`Link\` header with
\`rel="next"\` contains the same as a relative address. \`count\` is the number of matching items on all
pages.

Cursors are base64, also accepted URL-safe and without padding. Submissions use a keyset cursor, so
new uploads do not shift pages. Lists of tests use an offset of at most ${MAX_OFFSET}. A cursor past
the end returns an empty page. A cursor that cannot be decoded or belongs to the other kind of list
is a 400.

## Errors

| status | body | when |
| --- | --- | --- |
| 400 | \`{"errors":{"limit":["..."]}}\` | Invalid parameters. All of them are listed, each with all its messages |
| 401 | empty | No valid token |
| 404 | \`{"message":"Not Found"}\` | Unknown path, repository or test, or one of another organization; another organization's \`organization_id\` |
| 405 | \`{"message":"Method Not Allowed"}\` | A method other than GET and HEAD. \`Allow\` lists these two |
| 500 | empty | Internal error; details are in the log. With \`Retry-After\`: the service is overloaded |

Checks run in this order, and the first failure is the response: token (401), path (404), method
(405), the resource in the path (404), all parameters (400), the organization or repository in a
parameter (404). A known repository or test without data is a 200 with empty lists.`;

/** Rows of the table of limits that belong to no single parameter. */
export const LIMITS: readonly string[][] = [
  ["largest page; a larger `limit` is reduced to it", String(MAX_LIMIT)],
  ["window", "14 days"],
  ["events of one test", "the latest 10"],
  ["length of `q`", `${MAX_QUERY_CHARACTERS} characters`],
  ["length of `branch`", `${MAX_BRANCH_CHARACTERS} characters, ${MAX_BRANCH_PATTERNS} patterns`],
  ["length of a `message`", "1,000 characters"],
  ["offset in a cursor", String(MAX_OFFSET)],
  ["request rate", "unlimited"],
];

/** Text before the endpoints of a group. */
export const GROUP_TEXTS: Partial<Record<Tag, string>> = {
  Repositories: `\
The status of a submission goes from \`processing\` to \`processed\` or \`failed\`. \`processing\` and \`failed\`
only occur for archives that \`watch\` takes from a folder or bucket. They appear in the list and in
\`count\`, with 0 results and as much of commit, branch and build URL as could be read, and are not
builds. \`ingest\` either stores a processed submission or nothing.

\`key\` is the object key of the archive, or \`{owner}/{name}/{submission id}\` where \`ingest\` stored the
results and no archive exists. \`test_result_count\` includes retries and skipped tests. The first 8 hex
digits of a submission's id are the seconds of \`recorded_at\`, so ids sort by time.`,

  Tests: `\
\`/api/repos/{owner}/{name}/tests\` lists the disruptive tests of one repository, quarantined or not.
\`/api/v1/flaky/tests\` is the inventory of one repository or of the whole organization. By default it
lists quarantined tests, whenever their last disruption was. With \`quarantine=false\` it lists
disruptive tests that are not quarantined.

\`repository_id\` is the number that a repository gets when it is created. A bare \`repository\` name that
several repositories share is an error, unless \`repository_id\` names one of them. A \`repository_id\`
that contradicts \`repository\` is an error of \`repository_id\`.

A test's tags are the union of the tags of all submissions that ran it, sorted. \`time_consumed\` is the
sum over all its results in the window, in microseconds; a result without a duration counts as 0.
\`avg_duration_ms\` is that sum divided by the number of all results, skipped ones included, rounded to
0.1 ms. \`pass_rate\` is the share of passes in the passing and failing results, truncated to 3 decimals.
Both are \`null\` for a test without such results in the window.

Ties in \`sort\` go to the latest disruption, then to the smaller id. A quarantined test without
disruptions in the window has its ratio, count and time from the window, and its latest disruption
ever in the \`recent_*\` fields. One that was never disruptive sorts last, with \`null\` in these fields
and in \`nondeterminism_first_recorded_at\`.

Each value of \`include\` adds the field of the same name. Two of them add a second spelling as well,
for clients of the earlier service: \`disruption_count\` repeats \`nondeterministic_negative_result_count\`
and \`first_disruption_at\` repeats \`nondeterminism_first_recorded_at\`. \`/api/tests/{id}\` shows all of
them for any test that ever ran, disruptive or not, until its last submission is deleted.`,

  Badges: `\
A badge is an SVG image. Its percentage is a text node by itself, digits and \`%\` only, such as
\`>12.5%<\`, so that a script can extract it. It is rounded to the nearest tenth without a trailing
\`.0\`. \`0%\` and \`100%\` appear only for exactly these values; anything in between shows at least 0.1 and
at most 99.9. The colour follows the number shown. Without data the badge is grey, reads \`unknown\` and
contains no percentage.

**Flakiness counts builds, not tests**: the share of builds in the window that had a disruption in the
window. Ten flaky tests in one build are one disrupted build. Only processed submissions make builds.
Quarantined tests count.

**Coverage counts lines**: covered lines divided by coverable lines in the most recently uploaded
coverage report of the repository, regardless of its branch, age and \`recorded_at\`. The files of one
upload are merged by file and line where the format has lines, and added up where it only has totals.

| colour | fill | flakiness | coverage |
| --- | --- | --- | --- |
| green | \`${BADGE_FILLS.green}\` | 0% | 100% |
| light green | \`${BADGE_FILLS.light_green}\` | | from 90% |
| yellow | \`${BADGE_FILLS.yellow}\` | up to 20% | from 70% |
| red | \`${BADGE_FILLS.red}\` | above 20% | below 70% |
| grey | \`${BADGE_FILLS.unknown}\` | no build in the window | no report, or no coverable line in it |`,
};

/** The command line and the agent tools. */
export const OTHER_INTERFACES = `\
## Getting data in

The HTTP API is read-only. Everything else is a command of the same program; \`test-analytics --help\`
lists them. \`ingest\` stores the JUnit and coverage reports of one CI run, all or nothing. \`upload\`
packs them into an archive where the database cannot be reached, and \`watch\` processes such archives.

A disruption appears as soon as the submission that proves it is processed. The order in which
submissions arrive does not change any answer. All results of a submission carry its \`recorded_at\`,
which is given or the moment of the upload; timestamps inside reports are ignored. Results with the
same \`recorded_at\` are ordered by submission id, and within a submission by position in the report.

The same report bytes with the same commit and the same build URL (or both times none) are one
submission: uploading them again stores nothing but newer coverage.

## Tools for agents

\`test-analytics mcp\` is a Model Context Protocol server on standard input and output. It calls this API
at \`PLATFORM_API_URL\` with the token in \`PLATFORM_API_TOKEN\`. All tools are read-only.

- \`find_flaky_tests\`: the inventory, by repository, tags, text and recency
- \`get_test_history\`: the latest disruptions of one test
- \`list_recent_submissions\`: the latest CI runs of a repository
- \`get_repo_flakiness\`: the flakiness percentage as a number, \`null\` without data
- \`get_repo_coverage\`: the coverage percentage as a number, \`null\` without data
- \`list_my_organizations\`: the organization of the token
- \`list_repositories\`: the repositories, by a part of their name
- \`get_submission_test_results\`: what failed in one CI run, with stack traces
- \`get_recent_failures\`: what failed in the latest CI runs of a repository, by cause
- \`get_test_details\`: one test with its failures by cause, the commits and builds where it failed
  and passed, its durations and owners

Stack traces are quoted: every line from a report begins with \`> \`.`;
