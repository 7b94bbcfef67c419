import type { RepositoryVersion } from "../../../db/read/caller.ts";
import type { Database } from "../../../db/connection/connect.ts";
import { loadTrackedChanges } from "../../../db/read/tracked_changes.ts";
import { loadTrackedTests } from "../../../db/read/tracked_tests.ts";
import type { TestsState } from "../../analysis/tests_state.ts";
import type { AtHand } from "../../base/at_hand.ts";
import { Cache } from "../../base/cache.ts";
import type { WindowVersion } from "../../base/data_version.ts";
import { RecentMap } from "../../base/recent_map.ts";
import { checkUnmoved, MovedOnError } from "./stale_version.ts";
import type { LoadTestsOptions } from "./route.ts";
import { TestList } from "./test_collection.ts";

/** What a test takes: about 1 kB, and as much again when it is searched and shown. */
export const TEST_BYTES = 2048;
const MAX_CACHED_TESTS = 25_000;

// Of what lists may take, for those of several repositories: an index, and references to the others.
const MERGED_SHARE = 0.25;

// What is remembered of each is some 100 bytes.
const MAX_REPOSITORIES = 50_000;

/**
 * Loads the tests that lists can show of some repositories at one state of their data.
 *
 * @throws {MovedOnError} when the data is not in that state any more
 */
export type TestsLoader = (
  repositories: readonly RepositoryVersion[],
  options: LoadTestsOptions & { windowStart: number },
) => AtHand<TestList>;

/** What is kept of a repository at one state of its data. */
interface Kept {
  list: TestList;
  state: TestsState;
}

/**
 * Loads tests and keeps them, repository by repository, while they hold: until the data changes, or
 * until something falls out of the window, both of which the version of a repository tells. What
 * comes after follows from what is kept, where that can be.
 */
export function createTestsLoader(
  sql: Database["sql"],
  { maxCachedTests = MAX_CACHED_TESTS } = {},
): TestsLoader {
  const cache = new Cache<Kept>({
    maxWeight: maxCachedTests * (1 - MERGED_SHARE),
    weigh: ({ state: { tests, runs, recordedAts } }) =>
      1 + tests.size + Math.ceil((runs.byteLength + 8 * recordedAts.length) / TEST_BYTES),
  });
  /** Lists of several repositories: references to what `cache` keeps, and an index for queries. */
  const merged = new Cache<TestList>({
    maxWeight: maxCachedTests * MERGED_SHARE,
    weigh: ({ tests }, key) => 1 + Math.ceil(tests.length / 2 + key.length / TEST_BYTES),
  });
  /** Under which key the newest state of a repository was kept. */
  const newest = new RecentMap<string, string>(MAX_REPOSITORIES);

  const keep = (repositoryId: number, withTime: boolean, state: TestsState) => {
    const key = keyOf({ repositoryId, ...state.version }, withTime);
    newest.set(scopeOf(repositoryId, withTime), key);
    return { key, kept: { state, list: new TestList([...state.tests.values()]) } };
  };

  const load = async (
    repositoryIds: number[],
    options: { windowStart: number; withTime: boolean },
  ): Promise<Map<number, TestsState>> => {
    const [repositoryId, ...others] = repositoryIds;
    // Many at once are loaded in one go: a few statements instead of as many for each.
    if (repositoryId === undefined || others.length > 0) {
      return await loadTrackedTests(sql, { repositoryIds, ...options });
    }
    const since = cache.peek(newest.get(scopeOf(repositoryId, options.withTime)) ?? "")?.state;
    const state = since && await loadTrackedChanges(sql, { repositoryId, since, ...options });
    return state
      ? new Map([[repositoryId, state]])
      : await loadTrackedTests(sql, { repositoryIds, ...options });
  };

  const loadMissing = async (
    repositories: readonly RepositoryVersion[],
    keys: readonly string[],
    options: { windowStart: number; withTime: boolean },
  ): Promise<Kept[]> => {
    const missing = repositories.filter((_, index) => !cache.has(keys[index]!));
    // All that is missing comes together; who asks for a part of it meanwhile waits for the same.
    const loading = load(missing.map(({ repositoryId }) => repositoryId), options);
    return await Promise.all(
      repositories.map((repository, index) =>
        cache.get(keys[index]!, async () => {
          const { repositoryId } = repository;
          const state = (await loading).get(repositoryId);
          if (!state) throw new MovedOnError();
          const seen = keep(repositoryId, options.withTime, state);
          // Newer ones are kept as what they are: whoever begins anew asks for them.
          if (seen.key !== keys[index]) cache.put(seen.key, seen.kept);
          checkUnmoved(repository, state.version);
          return seen.kept;
        })
      ),
    );
  };

  const merge = (keys: readonly string[], kept: readonly Kept[]): AtHand<TestList> => {
    const [only, ...others] = kept;
    if (only && others.length === 0) return only.list;
    // Sorted and indexed once for all who ask while nothing changes.
    return merged.get(
      keys.join(),
      () => new TestList(kept.flatMap(({ list }) => list.tests)),
    );
  };

  return (repositories, { windowStart, withTime = false }) => {
    const keys = repositories.map((repository) => keyOf(repository, withTime));
    const kept = keys.map((key) => cache.find(key)).filter((one) => one !== undefined);
    if (kept.length === keys.length) return merge(keys, kept);
    const loading = loadMissing(repositories, keys, { windowStart, withTime });
    return loading.then((loaded) => merge(keys, loaded));
  };
}

function scopeOf(repositoryId: number, withTime: boolean): string {
  return `${repositoryId} ${withTime}`;
}

function keyOf(repository: VersionedRepository, withTime: boolean): string {
  return JSON.stringify([withTime, versionKey(repository)]);
}

type VersionedRepository = WindowVersion & { repositoryId: number };

/** All that tells one state of a repository's data and window from another. */
export function versionKey(
  { repositoryId, createdAt, dataVersion, oldestSubmissionId }: VersionedRepository,
) {
  return [repositoryId, createdAt, dataVersion, oldestSubmissionId];
}
