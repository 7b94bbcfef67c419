/** Chapters of the prose reference about groups of endpoints, the command line and agent tools. */
import { BADGE_FILLS } from "../../badge/mod.ts";

/** How percentages are counted and coloured. */
export const BADGES = `\
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
| grey | \`${BADGE_FILLS.unknown}\` | no build in the window | no report, or no coverable line in it |`;

/** Status, key and order of submissions. */
export const SUBMISSIONS = `\
The status of a submission goes from \`processing\` to \`processed\` or \`failed\`. \`processing\` and \`failed\`
only occur for archives that \`watch\` takes from a folder or bucket. They appear in the list and in
\`count\`, with 0 results and as much of commit, branch and build URL as could be read, and are not
builds. \`ingest\` either stores a processed submission or nothing.

\`key\` is the object key of the archive, or \`{owner}/{name}/{submission id}\` where \`ingest\` stored the
results and no archive exists. \`test_result_count\` includes retries and skipped tests. The first 8 hex
digits of a submission's id are the seconds of \`recorded_at\`, so ids sort by time.`;

/** How the two lists of tests differ. */
export const LISTS_OF_TESTS = `\
\`/api/repos/{owner}/{name}/tests\` lists the disruptive tests of one repository, quarantined or not.
\`/api/v1/flaky/tests\` is the inventory of one repository or of the whole organization. By default it
lists quarantined tests, whenever their last disruption was. With \`quarantine=false\` it lists
disruptive tests that are not quarantined.

\`repository_id\` is the number that a repository gets when it is created. A bare \`repository\` name that
several repositories share is an error, unless \`repository_id\` names one of them. A \`repository_id\`
that contradicts \`repository\` is an error of \`repository_id\`.

A test's tags are the union of the tags of all submissions that ran it, sorted. \`time_consumed\` is the
sum over all its results in the window, in microseconds; a result without a duration counts as 0.

Ties in \`sort\` go to the latest disruption, then to the smaller id. A quarantined test without
disruptions in the window has its ratio, count and time from the window, and its latest disruption
ever in the \`recent_*\` fields. One that was never disruptive sorts last, with \`null\` in these fields
and in \`nondeterminism_first_recorded_at\`.

Each value of \`include\` adds the field of the same name. Two of them add a second spelling as well,
for clients of the earlier service: \`disruption_count\` repeats \`nondeterministic_negative_result_count\`
and \`first_disruption_at\` repeats \`nondeterminism_first_recorded_at\`.`;

/** How data gets in. */
export const DATA = `\
The HTTP API is read-only. Everything else is a command of the same program: \`test-analytics COMMAND\`,
or \`deno run -A main.ts COMMAND\` from source. \`--help\` explains each command.

- \`serve\` runs this API, \`demo\` runs it with example data and prints a token. \`migrate\` updates the
  database schema. \`doctor\` checks the installation, \`healthcheck\` a running service. \`backup\` copies
  the embedded database.
- \`org create\`, \`org set\`, \`org list\`: organizations and their purchase units.
- \`repo create\`, \`repo list\`, \`repo rename\`, \`repo delete\`: repositories. \`ingest\` creates a
  repository it does not know.
- \`token create\` prints a new token, once. \`token import\` accepts a token of the earlier service by
  its hash. \`token list\`, \`token revoke\`.
- \`ingest\` stores the JUnit and coverage reports of one CI run, all or nothing. \`upload\` packs them
  into an archive where the database cannot be reached, \`watch\` processes such archives.
- \`submission list\`, \`submission delete\`: uploads. \`prune\` deletes old ones.
- \`quarantine add\`, \`quarantine remove\`, \`quarantine list\`: quarantined tests.
- \`mcp\` runs the agent tool server, below.

A disruption appears as soon as the submission that proves it is processed. The order in which
submissions arrive does not change any answer. All results of a submission carry its \`recorded_at\`,
which is given or the moment of the upload; timestamps inside reports are ignored. Results with the
same \`recorded_at\` are ordered by submission id, and within a submission by position in the report.

The same report bytes with the same commit and the same build URL (or both times none) are one
submission: uploading them again stores nothing but newer coverage.`;

/** The agent tools. */
export const AGENT_TOOLS = `\
\`test-analytics mcp\` is a Model Context Protocol server on standard input and output. It calls this API
at \`PLATFORM_API_URL\` with the token in \`PLATFORM_API_TOKEN\`. All tools are read-only.

- \`find_flaky_tests\`: the inventory, by repository, tags, text and recency
- \`get_test_history\`: the latest disruptions of one test
- \`list_recent_submissions\`: the latest CI runs of a repository
- \`get_repo_flakiness\`: the flakiness percentage as a number, \`null\` without data
- \`get_repo_coverage\`: the coverage percentage as a number, \`null\` without data`;
