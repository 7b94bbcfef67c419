import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Sql } from "postgres";
import type { Queryable } from "../../../../db/connection/sql.ts";
import type { RepositoryVersion } from "../../../../db/read/caller.ts";
import { readSnapshot } from "../../../../db/read/snapshot.ts";
import { loadTrackedTests } from "../../../../db/read/tracked_tests.ts";
import { pause } from "../../../../lib/base/delay.ts";
import { WINDOW_SECONDS } from "../../../../lib/base/time.ts";
import {
  RequestOverError,
  TestCache,
  type TestsRequest,
} from "../../../../lib/http/test_cache/cache.ts";
import { describeWithDatabase } from "../../../database.ts";
import { gatedSql } from "../../../oracle/gated_sql.ts";
import { createFixture, type Fixture, flaky, NOW } from "../../../routes/fixture.ts";

const MOMENT = { now: NOW, windowStart: NOW - WINDOW_SECONDS };
/** More than two batches. */
const REPOSITORIES = 210;
const CACHE_BYTES = 100e6;
/** That load a batch. */
const BATCH_STATEMENTS = 6;

describeWithDatabase("the cache of tests", (database) => {
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
    const states = await readSnapshot(
      database().sql,
      (tx) => loadTrackedTests(tx, { repositoryIds, ...MOMENT }),
    );
    return repositoryIds.map((repositoryId) => ({
      repositoryId,
      idPrefix: repositoryId,
      repositoryNumber: repositoryId,
      ownerKey: "acme",
      nameKey: String(repositoryId),
      testNo: null,
      submissionId: null,
      ...states.get(repositoryId)!.version,
    }));
  }

  /**
   * Runs `body` with a new cache in a snapshot that counts its statements, and waits before each. After the
   * first the clock goes forward by `passMs`.
   */
  async function withCache(
    body: (cache: TestCache, tx: Queryable, counts: { all: number; most: number }) => Promise<void>,
    { cacheBytes = CACHE_BYTES, delayMs = 0, passMs = 0 } = {},
  ): Promise<void> {
    const counts = { all: 0, running: 0, most: 0 };
    const { now } = performance;
    performance.now = () => now.call(performance) + (counts.all > 0 ? passMs : 0);
    await readSnapshot(database().sql, async (tx) => {
      const gated = gatedSql(tx as Sql, async (place) => {
        counts.running += place === "before" ? 1 : -1;
        counts.most = Math.max(counts.most, counts.running);
        if (place === "after") return;
        counts.all++;
        await pause(delayMs);
      });
      await body(new TestCache(cacheBytes), gated, counts);
    }).finally(() => performance.now = now);
  }

  const newRequest = (options: Partial<TestsRequest> = {}, timeoutMs = 60_000) => ({
    repositories,
    ...MOMENT,
    ...options,
    deadline: performance.now() + timeoutMs,
  });

  it("loads many repositories in batches, and then from the cache", async () => {
    await withCache(async (cache, tx, counts) => {
      assert.equal(await cache.find(newRequest()), null);
      const { tests } = await cache.load(tx, newRequest());
      assert.deepEqual([tests.length, counts.all], [3, 3 * BATCH_STATEMENTS]);
      assert.equal((await cache.find(newRequest()))!.tests.length, 3);
      await cache.load(tx, newRequest());
      assert.equal(counts.all, 3 * BATCH_STATEMENTS);
    });
  });

  it("returns no test of another version than the request has", async () => {
    await withCache(async (cache, tx, counts) => {
      const [first, ...others] = repositories as [RepositoryVersion];
      const later = { ...first, dataVersion: first.dataVersion + 1 };
      await cache.load(tx, newRequest());
      const before = counts.all;
      assert.equal(await cache.find(newRequest({ repositories: [later, ...others] })), null);
      await cache.load(tx, newRequest({ repositories: [later, ...others] }));
      assert.ok(counts.all > before);
    });
  });

  it("stops between batches when the request is over", async () => {
    await withCache(async (cache, tx, counts) => {
      await assert.rejects(cache.load(tx, newRequest()), RequestOverError);
      assert.equal(counts.all, BATCH_STATEMENTS);
    }, { passMs: 120_000 });
  });

  it("goes on while another request waits for the same, with a snapshot or without one", async () => {
    await withCache(async (cache, tx, counts) => {
      const loads = [
        cache.load(tx, newRequest()),
        cache.load(tx, newRequest({}, 600_000)),
        cache.find(newRequest()),
        cache.load(tx, newRequest({}, 0)),
      ];
      const loaded = await Promise.all(loads);
      assert.deepEqual(loaded.map((found) => found?.tests.length), [3, 3, 3, 3]);
      assert.equal(counts.all, 3 * BATCH_STATEMENTS);
    }, { passMs: 120_000 });
  });

  it("loads by itself what another request failed to load", async () => {
    await withCache(async (cache, tx, counts) => {
      const broken = gatedSql(tx as Sql, async () => {
        await pause(20);
        throw new Error("the connection was lost");
      });
      const failed = cache.load(broken, newRequest());
      const shared = [cache.load(tx, newRequest()), cache.load(tx, newRequest())];
      const found = cache.find(newRequest());
      await assert.rejects(failed, /was lost/);
      assert.equal(await found, null);
      for (const one of shared) assert.equal((await one).tests.length, 3);
      assert.equal(counts.all, 3 * BATCH_STATEMENTS, "one of them loads, the other shares");
    });
  });

  it("runs loads of many repositories one at a time, and others concurrently", async () => {
    await withCache(async (cache, tx, counts) => {
      await Promise.all(
        [false, true].map((withTime) => cache.load(tx, newRequest({ withTime }))),
      );
      assert.deepEqual([counts.all, counts.most], [6 * BATCH_STATEMENTS, BATCH_STATEMENTS]);
    }, { delayMs: 10 });
    await withCache(async (cache, tx, counts) => {
      await Promise.all([
        cache.load(tx, newRequest()),
        cache.load(tx, newRequest({ repositories: repositories.slice(0, 2), withTime: true })),
      ]);
      assert.equal(counts.most, 2 * BATCH_STATEMENTS);
    }, { delayMs: 10 });
  });
});
