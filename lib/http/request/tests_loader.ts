import { LRUCache } from "lru-cache";
import type { RepositoryVersion } from "../../../db/read/caller.ts";
import type { Database } from "../../../db/connection/connect.ts";
import { loadTrackedChanges, loadTrackedTests } from "../../../db/read/tracked_tests.ts";
import type { TestsState } from "../../analysis/tests_state.ts";
import type { WindowVersion } from "../../base/data_version.ts";
import { checkVersion, type Moment } from "./queries.ts";
import type { LoadTestsOptions } from "./route.ts";
import { TestCollection } from "./test_collection.ts";

/** Memory of a test: about 1 kB, and as much again once it is searched and shown. */
const TEST_BYTES = 2048;

// Share of the memory for collections of several repositories, which refer to cached tests.
const MERGED_SHARE = 0.25;

/** What is loaded of a repository. */
type Variant = Required<LoadTestsOptions>;

interface Loaded {
  state: TestsState;
  collection: TestCollection;
}

/** The tests of several repositories. */
interface Merged {
  parts: readonly TestCollection[];
  collection: TestCollection;
}

/**
 * Creates the function that loads the tests that lists can show, with a cache of the newest version of
 * each repository. A newer version is made from the cached one and what changed since, where that is
 * possible. Concurrent requests for the same versions share their load (single-flight).
 */
export function createTestsLoader(sql: Database["sql"], maxCachedBytes: number) {
  const cache = new LRUCache<string, Loaded>({
    maxSize: Math.ceil(maxCachedBytes * (1 - MERGED_SHARE)),
    sizeCalculation: ({ state: { tests, runs, recordedAts } }) =>
      (1 + tests.size) * TEST_BYTES + runs.byteLength + 8 * recordedAts.length,
  });
  const mergedCache = new LRUCache<string, Merged>({
    maxSize: Math.ceil(maxCachedBytes * MERGED_SHARE),
    sizeCalculation: ({ collection: { tests } }, key) =>
      (1 + tests.length / 2) * TEST_BYTES + key.length,
  });
  /** Loads that have not finished, by what they load. */
  const loading = new Map<string, Promise<Map<number, Loaded>>>();

  /** @throws {StaleVersionError} when the data has another version than the request by now */
  return async (
    repositories: readonly RepositoryVersion[],
    { now, windowStart, withTime = false, branches = null }: LoadTestsOptions & Moment,
  ): Promise<TestCollection> => {
    const variant = { withTime, branches };
    const found = repositories.map((repository) => {
      const loaded = cache.get(cacheKey(repository.repositoryId, variant));
      return loaded && isSame(repository, loaded.state.version) ? loaded : null;
    });
    const missing = repositories.filter((_, index) => !found[index]);
    const loaded = missing.length > 0
      ? await loadOnce(missing, { now, windowStart, ...variant })
      : null;
    const parts = repositories.map((repository, index) => {
      const one = found[index] ?? loaded?.get(repository.repositoryId);
      checkVersion(repository, one?.state.version ?? null);
      return one!.collection;
    });
    const ids = repositories.map(({ repositoryId }) => repositoryId);
    return merge(parts, JSON.stringify([branches, ids]));
  };

  function loadOnce(
    missing: readonly RepositoryVersion[],
    options: Moment & Variant,
  ): Promise<Map<number, Loaded>> {
    const versions = missing.map((
      { repositoryId, dataVersion, oldestSubmissionId, nextQuarantineEnd },
    ) => [repositoryId, dataVersion, oldestSubmissionId, nextQuarantineEnd]);
    const key = JSON.stringify([options.withTime, options.branches, versions]);
    let load = loading.get(key);
    if (!load) {
      load = loadAll(missing, options).finally(() => loading.delete(key));
      loading.set(key, load);
    }
    return load;
  }

  /** Loads several repositories with the same few statements as one. */
  async function loadAll(
    repositories: readonly RepositoryVersion[],
    options: Moment & Variant,
  ): Promise<Map<number, Loaded>> {
    const repositoryIds = repositories.map(({ repositoryId }) => repositoryId);
    const [repositoryId = 0] = repositoryIds;
    // A selection of branches, which few requests have, is always loaded whole.
    const since = repositories.length === 1 && options.branches === null
      ? cache.get(cacheKey(repositoryId, options))?.state
      : undefined;
    const changed = since && await loadTrackedChanges(sql, { repositoryId, since, ...options });
    const states = changed
      ? new Map([[repositoryId, changed]])
      : await loadTrackedTests(sql, { repositoryIds, ...options });
    const loaded = new Map<number, Loaded>();
    for (const [id, state] of states) {
      const collection = new TestCollection([...state.tests.values()], state.runs);
      loaded.set(id, { state, collection });
      cache.set(cacheKey(id, options), { state, collection });
    }
    return loaded;
  }

  function merge(parts: readonly TestCollection[], key: string): TestCollection {
    if (parts.length === 1) return parts[0]!;
    let merged = mergedCache.get(key);
    if (!merged || merged.parts.some((part, index) => part !== parts[index])) {
      const collection = new TestCollection(parts.flatMap(({ tests }) => tests));
      mergedCache.set(key, merged = { parts, collection });
    }
    return merged.collection;
  }
}

function cacheKey(repositoryId: number, { withTime, branches }: Variant): string {
  return JSON.stringify([repositoryId, withTime, branches]);
}

function isSame(one: WindowVersion, other: WindowVersion): boolean {
  return one.dataVersion === other.dataVersion &&
    one.oldestSubmissionId === other.oldestSubmissionId &&
    one.nextQuarantineEnd === other.nextQuarantineEnd;
}
