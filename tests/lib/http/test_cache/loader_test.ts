import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { RepositoryVersion } from "../../../../db/read/caller.ts";
import { loadTrackedTests } from "../../../../db/read/tracked_tests.ts";
import { pause } from "../../../../lib/base/delay.ts";
import { WINDOW_SECONDS } from "../../../../lib/base/time.ts";
import { createTestsLoader, RequestOverError } from "../../../../lib/http/test_cache/loader.ts";
import { describeWithDatabases } from "../../../database.ts";
import { gatedSql } from "../../../oracle/gated_sql.ts";
import { createFixture, type Fixture, flaky, NOW } from "../../../routes/fixture.ts";

const MOMENT = { now: NOW, windowStart: NOW - WINDOW_SECONDS };
/** More than two batches. */
const REPOSITORIES = 210;
const CACHE_BYTES = 100e6;

describeWithDatabases("the loader of tests", (database) => {
  let fixture: Fixture;
  let repositoryIds: number[] = [];
  let repositories: RepositoryVersion[] = [];

  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
    for (let no = 0; no < REPOSITORIES; no++) {
      const repository = await fixture.addRepository("acme", `shop-${no}`);
      if (no < 3) await fixture.upload(repository, flaky("t"));
      repositoryIds.push(repository.repositoryId);
    }
    repositoryIds = repositoryIds.sort((a, b) => a - b);
    repositories = await versions();
  });

  async function versions(): Promise<RepositoryVersion[]> {
    const { states } = await loadTrackedTests(database().sql, { repositoryIds, ...MOMENT });
    return repositoryIds.map((repositoryId) => ({
      repositoryId,
      repositoryNumber: repositoryId,
      ownerKey: "acme",
      nameKey: String(repositoryId),
      testNo: null,
      submissionId: null,
      ...states.get(repositoryId)!.version,
    }));
  }

  /** A new loader that counts its transactions, at once and in all, and waits before each. */
  function newLoader({ cacheBytes = CACHE_BYTES, delayMs = 0 } = {}) {
    const counts = { all: 0, running: 0, most: 0 };
    const sql = gatedSql(database().sql, async (place) => {
      counts.running += place === "before" ? 1 : -1;
      counts.most = Math.max(counts.most, counts.running);
      if (place === "after") return;
      counts.all++;
      await pause(delayMs);
    });
    return { load: createTestsLoader(sql, cacheBytes), counts };
  }

  const newRequest = (timeoutMs = 60_000) => ({
    deadline: performance.now() + timeoutMs,
    loaded: new Map(),
  });

  it("loads many repositories in batches of two transactions, and then from the cache", async () => {
    const { load, counts } = newLoader();
    const { tests } = await load(repositories, MOMENT, newRequest());
    assert.deepEqual([tests.length, counts.all], [3, 6]);
    await load(repositories, MOMENT, newRequest());
    assert.equal(counts.all, 6);
  });

  it("loads nothing twice for one request, however small the cache is", async () => {
    const { load, counts } = newLoader({ cacheBytes: 1 });
    const request = newRequest();
    await load(repositories, MOMENT, request);
    const changed = repositories.with(0, {
      ...repositories[0]!,
      dataVersion: repositories[0]!.dataVersion + 1,
    });
    await assert.rejects(load(changed, MOMENT, request), { name: "StaleVersionError" });
    assert.equal(counts.all, 6 + 2, "the second attempt loads what has changed");
    await load(repositories, MOMENT, newRequest());
    assert.equal(counts.all, 6 + 2 + 6, "another request begins again");
  });

  it("stops between batches when the request is over", async () => {
    const { load, counts } = newLoader({ delayMs: 50 });
    await assert.rejects(load(repositories, MOMENT, newRequest(20)), RequestOverError);
    assert.equal(counts.all, 2);
  });

  it("goes on while another request waits for the same", async () => {
    const { load, counts } = newLoader({ delayMs: 50 });
    const requests = [newRequest(20), newRequest(), newRequest(0)];
    const loaded = await Promise.all(requests.map((one) => load(repositories, MOMENT, one)));
    assert.deepEqual(loaded.map(({ tests }) => tests.length), [3, 3, 3]);
    assert.equal(counts.all, 6);
  });

  it("runs loads of many repositories one at a time, and others beside them", async () => {
    const { load, counts } = newLoader({ delayMs: 10 });
    await Promise.all(
      [false, true].map((withTime) => load(repositories, { ...MOMENT, withTime }, newRequest())),
    );
    assert.deepEqual([counts.all, counts.most], [12, 2]);
    const other = newLoader({ delayMs: 10 });
    await Promise.all([
      other.load(repositories, MOMENT, newRequest()),
      other.load(repositories.slice(0, 2), { ...MOMENT, withTime: true }, newRequest()),
    ]);
    assert.equal(other.counts.most, 4);
  });

  it("reloads only the repositories that uploads change meanwhile, and those three times", async () => {
    const [first = 0, second = 0] = repositoryIds;
    const repository = { repositoryId: first } as Parameters<Fixture["upload"]>[0];
    let transactions = 0;
    const sql = gatedSql(database().sql, async (place) => {
      // Between the two transactions of each load.
      if (place === "before" && ++transactions % 2 === 0) {
        await pause(20);
        await fixture.upload(repository, flaky(`t ${transactions}`));
      }
    });
    const { states, changed } = await loadTrackedTests(sql, {
      repositoryIds: [first, second],
      ...MOMENT,
    });
    assert.deepEqual([[...states.keys()], changed, transactions], [[second], [first], 6]);
  });
});
