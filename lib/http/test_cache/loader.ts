import { LRUCache } from "lru-cache";
import type { RepositoryVersion } from "../../../db/read/caller.ts";
import type { Database } from "../../../db/connection/connect.ts";
import { loadTrackedChanges, loadTrackedTests } from "../../../db/read/tracked_tests.ts";
import type { TestsState } from "../../analysis/tests_state.ts";
import {
  ALL_SUBMISSIONS,
  isUnfiltered,
  type SubmissionFilter,
} from "../../query/submission_filter.ts";
import type { WindowVersion } from "../../base/data_version.ts";
import { checkVersion, type Moment } from "./queries.ts";
import { TestCollection } from "./collection.ts";

/** Memory of a test: about 1 kB, and as much again once it is searched and shown. */
const TEST_BYTES = 2048;

/** Repositories that are loaded with the same statements. */
const BATCH_SIZE = 100;

// Share of the memory for collections of several repositories, which refer to cached tests.
const MERGED_SHARE = 0.25;

export interface LoadTestsOptions {
  /** Whether to load `timeConsumed`, which takes longer. */
  withTime?: boolean;
  /** The submissions that count; all unless given. */
  filter?: SubmissionFilter;
}

/** What is loaded of a repository. */
type Variant = Required<LoadTestsOptions>;

/** What the attempts of one request have in common. */
export interface RequestLoads {
  /** When the request is over, as `performance.now()`: from then on nothing is loaded for it. */
  deadline: number;
  /** What it has loaded, which the cache may have evicted since. */
  loaded: Map<string, Loaded>;
}

/** A request is over before everything was loaded. Its client has had a response. */
export class RequestOverError extends Error {
  override name = "RequestOverError";
  override message = "the request is over";
}

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
 *
 * A request loads a repository again only when it has changed since its last attempt, and nothing once it
 * is over. Loads of more than a batch run one at a time: each may need as much memory as the cache.
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
  /** Loads that have not finished, by what they load; `deadline` is the latest of their requests. */
  const loading = new Map<string, { deadline: number; done: Promise<Map<number, Loaded>> }>();
  let lastLargeLoad: Promise<unknown> = Promise.resolve();

  /**
   * @throws {StaleVersionError} when the data has another version than the request by now
   * @throws {RequestOverError}
   */
  return async (
    repositories: readonly RepositoryVersion[],
    { now, windowStart, withTime = false, filter = ALL_SUBMISSIONS }: LoadTestsOptions & Moment,
    request: RequestLoads,
  ): Promise<TestCollection> => {
    const variant = { withTime, filter };
    const found = repositories.map((repository) => {
      const key = cacheKey(repository.repositoryId, variant);
      const isCurrent = (one?: Loaded) => one && isSame(repository, one.state.version);
      return [cache.get(key), request.loaded.get(key)].find(isCurrent) ?? null;
    });
    const missing = repositories.filter((_, index) => !found[index]);
    const loaded = missing.length > 0
      ? await loadOnce(missing, { now, windowStart, ...variant }, request.deadline)
      : null;
    const parts = repositories.map((repository, index) => {
      const { repositoryId } = repository;
      const one = found[index] ?? loaded?.get(repositoryId);
      if (one) request.loaded.set(cacheKey(repositoryId, variant), one);
      checkVersion(repository, one?.state.version ?? null);
      return one!.collection;
    });
    const ids = repositories.map(({ repositoryId }) => repositoryId);
    return merge(parts, JSON.stringify([filter, ids]));
  };

  function loadOnce(
    missing: readonly RepositoryVersion[],
    options: Moment & Variant,
    deadline: number,
  ): Promise<Map<number, Loaded>> {
    const versions = missing.map((
      { repositoryId, dataVersion, oldestSubmissionId, nextQuarantineEnd },
    ) => [repositoryId, dataVersion, oldestSubmissionId, nextQuarantineEnd]);
    const key = JSON.stringify([options.withTime, options.filter, versions]);
    const running = loading.get(key);
    if (running) {
      running.deadline = Math.max(running.deadline, deadline);
      return running.done;
    }
    const isOver = () => performance.now() > load.deadline;
    const load = {
      deadline,
      done: loadBatches(missing, options, isOver).finally(() => loading.delete(key)),
    };
    loading.set(key, load);
    return load.done;
  }

  async function loadBatches(
    repositories: readonly RepositoryVersion[],
    options: Moment & Variant,
    isOver: () => boolean,
  ): Promise<Map<number, Loaded>> {
    if (repositories.length <= BATCH_SIZE) return await loadBatch(repositories, options);
    const loadAll = async () => {
      const loaded = new Map<number, Loaded>();
      for (let first = 0; first < repositories.length; first += BATCH_SIZE) {
        if (isOver()) throw new RequestOverError();
        const batch = await loadBatch(repositories.slice(first, first + BATCH_SIZE), options);
        for (const [id, one] of batch) loaded.set(id, one);
      }
      return loaded;
    };
    const load = lastLargeLoad.then(loadAll);
    lastLargeLoad = load.catch(() => {});
    return await load;
  }

  /** Loads several repositories with the same few statements as one. */
  async function loadBatch(
    repositories: readonly RepositoryVersion[],
    options: Moment & Variant,
  ): Promise<Map<number, Loaded>> {
    const repositoryIds = repositories.map(({ repositoryId }) => repositoryId);
    const [repositoryId = 0] = repositoryIds;
    // A selection of submissions, which few requests have, is always loaded whole.
    const since = repositories.length === 1 && isUnfiltered(options.filter)
      ? cache.get(cacheKey(repositoryId, options))?.state
      : undefined;
    const changed = since && await loadTrackedChanges(sql, { repositoryId, since, ...options });
    const { states } = changed
      ? { states: new Map([[repositoryId, changed]]) }
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

function cacheKey(repositoryId: number, { withTime, filter }: Variant): string {
  return JSON.stringify([repositoryId, withTime, filter]);
}

function isSame(one: WindowVersion, other: WindowVersion): boolean {
  return one.dataVersion === other.dataVersion &&
    one.oldestSubmissionId === other.oldestSubmissionId &&
    one.nextQuarantineEnd === other.nextQuarantineEnd;
}
