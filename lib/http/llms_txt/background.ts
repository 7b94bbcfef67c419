/** The chapters of the prose reference about badges, and about what surrounds the HTTP API. */
import { BADGE_FILLS } from "../../badge/mod.ts";

/** How percentages are counted and coloured. */
export const BADGES = `\
A badge is an SVG picture with a percentage. It stands as one text of its own in the picture, digits
and \`%\` only, such as \`>12.5%<\`, so that a script can read it. It is rounded to the nearest tenth,
without a trailing \`.0\`, and shows 0 or 100 only when it is exactly that (else at least 0.1 and at most
99.9). The colour goes by the number that is shown. Without data the badge is grey, says \`unknown\` and
has no percentage anywhere.

**Flakiness counts builds, not tests**: of the builds in the window, how many had at least one
disruption in the window. Ten flaky tests in one build are one disrupted build. Submissions that share
a \`build_url\` are one build, and only processed ones count. Quarantined tests count as well.

**Coverage counts lines**: of the lines that can be covered, how many are, in the coverage report of
the repository that was recorded last, on whatever branch and however long ago. Files of one upload are
merged by file and line where the format tells lines; formats that tell totals only are added up.

| colour | fill | flakiness | coverage |
| --- | --- | --- | --- |
| green | \`${BADGE_FILLS.green}\` | 0% | 100% |
| light green | \`${BADGE_FILLS.light_green}\` | | from 90% |
| yellow | \`${BADGE_FILLS.yellow}\` | up to 20% | from 70% |
| red | \`${BADGE_FILLS.red}\` | above 20% | below 70% |
| grey | \`${BADGE_FILLS.unknown}\` | no build in the window | no report, or none with a line |`;

/** What a list of submissions shows. */
export const SUBMISSIONS = `\
A submission is \`processing\` until its results are counted, then \`processed\` or, when its archive
cannot be read, \`failed\`. Only archives that are picked up from a folder or bucket are ever seen in the
first and the last of these; they count in \`count\`, have 0 results, and are no builds. A submission that
was taken in directly is there whole or not at all.

\`key\` is the key of the archive in its folder or bucket, or \`{owner}/{name}/{id}\` where results were
taken in directly and no archive is kept. \`test_result_count\` counts retries and skipped tests too. Ids
of submissions begin with the seconds of \`recorded_at\`, so that they sort like it.`;

/** How the two lists of tests differ. */
export const LISTS_OF_TESTS = `\
\`/api/repos/{owner}/{name}/tests\` lists the disruptive tests of one repository, quarantined or not.
\`/api/v1/flaky/tests\` lists, for one repository or the whole organization, either the quarantined tests
(the default; whenever they were last disruptive) or with \`quarantine=false\` those that are disruptive
and not quarantined.

\`repository_id\` is the number that every repository gets on creation: the next free one, or one that
was asked for. Where it is given together with a \`repository\` that is another one, that is an error of
\`repository_id\`; a bare name that several repositories share is an error of \`repository\`.

The tags of a test are those of all submissions that ran it, sorted. Its \`time_consumed\` is the sum of
all its results in the window, in microseconds; a result without a time of its own counts 0.

Both sort by \`sort\`, ties go to the latest disruption, then to the smaller id. Tests that were never
disruptive (they can only be quarantined ones) come last; their fields about disruptions are \`null\`, and
their counts 0.

Every \`include\` value adds the field of its name. Two add a second spelling, which clients of the
earlier service read: \`disruption_count\` with \`nondeterministic_negative_result_count\`, and
\`first_disruption_at\` with \`nondeterminism_first_recorded_at\`.`;

/** How data gets in. */
export const DATA = `\
The HTTP API reads. Organizations, tokens and results come in by the command line of the same program,
\`test-analytics COMMAND\` (from source: \`deno run -A main.ts COMMAND\`); \`--help\` explains each one.

- \`serve\` serves this API; \`demo\` serves a small example, with a token to try it; \`migrate\` brings the
  database to the version of the program; \`doctor\` looks whether all is well, \`healthcheck\` whether
  the service answers; \`backup\` copies the embedded database.
- \`org create\`, \`org set\`, \`org list\`: organizations and their purchase units.
- \`repo create\`, \`repo list\`, \`repo rename\`, \`repo delete\`: repositories. \`ingest\` creates them by
  itself.
- \`token create\` prints a new token, once; \`token import\` takes over one of the earlier service by its
  hash; \`token list\`, \`token revoke\`.
- \`ingest\` takes the JUnit and coverage reports of one CI run, all or nothing. \`upload\` packs them where
  there is no way to the database, \`watch\` takes in what was uploaded.
- \`submission list\`, \`submission delete\`: uploads. \`prune\` deletes old ones, and changes no answer.
- \`quarantine add\`, \`quarantine remove\`, \`quarantine list\`: tests that were put aside.
- \`mcp\` is the server of agent tools, below.

A result counts as a disruption as soon as the submission that proves it is processed; in which order
submissions arrive makes no difference. Results are of the moment that the upload names, or of the
upload itself; times inside reports are ignored. Of results of the same second, the one in the
submission with the greater id is the later, and within a submission the one further down in the
report.`;

/** The tools for agents. */
export const AGENT_TOOLS = `\
\`test-analytics mcp\` is a Model Context Protocol server on standard input and output that asks this API,
with the token of \`PLATFORM_API_TOKEN\` and the address of \`PLATFORM_API_URL\`. All its tools only read.

- \`find_flaky_tests\`: the inventory, by repository, tags, words and recency
- \`get_test_history\`: the latest disruptions of one test
- \`list_recent_submissions\`: the latest CI runs of a repository
- \`get_repo_flakiness\`: the percentage of the badge as a number, or \`null\` without data
- \`get_repo_coverage\`: the same of coverage`;
