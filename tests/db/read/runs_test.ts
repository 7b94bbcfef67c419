import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../../db/admin/repositories.ts";
import {
  loadLatestRuns,
  loadRunGroups,
  loadRuns,
  loadTestDurations,
} from "../../../db/read/runs.ts";
import { describeWithDatabases } from "../../database.ts";
import { createFixture, type Fixture, NOW } from "../../routes/fixture.ts";

describeWithDatabases("runs of tests", (database) => {
  let fixture: Fixture;
  let names = 0;

  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
  });

  const newRepository = () => fixture.addRepository("acme", `repository-${names++}`);

  /** Uploads a run of one test per branch, a second apart; returns the branches, newest first. */
  async function uploadRuns(repository: Repository, branches: string[]): Promise<string[]> {
    for (const [index, branch] of branches.entries()) {
      await fixture.upload(repository, [{ name: `of ${branch}` }], {
        branch,
        recordedAt: NOW - 1_000 + index,
      });
    }
    return branches.toReversed();
  }

  const branchesOf = (runs: readonly { branch: string | null }[]) =>
    runs.map(({ branch }) => branch);

  it("have the duration of each test, wherever it is in the list and however many bytes it has", async () => {
    const { sql } = database();
    const repository = await newRepository();
    const { repositoryId } = repository;
    const milliseconds = [0, 1, 127, 128, 300, 16_383, 16_384, 3_600_000, 5];
    // Whole milliseconds are stored as such, others as microseconds.
    const runs = [
      milliseconds,
      milliseconds.map((ms) => ms + 0.5),
      // A byte each: nothing is to spare.
      [...milliseconds.keys()],
      [9],
      [7, 70_000],
    ];
    const expected = new Map<string, Map<string, number>>();
    for (const [index, durations] of runs.entries()) {
      const results = durations.map((ms, test) => (
        { name: `test ${test}`, durationMicroseconds: ms * 1_000 }
      ));
      const { key } = await fixture.upload(repository, results, { recordedAt: NOW - index });
      for (const { name, durationMicroseconds } of results) {
        if (!expected.has(name)) expected.set(name, new Map());
        expected.get(name)!.set(key, durationMicroseconds);
      }
    }
    const stored = await loadRuns(sql, { repositoryId, columns: ["tests"] });
    const keys = await sql<{ key: string; submissionId: string }[]>`
      select key, encode(submission_id, 'hex') as "submissionId" from submission
      where repository_id = ${repositoryId}`;
    const keyOf = new Map(keys.map(({ key, submissionId }) => [submissionId, key]));
    const tests = await sql<{ testNo: number; name: string }[]>`
      select test_no as "testNo", name from test where repository_id = ${repositoryId}`;
    assert.equal(tests.length, milliseconds.length);
    for (const { testNo, name } of tests) {
      const found = await loadTestDurations(sql, { repositoryId, testNo, runs: stored });
      const byKey = [...found].map(([id, duration]) => [keyOf.get(id)!, duration] as const);
      assert.deepEqual(new Map(byKey.sort()), new Map([...expected.get(name)!].sort()), name);
    }
  });

  it("are the latest of each repository, up to a number of each and a number of all", async () => {
    const { sql } = database();
    const repositories = [await newRepository(), await newRepository(), await newRepository()];
    for (const [index, branches] of [["a", "b", "c"], ["d", "left out", "e"], ["f"]].entries()) {
      await uploadRuns(repositories[index]!, branches);
    }
    const repositoryIds = repositories.map(({ repositoryId }) => repositoryId);
    const load = async (limit: number, total: number) => {
      const found = await loadLatestRuns(sql, {
        repositoryIds: repositoryIds.toReversed(),
        columns: ["branch", "tests"],
        where: sql`s.branch <> 'left out'`,
        limit,
        total,
      });
      for (const runs of found.values()) {
        for (const { tests } of runs) assert.equal(tests.testNos.length, 1);
      }
      return [...found].map(([id, runs]) =>
        [repositoryIds.indexOf(id), branchesOf(runs)] as [number, string[]]
      );
    };
    assert.deepEqual(await load(9, 99), [[0, ["c", "b", "a"]], [1, ["e", "d"]], [2, ["f"]]]);
    assert.deepEqual(await load(1, 99), [[0, ["c"]], [1, ["e"]], [2, ["f"]]]);
    // The last repository may have more runs than are left of all.
    const [all, [index, some] = [], ...others] = await load(2, 3);
    assert.deepEqual([all, index, some!.length, others], [[0, ["c", "b"]], 1, 1, []]);
    assert.deepEqual(await load(2, 2), [[0, ["c", "b"]]]);
  });

  it("of several groups are those that each group has when it is loaded alone", async () => {
    const { sql } = database();
    const repository = await newRepository();
    const { repositoryId } = repository;
    const branches = await uploadRuns(repository, ["a", "b", "c", "d", "e"]);
    const columns = ["branch", "tests", "results"] as const;
    const isLater = sql`s.branch >= 'c'`;
    const groups = {
      all: {},
      oldest: { order: "oldest first", limit: 2 },
      later: { where: isLater, limit: 2 },
      none: { where: sql`false` },
      absent: null,
    } as const;
    const found = await loadRunGroups(sql, {
      repositoryId,
      columns,
      flags: { isLater },
      groups,
    });
    assert.deepEqual(branchesOf(found.all), branches);
    assert.deepEqual(branchesOf(found.oldest), ["a", "b"]);
    assert.deepEqual(branchesOf(found.later), ["e", "d"]);
    assert.deepEqual([found.none, found.absent], [[], []]);
    assert.deepEqual(found.all.map(({ isLater }) => isLater), [true, true, true, false, false]);
    for (const name of ["all", "oldest", "later"] as const) {
      const alone = await loadRuns(sql, { repositoryId, columns, ...groups[name] });
      assert.deepEqual(found[name].map(({ isLater: _, ...run }) => run), alone, name);
    }
    const nothing = await loadRunGroups(sql, { repositoryId, columns, groups: { absent: null } });
    assert.deepEqual(nothing, { absent: [] });
  });
});
