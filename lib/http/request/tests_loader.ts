import { LRUCache } from "lru-cache";
import type { RepositoryVersion } from "../../../db/read/caller.ts";
import type { Database } from "../../../db/connection/connect.ts";
import { loadTrackedChanges, loadTrackedTests } from "../../../db/read/tracked_tests.ts";
import type { TestsState } from "../../analysis/tests_state.ts";
import type { WindowVersion } from "../../base/data_version.ts";
import type { LoadTestsOptions, Moment } from "./route.ts";
import { checkVersion, StaleVersionError } from "./stale_version.ts";
import { TestCollection } from "./test_collection.ts";

/** Memory of a test: about 1 kB, and as much again once it is searched and shown. */
export const TEST_BYTES = 2048;
const MAX_CACHED_TESTS = 25_000;

// Share of the memory for collections of several repositories, which refer to cached tests.
const MERGED_SHARE = 0.25;

/**
 * Loads the tests that lists can show, at the version that a request is answered for.
 * @throws {StaleVersionError} when the data has another version by now
 */
type TestsLoader = (
  repositories: readonly RepositoryVersion[],
  options: LoadTestsOptions & Moment,
) => Promise<TestCollection>;

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
 * Creates a loader with a cache of the newest version of each repository. A newer version is made
 * from the cached one and what changed since, where that is possible. Concurrent requests for one
 * version share its load.
 */
export function createTestsLoader(
  sql: Database["sql"],
  { maxCachedTests = MAX_CACHED_TESTS } = {},
): TestsLoader {
  const cache = new LRUCache<string, Loaded>({
    maxSize: Math.ceil(maxCachedTests * (1 - MERGED_SHARE)),
    sizeCalculation: ({ state: { tests, runs, recordedAts } }) =>
      1 + tests.size + Math.ceil((runs.byteLength + 8 * recordedAts.length) / TEST_BYTES),
  });
  const mergedCache = new LRUCache<string, Merged>({
    maxSize: Math.ceil(maxCachedTests * MERGED_SHARE),
    sizeCalculation: ({ collection: { tests } }, key) =>
      1 + Math.ceil(tests.length / 2 + key.length / TEST_BYTES),
  });
  /** Loads that have not finished, by version. */
  const loading = new Map<string, Promise<Loaded>>();

  return async (repositories, { now, windowStart, withTime = false, branches = null }) => {
    const variant = { withTime, branches };
    const find = (repository: RepositoryVersion) => {
      const loaded = cache.get(cacheKey(repository, variant));
      return loaded && isSame(repository, loaded.state) ? loaded : undefined;
    };
    const found = repositories.map(find);
    const missing = repositories.filter((_, index) => !found[index]);
    const loads = startLoads(missing, { now, windowStart, ...variant }).values();
    const parts: TestCollection[] = [];
    for (const [index, repository] of repositories.entries()) {
      const { state, collection } = found[index] ?? await loads.next().value!;
      checkVersion(repository, state.version);
      parts.push(collection);
    }
    const ids = repositories.map(({ repositoryId }) => repositoryId);
    return merge(parts, JSON.stringify([branches, ids]));
  };

  /** Loads all missing repositories together, except those that are being loaded already. */
  function startLoads(
    missing: readonly RepositoryVersion[],
    options: Moment & Variant,
  ): Promise<Loaded>[] {
    const { withTime, branches } = options;
    // Everything that distinguishes one version of a repository's data and window from another.
    const keyOf = (one: RepositoryVersion) => {
      const { repositoryId, dataVersion, oldestSubmissionId, nextQuarantineEnd } = one;
      const version = [dataVersion, oldestSubmissionId, nextQuarantineEnd];
      return JSON.stringify([repositoryId, withTime, branches, version]);
    };
    const unshared = missing.filter((repository) => !loading.has(keyOf(repository)));
    const states = unshared.length > 0 ? load(unshared, options) : null;
    for (const repository of unshared) {
      const key = keyOf(repository);
      const { repositoryId } = repository;
      const load = states!.then((states) => store(repositoryId, states.get(repositoryId), options))
        .finally(() => loading.delete(key));
      // The request that awaits several loads fails with the first one that does.
      load.catch(() => {});
      loading.set(key, load);
    }
    return missing.map((repository) => loading.get(keyOf(repository))!);
  }

  async function load(
    repositories: readonly RepositoryVersion[],
    options: Moment & Variant,
  ): Promise<Map<number, TestsState>> {
    const [first, ...others] = repositories;
    const repositoryIds = repositories.map(({ repositoryId }) => repositoryId);
    // Several are loaded with the same few statements as one. A selection of branches, which few
    // requests have, is always loaded whole.
    const since = first && others.length === 0 && options.branches === null
      ? cache.get(cacheKey(first, options))?.state
      : undefined;
    const state = since &&
      await loadTrackedChanges(sql, { repositoryId: repositoryIds[0]!, since, ...options });
    return state
      ? new Map([[repositoryIds[0]!, state]])
      : await loadTrackedTests(sql, { repositoryIds, ...options });
  }

  function store(
    repositoryId: number,
    state: TestsState | undefined,
    variant: Variant,
  ): Loaded {
    if (!state) throw new StaleVersionError();
    const loaded = { state, collection: new TestCollection([...state.tests.values()], state.runs) };
    cache.set(cacheKey({ repositoryId }, variant), loaded);
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

function cacheKey(
  { repositoryId }: { repositoryId: number },
  { withTime, branches }: Variant,
): string {
  return JSON.stringify([repositoryId, withTime, branches]);
}

function isSame(repository: WindowVersion, { version }: TestsState): boolean {
  return repository.dataVersion === version.dataVersion &&
    repository.oldestSubmissionId === version.oldestSubmissionId &&
    repository.nextQuarantineEnd === version.nextQuarantineEnd;
}
