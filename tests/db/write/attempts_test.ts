/** `submission_rows.ts` and `store_texts.ts`: random attempts are read as they were written. */
import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../../db/admin/repositories.ts";
import { loadTexts } from "../../../db/read/texts.ts";
import { decodeTestList, kindOf, type ResultColumns } from "../../../lib/analysis/columns.ts";
import { isNegative, type TestResult } from "../../../lib/report/result.ts";
import { Random } from "../../../tools/measure/bench/random.ts";
import { describeWithDatabases } from "../../database.ts";
import { attemptsOf } from "../../lib/analysis/columns_of.ts";
import { createFixture, type Fixture } from "../../routes/fixture.ts";

const ROUNDS = 30;
const CONCLUSIONS = ["passing", "failure", "error", "skipped", "unknown"] as const;

interface NegativeRow {
  name: string;
  conclusion: string;
  textId: string;
}

describeWithDatabases("the attempts of a submission", (database) => {
  let fixture: Fixture;
  let repository: Repository;

  before(async () => {
    fixture = await createFixture(database(), { name: "attempts" });
    repository = await fixture.addRepository("acme", "shop");
  });

  /** What is stored of a submission, by the name of the test. */
  async function storedAttempts(id: string) {
    const { sql } = database();
    const { repositoryId } = repository;
    const [submission] = await sql<
      (ResultColumns & { tests: Uint8Array; testCount: number })[]
    >`
      select durations, duration_unit as "durationUnit", exceptions, l.tests,
        l.test_count as "testCount"
      from submission s join test_list l using (repository_id, test_list_no)
      where repository_id = ${repositoryId} and submission_id = decode(${id}, 'hex')`;
    const names = await sql<{ no: number; name: string }[]>`
      select test_no as no, name from test where repository_id = ${repositoryId}`;
    const nameOf = new Map(names.map(({ no, name }) => [no, name]));
    const negatives = await sql<NegativeRow[]>`
      select t.name, conclusion, encode(text_id, 'hex') as "textId"
      from negative_result join test t using (repository_id, test_no)
      where repository_id = ${repositoryId} and submission_id = decode(${id}, 'hex')
      order by result_no`;
    const textIds = negatives.map(({ textId }) => textId);
    const texts = await loadTexts(sql, { repositoryId, textIds });
    const testNos = decodeTestList(submission!.tests, submission!.testCount);
    return new Map(Array.from(testNos, (testNo, index) => {
      const name = nameOf.get(testNo)!;
      const own = negatives.filter((negative) => negative.name === name).values();
      const attempts = attemptsOf(submission!, index, testNos.length).map(
        ({ kind, ...attempt }) => {
          if (kind !== "negative") return { kind, ...attempt };
          const { conclusion, textId } = own.next().value!;
          return { kind, ...attempt, conclusion, ...texts.get(textId) };
        },
      );
      assert.ok(own.next().done, "each negative result is an attempt");
      return [name, attempts];
    }));
  }

  it("equal the results of the report, in its order", async () => {
    const random = new Random(5);
    for (let round = 0; round < ROUNDS; round++) {
      const unit = random.below(2) === 0 ? 1 : 1_000;
      const results = Array.from({ length: 1 + random.below(30) }, () => {
        const conclusion = CONCLUSIONS[random.below(3) === 0 ? random.below(5) : 0]!;
        return {
          name: `test ${random.below(10)}`,
          conclusion,
          durationMicroseconds: random.below(10_000) * unit,
          message: isNegative(conclusion) ? `failed ${random.below(4)}` : "",
          body: isNegative(conclusion) ? `at line ${random.below(4)}` : "",
        };
      });
      const { submissionId } = await fixture.upload(repository, results);
      const expected = [...Map.groupBy(results, ({ name }) => name)].map(([name, own]) =>
        [name, own.map(asStored)] as const
      );
      assert.deepEqual(await storedAttempts(submissionId), new Map(expected));
    }
  });
});

function asStored(
  result: Pick<TestResult, "conclusion" | "durationMicroseconds" | "message" | "body">,
) {
  const { conclusion, durationMicroseconds, message, body } = result;
  const attempt = { kind: kindOf(conclusion), durationMicroseconds };
  return isNegative(conclusion) ? { ...attempt, conclusion, message, body } : attempt;
}
