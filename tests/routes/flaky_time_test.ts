import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { loadFlakyMicroseconds, loadFlakyWeeks } from "../../db/read/flaky_time.ts";
import type { Upload } from "../../db/write/store_submission.ts";
import { parseTestId } from "../../lib/base/identity.ts";
import type { Conclusion } from "../../lib/report/result.ts";
import { describeWithDatabase } from "../database.ts";
import { commandLine } from "../lib/cli/run_in_process.ts";
import { createShop, DAY, type Fixture, idOf, NOW } from "./fixture.ts";

/** Tests of these names: each attempt with its conclusion, and as many seconds as given. */
type Report = [name: string, seconds: number, conclusion?: Conclusion][];

const SLOW: Report = [["slow", 600]];

describeWithDatabase("the time that flaky failures cost", (database) => {
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
    const found = await loadFlakyMicroseconds(database().sql, { repositoryId, now: NOW, since });
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

  it("is not that of a job that was run again for a broken test after the flaky ones passed", async () => {
    const run = (...kinds: [a: Conclusion, b: Conclusion]): [Report] => [[
      ...SLOW,
      ["a", 5, kinds[0]],
      ["b", 7, kinds[1]],
      ["broken", 20, "failure"],
    ]];
    const [failed, passed, skipped] = ["failure", "passing", "skipped"] as const;
    assert.equal((await cost(run(failed, passed), run(passed, passed))).seconds, 5 + 632);
    const again = run(passed, passed);
    assert.equal((await cost(run(failed, passed), again, again)).seconds, 5 + 632);
    // It passed in neither: the third run still repeats it.
    assert.equal(
      (await cost(run(failed, passed), run(skipped, passed), again)).seconds,
      5 + 2 * 632,
    );
    // One after the other.
    const other = run(passed, failed);
    assert.equal((await cost(run(failed, passed), other, again, again)).seconds, 5 + 2 * 632);
    // It failed once more after a run that was not for it.
    assert.equal(
      (await cost(run(failed, passed), again, run(failed, passed), again)).seconds,
      5 + 632 + 5 + 632,
    );
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

  it("is not that of nightly runs of the same code, but of all builds of a branch", async () => {
    const built = (branch: string, build: number): Partial<Upload> => (
      { branch, buildUrl: `https://ci.example.com/${next}/${build}`, attempt: "1" }
    );
    const nightly = await cost([FAILED, built("main", 1)], [PASSED, built("main", 2)]);
    assert.equal(nightly.seconds, 5);
    const again = { ...built("main", 1), attempt: "2" };
    assert.equal((await cost([FAILED, built("main", 1)], [PASSED, again])).seconds, 5 + 604);
    const pull = await cost([FAILED, built("fix", 1)], [PASSED, built("fix", 2)]);
    // Without a build on a usual base branch, "fix" would be taken for it.
    assert.equal(pull.seconds, 5);
    const main: [Report, Partial<Upload>] = [SLOW, { ...built("main", 3), commitOid: "d3d3d3d" }];
    const off = await cost(main, [FAILED, built("fix", 1)], [PASSED, built("fix", 2)]);
    assert.equal(off.seconds, 5 + 604);
  });

  it("is that of each week, for several repositories at once", async () => {
    const before = { recordedAt: NOW - 9 * DAY };
    const first = await cost(
      [FAILED, before],
      [PASSED, { recordedAt: before.recordedAt + 1 }],
      [FAILED, { commitOid: "e5e5e5e" }],
      [PASSED, { commitOid: "e5e5e5e" }],
    );
    // Weeks end now, not with the day.
    const second = await cost(
      [[...SLOW, ["a", 3, "failure"], ["a", 4]], { recordedAt: NOW - 7.1 * DAY }],
      [[...SLOW, ["a", 5, "failure"], ["a", 4]], { recordedAt: NOW - 6.9 * DAY }],
    );
    const none = await cost([PASSED]);
    const repositoryIds = [first, second, none].map(({ repository }) => repository.repositoryId);
    const query = { repositoryIds, now: NOW, weekCount: 3 };
    const found = await loadFlakyWeeks(database().sql, query);
    const inSeconds = (one: { repository: Repository }) =>
      found.get(one.repository.repositoryId)?.map((time) => time / 1_000_000);
    assert.deepEqual(inSeconds(first), [0, 609, 609]);
    assert.deepEqual(inSeconds(second), [0, 3, 5]);
    assert.equal(inSeconds(none), undefined);
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
      const query = { repositoryId, now: NOW, since, testHashes };
      return await loadFlakyMicroseconds(database().sql, query) / 1_000_000;
    };
    assert.equal(await ofTests("a"), 5 + 606);
    // It passed at last: the job was not run again because of it.
    assert.equal(await ofTests("b"), 7);
    assert.equal(await ofTests("a", "b"), seconds);
    assert.equal(await ofTests("slow"), 0);
    assert.equal(await ofTests(), 0);
  });

  it("is the same in the list of repositories, on the page of one and in the digest", async () => {
    const week = { recordedAt: NOW - 6.9 * DAY };
    const { repository } = await cost(
      [FAILED, week],
      [PASSED, { recordedAt: week.recordedAt + 1 }],
    );
    const html = await (await fixture.get(`/repos/acme/${repository.name}`)).text();
    assert.match(html, /Cost of flaky failures[^]*10 m 9 s[^]*in 14 days/);
    const cli = commandLine(database, { now: () => NOW });
    const digest = await cli(`digest --org acme --repo acme/${repository.name}`);
    assert.match(digest.stdout, /flaky failures cost 10 m 9 s of tests/);
    const list = await (await fixture.get(`/repos.ndjson?q=${repository.name}`)).text();
    const [item] = list.trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(item.flaky_seconds_by_week, [0, 0, 0, 0, 0, 0, 0, 609]);
    const all = await (await fixture.get(`/repos?q=${repository.name}`)).text();
    assert.match(all, /Cost of flaky failures[^]*10 m 9 s/);
  });
});
