import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { deleteSubmission } from "../../../db/write/delete_submission.ts";
import { planPrune, pruneRepository, pruneTests, reclaimSpace } from "../../../db/write/prune.ts";
import type { Repository } from "../../../db/admin/repositories.ts";
import { Random } from "../../../tools/measure/bench/random.ts";
import { describeWithDatabases, describeWithEmbedded } from "../../database.ts";
import {
  createFixture,
  DAY,
  type Fixture,
  flaky,
  idOf,
  NOW,
  quarantine,
} from "../../routes/fixture.ts";
import {
  allAnswers,
  assertNothingLeftOver,
  assertWhole,
  lastingFacts,
  randomTestIds,
  randomUpload,
} from "./prune_fixture.ts";

const KEEP = 30 * DAY;
const OLD = NOW - 60 * DAY;

/** Histories that are compared. */
const HISTORIES = 1;
/** Submissions of each, of two repositories. */
const SUBMISSIONS = 60;

const NOTHING = { submissionCount: 0, testResultCount: 0 };

let fixtureCount = 0;

describeWithDatabases("pruning", (database) => {
  const prune = ({ repositoryId }: Repository, more: { stop?: AbortSignal } = {}) =>
    pruneRepository(database().sql, { repositoryId, cutoff: NOW - KEEP, ...more });
  const newFixture = () => createFixture(database(), { name: `prune ${fixtureCount++}` });

  async function keysOf({ repositoryId }: Repository): Promise<string[]> {
    const rows = await database().sql<{ key: string }[]>`
      select key from submission where repository_id = ${repositoryId} order by submission_id`;
    return rows.map(({ key }) => key);
  }

  async function namesOf({ repositoryId }: Repository): Promise<string[]> {
    const rows = await database().sql<{ name: string }[]>`
      select name from test where repository_id = ${repositoryId} order by name`;
    return rows.map(({ name }) => name);
  }

  async function rowCount(table: string, { repositoryId }: Repository): Promise<number> {
    const { sql } = database();
    return (await sql`select from ${sql(table)} where repository_id = ${repositoryId}`).length;
  }

  /** What the inventory says of a quarantined test. */
  async function quarantined(fixture: Fixture, repository: Repository, name: string) {
    const include = "tags,nondeterminism_first_recorded_at,recent_nondeterministic_commit_oid," +
      "recent_nondeterministic_negative_result";
    const response = await fixture.get(`/api/v1/flaky/tests?include=${include}`);
    const { tests } = await response.json();
    return tests.find(({ id }: { id: string }) => id === idOf(repository, { name }));
  }

  it("leaves the lists of the window, and what is kept for good, unchanged to the byte", async () => {
    let testCount = 0;
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const random = new Random(seed);
      const fixture = await newFixture();
      const repositories = [
        await fixture.addRepository("acme", "one"),
        await fixture.addRepository("acme", "two"),
      ];
      const keys: string[] = [];
      for (let i = 0; i < SUBMISSIONS; i++) {
        const repository = repositories[random.below(2)]!;
        keys.push((await randomUpload(database(), repository, random)).key);
        if (i % 10 === 9) {
          const [test] = await database().sql<{ hash: number }[]>`
            select test_hash::float8 as hash from test t
            where repository_id = ${repository.repositoryId} and not exists (
              select from quarantine q
              where (q.repository_id, q.test_no) = (t.repository_id, t.test_no))
            order by test_hash limit 1`;
          const ids = randomTestIds(repository);
          const id = ids.find((each) =>
            test && BigInt(`0x${each.slice(11)}`) === BigInt(test.hash)
          );
          if (id) await quarantine(database(), id);
        }
      }
      const before = await allAnswers(fixture, repositories);
      const facts = await lastingFacts(database());
      for (const repository of repositories) {
        const scope = { repositoryId: repository.repositoryId, cutoff: NOW - KEEP };
        const plan = await planPrune(database().sql, scope);
        const counts = async () => [
          await rowCount("test_list", repository),
          await rowCount("test", repository),
        ];
        const [lists, tests] = await counts();
        const pruned = await prune(repository);
        assert.deepEqual(pruned, plan, "a dry run told the truth");
        assert.ok(pruned.submissionCount > 5, JSON.stringify(pruned));
        const left = await counts();
        assert.ok(lists! - left[0]! > 2, `${lists} lists, ${left[0]} left`);
        testCount += tests! - left[1]!;
        assert.deepEqual(await prune(repository), NOTHING, "nothing is left to prune");
        assert.deepEqual(await counts(), left);
      }
      assert.deepEqual(await allAnswers(fixture, repositories), before);
      assert.deepEqual(await lastingFacts(database()), facts);
      await assertWhole(database());
      await assertNothingLeftOver(database());

      // No cached response from before.
      const fresh = await createFixture(database(), { name: `fresh ${fixtureCount++}` });
      const authorization = { authorization: `token ${fixture.token}` };
      const get: Fixture["get"] = (path) =>
        fresh.app(new Request(`http://127.0.0.1:8000${path}`, { headers: authorization }));
      assert.deepEqual(await allAnswers({ get }, repositories), before);

      // What is left can be deleted like anything else.
      for (const key of keys) {
        await deleteSubmission(database().sql, { ...fixture.organization, key });
      }
      await assertWhole(database());
      await assertNothingLeftOver(database());
    }
    assert.ok(testCount > 2, `${testCount} tests were pruned`);
  });

  it("keeps old submissions whose code version ran again, so that they still judge", async () => {
    const fixture = await newFixture();
    const repository = await fixture.addRepository("acme", "shop");
    const old = await fixture.upload(repository, [{ name: "a" }], { recordedAt: OLD });
    await fixture.upload(repository, [{ name: "a" }], { recordedAt: OLD, commitOid: "dead000" });
    const recent = await fixture.upload(repository, [{ name: "b" }]);
    assert.equal((await prune(repository)).submissionCount, 1);
    assert.deepEqual(await keysOf(repository), [old.key, recent.key]);
    const late = await fixture.upload(repository, [{ name: "a", conclusion: "failure" }]);
    assert.equal(late.disruptionCount, 1);
  });

  it("deletes old submissions of a commit that only another job, workflow or environment ran again", async () => {
    const fixture = await newFixture();
    const repository = await fixture.addRepository("acme", "shop");
    const kept: string[] = [];
    const runs = [
      { job: "unit", environment: "linux" },
      { job: "e2e", environment: "linux" },
      { job: "unit", environment: "windows" },
      { job: "lint", environment: "linux", workflow: "nightly" },
    ];
    for (const run of runs) {
      await fixture.upload(repository, [{ name: "a" }], { ...run, recordedAt: OLD });
    }
    for (const recordedAt of [OLD, NOW]) {
      const run = { job: "lint", environment: "linux", recordedAt };
      kept.push((await fixture.upload(repository, [{ name: "b" }], run)).key);
    }
    assert.equal((await prune(repository)).submissionCount, runs.length);
    assert.deepEqual(await keysOf(repository), kept);
  });

  it("deletes submissions of the second before the moment, not of the moment itself", async () => {
    const fixture = await newFixture();
    const repository = await fixture.addRepository("acme", "shop");
    const at = (age: number) =>
      fixture.upload(repository, [{}], { recordedAt: NOW - age, commitOid: `c${age}` });
    await at(KEEP + 1);
    const edge = await at(KEEP);
    await prune(repository);
    assert.deepEqual(await keysOf(repository), [edge.key]);
  });

  it("keeps a first disruption when a later submission is deleted", async () => {
    const fixture = await newFixture();
    const repository = await fixture.addRepository("acme", "shop");
    await fixture.upload(repository, flaky("a"), { recordedAt: OLD, commitOid: "old" });
    const first = await fixture.upload(repository, flaky("a"), { commitOid: "new" });
    const second = await fixture.upload(repository, flaky("a"), {
      commitOid: "newest",
      recordedAt: NOW - 50,
    });
    await quarantine(database(), idOf(repository, { name: "a" }));
    await prune(repository);
    const told = async () => {
      const test = await quarantined(fixture, repository, "a");
      return [test.nondeterminism_first_recorded_at, test.recent_nondeterministic_commit_oid];
    };
    const oldest = "2026-07-23T14:13:20Z";
    assert.deepEqual(await told(), [oldest, "newest"]);
    await deleteSubmission(database().sql, { ...fixture.organization, key: second.key });
    assert.deepEqual(await told(), [oldest, "new"]);
    // Of the one that was pruned nothing but its date is known.
    await deleteSubmission(database().sql, { ...fixture.organization, key: first.key });
    assert.deepEqual(await told(), [oldest, ""]);
    assert.deepEqual(await namesOf(repository), ["a"]);
  });

  it("keeps the latest disruption of a test that ran in older submissions only since", async () => {
    const fixture = await newFixture();
    const repository = await fixture.addRepository("acme", "shop");
    // Its code version runs in the window, so it stays, although it is the older one.
    const live = await fixture.upload(repository, flaky("a"), {
      recordedAt: OLD,
      commitOid: "a11fe00",
    });
    await fixture.upload(repository, [{ name: "b" }], { commitOid: "a11fe00" });
    await fixture.upload(repository, flaky("a"), { recordedAt: OLD + DAY, commitOid: "dead000" });
    await quarantine(database(), idOf(repository, { name: "a" }));
    await prune(repository);
    await deleteSubmission(database().sql, { ...fixture.organization, key: live.key });
    const test = await quarantined(fixture, repository, "a");
    assert.equal(test.recent_nondeterministic_commit_oid, "dead000");
    assert.equal(test.nondeterminism_first_recorded_at, "2026-07-24T14:13:20Z");
  });

  it("keeps the tags of a test when a submission with other tags is deleted", async () => {
    const fixture = await newFixture();
    const repository = await fixture.addRepository("acme", "shop");
    await fixture.upload(repository, [{ name: "a" }], {
      recordedAt: OLD,
      commitOid: "old",
      tags: ["pruned", "both"],
    });
    const { key } = await fixture.upload(repository, [{ name: "a" }], { tags: ["both", "own"] });
    await fixture.upload(repository, [{ name: "a" }], { commitOid: "c2" });
    await quarantine(database(), idOf(repository, { name: "a" }));
    const tags = async () => (await quarantined(fixture, repository, "a")).tags;
    await prune(repository);
    assert.deepEqual(await tags(), ["both", "own", "pruned"]);
    await deleteSubmission(database().sql, { ...fixture.organization, key });
    assert.deepEqual(await tags(), ["pruned"]);
  });

  it("keeps the latest coverage, however old, and deletes other old coverage", async () => {
    const fixture = await newFixture();
    const repository = await fixture.addRepository("acme", "shop");
    for (const age of [80, 60, 70]) {
      await fixture.upload(repository, [{}], {
        recordedAt: NOW - age * DAY,
        commitOid: `c${age}`,
        coverage: { coveredLineCount: age, lineCount: 100 },
      });
    }
    assert.equal((await prune(repository)).submissionCount, 3);
    assert.equal(await rowCount("coverage_report", repository), 1);
    const badge = await fixture.get("/api/v1/coverage/badges?repository=shop");
    assert.match(await badge.text(), />70%</);
  });

  it("deletes tests without runs, except those with a disruption or a quarantine", async () => {
    const fixture = await newFixture();
    const repository = await fixture.addRepository("acme", "shop");
    const names = ["only old", "old and quarantined"].map((name) => ({ name }));
    await fixture.upload(repository, [...names, ...flaky("old and flaky")], { recordedAt: OLD });
    await fixture.upload(repository, [{ name: "recent" }], { commitOid: "c2" });
    await quarantine(database(), idOf(repository, { name: "old and quarantined" }));
    await prune(repository);
    assert.deepEqual(await namesOf(repository), [
      "old and flaky",
      "old and quarantined",
      "recent",
    ]);
    // One that comes back is the same test.
    await fixture.upload(repository, flaky("only old"), { commitOid: "c3" });
    const events = await fixture.get(
      `/api/tests/${idOf(repository, { name: "only old" })}/results`,
    );
    assert.equal((await events.json()).results.length, 1);
  });

  it("deletes a code version that is too large for one batch in several", async () => {
    const fixture = await newFixture();
    const repository = await fixture.addRepository("acme", "shop");
    const failing = Array.from({ length: 600 }, (_, i) => flaky(`test ${i}`)).flat();
    for (const commitOid of ["badc0de", "badc0de", "facade0"]) {
      await fixture.upload(repository, failing, { recordedAt: OLD, commitOid });
    }
    for (let i = 0; i < 60; i++) {
      await fixture.upload(repository, [{ name: "a" }], {
        recordedAt: OLD + i,
        commitOid: "0f7e000",
      });
    }
    const { key } = await fixture.upload(repository, [{ name: "a" }], { commitOid: "c2" });
    const pruned = await prune(repository);
    assert.deepEqual([pruned.submissionCount, pruned.testResultCount], [63, 3_660]);
    assert.deepEqual(await keysOf(repository), [key]);
    await assertWhole(database());
  });

  it("stops after the current batch, leaves whole submissions, and resumes later", async () => {
    const fixture = await newFixture();
    const repository = await fixture.addRepository("acme", "shop");
    for (let i = 0; i < 60; i++) {
      await fixture.upload(repository, flaky("a"), { recordedAt: OLD + i, commitOid: `c${i}` });
    }
    const stop = AbortSignal.abort();
    const first = await prune(repository, { stop });
    const { length: left } = await keysOf(repository);
    assert.ok(left > 0 && first.submissionCount + left === 60, `${left} are left`);
    await assertWhole(database());
    assert.equal((await prune(repository)).submissionCount, left);
  });

  it("runs concurrently with uploads and other prunes of the same repository", async () => {
    const fixture = await newFixture();
    const repository = await fixture.addRepository("acme", "shop");
    const random = new Random(7);
    const uploadCount = SUBMISSIONS / 2;
    for (let i = 0; i < uploadCount; i++) {
      await randomUpload(database(), repository, random, OLD + i * 60);
    }
    let uploading = true;
    const uploads = (async () => {
      const recent: string[] = [];
      for (let i = 0; i < uploadCount; i++) {
        // Tests of theirs are about to be pruned, or just were.
        const recordedAt = i % 2 === 0 ? NOW - i * 60 : OLD + i * DAY / 4;
        const { key } = await randomUpload(database(), repository, random, recordedAt);
        if (recordedAt >= NOW - KEEP) recent.push(key);
      }
      uploading = false;
      return recent;
    })();
    const keepPruning = async () => {
      let count = 0;
      while (uploading) count += (await prune(repository)).submissionCount;
      return count;
    };
    const [recent, ...counts] = await Promise.all([uploads, keepPruning(), keepPruning()]);
    const last = (await prune(repository)).submissionCount;
    assert.ok(
      counts.every((count) => count > 0) || counts[0]! + counts[1]! >= uploadCount,
      `${counts}`,
    );
    const left = new Set(await keysOf(repository));
    for (const key of recent) assert.ok(left.has(key), `${key} stayed`);
    assert.equal(counts[0]! + counts[1]! + last + left.size, 2 * uploadCount);
    await assertWhole(database());
    await assertNothingLeftOver(database());
  });

  it("keeps a test that is uploaded again while tests are deleted", async () => {
    const fixture = await newFixture();
    const repository = await fixture.addRepository("acme", "shop");
    const tests = Array.from({ length: 600 }, (_, i) => ({ name: `test ${i}` }));
    const { key } = await fixture.upload(repository, tests, { recordedAt: OLD });
    await database().sql`delete from submission where key = ${key}`;
    await database().sql`delete from test_list where repository_id = ${repository.repositoryId}`;
    const batches = pruneTests(database().sql, repository);
    await batches.next();
    const [name, ...others] = await namesOf(repository);
    assert.ok(name && others.length < 599);
    await fixture.upload(repository, [{ name }]);
    for await (const _ of batches);
    assert.deepEqual(await namesOf(repository), [name]);
    await assertWhole(database());
  });

  it("ignores a repository that is deleted meanwhile", async () => {
    const pruned = await prune({ repositoryId: 999_999_999 } as Repository);
    assert.deepEqual(pruned, NOTHING);
  });
});

describeWithEmbedded("pruning without autovacuum", (database) => {
  it("frees space for new data", async () => {
    const fixture = await createFixture(database(), { name: "reclaimed" });
    const repository = await fixture.addRepository("acme", "one");
    const { repositoryId } = repository;
    const sizes: number[] = [];
    for (const round of ["first", "second", "third"]) {
      const results = Array.from({ length: 1_000 }, (_, i) => ({ name: `${round} ${i}` }));
      await fixture.upload(repository, results, { recordedAt: OLD });
      const [row] = await database().sql<{ size: number }[]>`
        select pg_relation_size('test')::int as size`;
      sizes.push(row!.size);
      await pruneRepository(database().sql, { repositoryId, cutoff: NOW - KEEP });
      await reclaimSpace(database());
    }
    assert.deepEqual(sizes, Array(3).fill(sizes[0]));
  });
});
