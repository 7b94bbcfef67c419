import { findTest } from "../../../db/admin/quarantine.ts";
import { loadTestDetails } from "../../../db/read/details_of_test.ts";
import { readSnapshot } from "../../../db/read/snapshot.ts";
import { loadDisruptedPlaces, loadFirstDisrupted } from "../../../db/read/runs_of_test.ts";
import { loadTestHistory } from "../../../db/read/test_evidence.ts";
import { evidenceView } from "../../../routes/test_evidence.ts";
import { isGitId } from "../../base/commit.ts";
import { errorMessage } from "../../base/error.ts";
import { UsageError } from "../../base/failure.ts";
import { testId } from "../../base/identity.ts";
import { oneLine } from "../../base/text.ts";
import { quote } from "../../base/quote.ts";
import { WINDOW_SECONDS } from "../../base/time.ts";
import { UTC } from "../../base/time_zone.ts";
import { lineOfText, testIdentifier } from "../../base/value_schemas.ts";
import {
  type RepairProof,
  repairProof,
  sayBefore,
  sayFailing,
  sayNotRun,
  sayRate,
  sayRepair,
  saySince,
  sayStopped,
} from "../../evidence/history_said.ts";
import { sayDay } from "../../evidence/said.ts";
import { environmentsIn, testEvidence } from "../../evidence/test_evidence.ts";
import * as parameters from "../../http/request/parameters.ts";
import { commitOf, commitsAfter, type Git, runGit } from "../../intake/checkout/git.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { ExitWith } from "../errors.ts";
import { argument, option } from "../parameters.ts";

const EXIT_CODES: Readonly<Record<RepairProof, number>> = {
  enough: 0,
  "failed again": 1,
  "not yet": 3,
};

/** `evidence`: whether the runs since a commit prove that it repaired a test. */
export const evidenceCommand: AddCommand = command({
  name: "evidence",
  summary: "Say whether the runs since a commit prove that it repaired a test",
  details: [
    "Counts the passes of the test on the base branch since the commit, and how many tests that fail as " +
    "often as this one did before would pass that many times by luck. Enough is when at most 5 of 100 " +
    "would. An environment in which the test has not run since proves nothing: it is named, once the " +
    "test ran 20 times in another. A commit without a run counts from the first run after it, if the current checkout " +
    "contains the commit. With --json the object of /api/tests/{id}/evidence.",
  ],
  example: "evidence 0123456789abcdef01234567 --since 9f2c4e1",
  exitCodes: {
    0: "it passed often enough",
    1: "it failed again",
    2: "no answer: usage error, unknown test or commit, or no database",
    3: "it passed, but not yet often enough",
  },
  input: {
    testId: argument("test id, 24 hex digits", testIdentifier),
    since: option("<commit>", "commit that is meant as the repair", lineOfText),
    environment: option(
      "<list>",
      "only runs in these environments, such as linux-*",
      parameters.environment,
    ),
  },
  async run({ testId: parts, since, environment: environments }, context) {
    const { found, loaded, commitOid } = await answered(async () => {
      const git = context.io.git ?? runGit;
      const commitOid = await readCommit(since, git);
      const { sql } = await context.openDatabase();
      const test = await findTest(sql, parts);
      if (!test) {
        throw new UsageError(
          `unknown test ${quote(testId(parts.idPrefix, parts.testHash))}: expected an id of a list`,
        );
      }
      const { repository: { repositoryId }, testNo } = test;
      const { now } = context;
      const key = { repositoryId, testNo, now };
      const windowStart = now - WINDOW_SECONDS;
      const load = async (laterCommits?: ReadonlySet<string>) =>
        await readSnapshot(sql, async (tx) => ({
          details: await loadTestDetails(tx, { ...key, windowStart }),
          disrupted: await loadDisruptedPlaces(tx, { ...key, windowStart }),
          first: await loadFirstDisrupted(tx, key),
          history: await loadTestHistory(tx, {
            ...key,
            environments,
            commitOid,
            ...laterCommits && { laterCommits },
          }),
        }));
      let loaded = await load();
      // Git may take long: the database does not wait for it.
      if (!loaded.history.repair) loaded = await load(await commitsAfter(commitOid, git));
      const { disrupted, history: { runs, repair, wrongCommit, base } } = loaded;
      if (wrongCommit !== null) throw new UsageError(`--since: ${wrongCommit}`);
      if (!repair) {
        throw new UsageError(
          `--since: commit ${quote(since)} has no run on ${base}${
            environments ? " in these environments" : ""
          }, and none after it is known in this checkout`,
        );
      }
      const disruptedIn = environmentsIn(disrupted, environments);
      return { found: testEvidence(runs, { disruptedIn, repair }), loaded, commitOid };
    });
    if (context.json) {
      await context.io.stdout(
        `${JSON.stringify(evidenceView(found, { ...loaded, environments }))}\n`,
      );
    } else await show(found, context, { ...loaded.history, commitOid });
    const exitCode = EXIT_CODES[repairProof(found.calm!)];
    if (exitCode !== 0) throw new ExitWith(exitCode);
  },
});

async function show(
  found: ReturnType<typeof testEvidence>,
  { io }: CommandContext,
  { base, isBaseNamed, stopped, wasAdded, commitOid }:
    & Pick<
      Awaited<ReturnType<typeof loadTestHistory>>,
      "base" | "isBaseNamed" | "stopped" | "wasAdded"
    >
    & { commitOid: string },
): Promise<void> {
  const named = {
    base,
    isBaseNamed,
    day: (seconds: number) => sayDay(seconds, UTC),
    wasAdded: wasAdded(found.environment),
  };
  const states = [sayRate(found, named), saySince(found, named)].filter(Boolean).join(" ");
  const place = found.environment === "" ? "" : ` in ${found.environment}`;
  const sentence = [`${found.state}${place}: ${states}`, sayBefore(found)].filter(Boolean).join(
    "; ",
  );
  const lines = [
    sayRepair(found, { commitOid }),
    sentence,
    sayFailing(found),
    sayNotRun(found, { commitOid }),
  ];
  if (stopped) {
    const last = `last on ${base} ${named.day(stopped.lastRunAt)}`;
    lines.push(`Stopped running: ${last}; ${sayStopped(stopped)}`);
  }
  await io.stdout(lines.filter((line) => line !== "").map((line) => `${oneLine(line)}\n`).join(""));
}

/** The id of a commit, or of a revision of the checkout such as `HEAD`, in lower case. */
async function readCommit(text: string, git: Git): Promise<string> {
  if (isGitId(text)) return text.toLowerCase();
  const commit = await commitOf(text, git);
  if (commit !== "") return commit;
  throw new UsageError(
    `--since: unknown commit ${
      quote(text)
    }: expected 7 to 64 hex digits, or a revision of the current ` +
      "checkout",
  );
}

/** Whatever keeps the command from an answer ends with exit code 2: 1 says that the test failed again. */
async function answered<T>(find: () => Promise<T>): Promise<T> {
  try {
    return await find();
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(errorMessage(error));
  }
}
