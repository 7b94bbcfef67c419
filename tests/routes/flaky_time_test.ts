import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { loadFlakyMicroseconds } from "../../db/read/flaky_time.ts";
import type { Upload } from "../../db/write/store_submission.ts";
import { parseTestId } from "../../lib/base/identity.ts";
import type { Conclusion } from "../../lib/report/result.ts";
import { describeWithDatabases } from "../database.ts";
import { commandLine } from "../lib/cli/run_in_process.ts";
import { createShop, DAY, type Fixture, idOf, NOW } from "./fixture.ts";

/** Tests of these names: each attempt with its conclusion, and as many seconds as given. */
type Report = [name: string, seconds: number, conclusion?: Conclusion][];

const SLOW: Report = [["slow", 600]];

describeWithDatabases("the time that flaky failures cost", (database) => {
  let fixture: Fixture;
  let next = 0;
  before(async () => {
    ({ fixture } = await createShop(database()));
  });

  async function cost(
    ...uploads: [report: Report, more?: Partial<Upload>][]
  ): Promise<{ seconds: number; repository: Repository }> {
    const repository = await fixture.addRepository("acme", `project-${next++}`);
    for (const [index, [report, more]] of uploads.entries()) {
      const results = report.map(([name, seconds, conclusion = "passing"]) => (
        { name, durationMicroseconds: seconds * 1_000_000, conclusion }
      ));
      await fixture.upload(repository, results, {
        recordedAt: NOW - 1000 + index,
        environment: "Linux",
        job: "unit",
        ...more,
      });
    }
    const { repositoryId } = repository;
    const since = NOW - 7 * DAY;
    const found = await loadFlakyMicroseconds(database().sql, { repositoryId, since });
    return { seconds: found / 1_000_000, repository };
  }

  const FAILED: Report = [...SLOW, ["a", 5, "failure"]];
  const PASSED: Report = [...SLOW, ["a", 4]];

  it("is that of failed attempts where a retry passed", async () => {
    const { seconds } = await cost([[...SLOW, ["a", 5, "failure"], ["a", 3, "error"], ["a", 4]]]);
    assert.equal(seconds, 8);
  });

  it("is that of the whole job when it was run again", async () => {
    assert.equal((await cost([FAILED], [PASSED])).seconds, 5 + 604);
    assert.equal((await cost([FAILED], [FAILED], [PASSED])).seconds, 5 + 605 + 604);
  });

  it("is not that of other code, environments, jobs or shards, or of earlier weeks", async () => {
    const proof: [Report, Partial<Upload>] = [[["a", 4]], { recordedAt: NOW - 2000 }];
    const others: [Report, Partial<Upload>?][] = [
      [PASSED, { commitOid: "c2c2c2c" }],
      [PASSED, { environment: "Windows" }],
      [PASSED, { job: "integration" }],
      [SLOW],
    ];
    for (const other of others) assert.equal((await cost(proof, [FAILED], other)).seconds, 5);
    const old = { recordedAt: NOW - 8 * DAY };
    assert.equal(
      (await cost([FAILED, old], [[["a", 4]], { recordedAt: old.recordedAt + 1 }])).seconds,
      0,
    );
  });

  it("is nothing for failures that are not flaky", async () => {
    assert.equal((await cost([FAILED], [FAILED])).seconds, 0);
  });

  it("is that of some tests: their failed attempts, and jobs that were run again after them", async () => {
    const both: Report = [...SLOW, ["a", 5, "failure"], ["b", 7, "failure"], ["b", 2]];
    const again: Report = [...SLOW, ["a", 4], ["b", 2]];
    const { seconds, repository } = await cost([both], [again]);
    assert.equal(seconds, 5 + 7 + 606);
    const ofTests = async (...names: string[]) => {
      const since = NOW - 7 * DAY;
      const testHashes = names.map((name) => parseTestId(idOf(repository, { name }))!.testHash);
      const { repositoryId } = repository;
      const query = { repositoryId, since, testHashes };
      return await loadFlakyMicroseconds(database().sql, query) / 1_000_000;
    };
    assert.equal(await ofTests("a"), 5 + 606);
    // It passed at last: the job was not run again because of it.
    assert.equal(await ofTests("b"), 7);
    assert.equal(await ofTests("a", "b"), seconds);
    assert.equal(await ofTests("slow"), 0);
    assert.equal(await ofTests(), 0);
  });

  it("is shown on the page of a repository and in the digest", async () => {
    const { repository } = await cost([FAILED], [PASSED]);
    const html = await (await fixture.get(`/repos/acme/${repository.name}`)).text();
    assert.match(html, /10 m 9 s<small>of tests, last 7 days<\/small>/);
    const cli = commandLine(database, { now: () => NOW });
    const digest = await cli(`digest --org acme --repo acme/${repository.name}`);
    assert.match(digest.stdout, /flaky failures cost 10 m 9 s of tests/);
  });
});
