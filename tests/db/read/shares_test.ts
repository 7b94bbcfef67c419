/** `shares.ts`: what counts of the failures at the edges of the days that a share counts. */
import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { PERIOD_SECONDS } from "../../../db/read/fragments.ts";
import { Shares } from "../../../db/read/shares.ts";
import { changeEvidence } from "../../../db/write/truth_counts.ts";
import { firstSubmissionId } from "../../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../../lib/base/time.ts";
import { SHARE_DAYS, type TruthCounts } from "../../../lib/evidence/shares.ts";
import { describeWithDatabases } from "../../database.ts";

const REPOSITORY = 1;
/** A period begins with it. */
const START = 27_000 * PERIOD_SECONDS;
const DAYS = SHARE_DAYS * SECONDS_PER_DAY;

/** Seconds at which one failure each is recorded: around the edges of periods, and of the days that count. */
const EDGES = [START, START + 20_000, START - DAYS, START + 20_000 - DAYS];
const MOMENTS = [
  ...new Set(
    EDGES.flatMap((edge) => {
      const period = edge - edge % PERIOD_SECONDS;
      return [edge, period, period + PERIOD_SECONDS].flatMap((at) => [at - 1, at, at + 1]);
    }),
  ),
];

/** A failure of each evidence and truth that was recorded at a moment. */
function failuresAt(seconds: number) {
  const id = firstSubmissionId(seconds);
  const truths = ["not_the_change", "the_change", "the_change", null];
  const row = { id, evidence: "few", truth: null as string | null, isRepeat: false };
  return [
    ...truths.map((truth) => ({ ...row, truth })),
    { ...row, truth: "the_change", isRepeat: true },
    { ...row, truth: "the_change", evidence: "outage" },
    { ...row, truth: "not_the_change", evidence: "first" },
  ];
}

describeWithDatabases("the failures that a share counts", (database) => {
  before(async () => {
    const rows = MOMENTS.flatMap((seconds) =>
      failuresAt(seconds).map((row, testNo) => ({ ...row, testNo }))
    );
    await database().sql.begin((tx) =>
      changeEvidence(
        tx,
        REPOSITORY,
        tx`(insert into failure_evidence (repository_id, submission_id, test_no, evidence, is_on_base,
            base_run_count, base_failed_count, is_repeat, truth)
          select ${REPOSITORY}, decode(id, 'hex'), "testNo", evidence, true, 0, 0, "isRepeat", truth
          from json_to_recordset(${JSON.stringify(rows)}::text::json) as t(id text, "testNo" int,
            evidence text, truth text, "isRepeat" boolean)
          returning submission_id, evidence, is_on_base, truth, is_repeat, null as old_truth,
            false as old_is_repeat)`,
      )
    );
  });

  async function counted(moment: number, own: number | null) {
    const submissionId = own === null ? null : firstSubmissionId(own);
    const options = { repositoryId: REPOSITORY, isOnBase: true, moment, submissionId };
    const counts = await new Shares(database().sql, options).ofRepository();
    return [...counts].sort((a, b) => a.evidence < b.evidence ? -1 : 1);
  }

  it("are those of ninety days up to the moment, without its own", async () => {
    for (const moment of [START - 1, START, START + 20_000, START + PERIOD_SECONDS - 1]) {
      for (const own of [null, ...MOMENTS]) {
        const within = MOMENTS.filter((at) => at >= moment - DAYS && at <= moment && at !== own);
        const expected: TruthCounts[] = [
          { evidence: "few", isOnBase: true, notTheChange: 1, theChange: 2 },
          { evidence: "first", isOnBase: true, notTheChange: 1, theChange: 0 },
        ].map(({ evidence, isOnBase, ...counts }) => ({
          evidence: evidence as TruthCounts["evidence"],
          isOnBase,
          notTheChange: counts.notTheChange * within.length,
          theChange: counts.theChange * within.length,
        }));
        assert.deepEqual(await counted(moment, own), expected, `${moment - START}, ${own}`);
      }
    }
  });
});
