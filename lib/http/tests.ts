import type { Database } from "../../db/connect.ts";
import type { RepositoryVersion } from "../../db/caller.ts";
import { loadTrackedTests } from "../../db/tracked_tests.ts";
import { Cache } from "../cache.ts";
import type { LoadTestsOptions } from "./route.ts";
import { TestList } from "./test_list.ts";

// A test takes about 1 kB.
const MAX_CACHED_TESTS = 50_000;

/** Loads the tests that lists can show of some repositories at one state of their data. */
export type TestsLoader = (
  repositories: readonly RepositoryVersion[],
  options: LoadTestsOptions & { windowStart: number },
) => Promise<TestList>;

/**
 * Loads tests and keeps them, repository by repository, while they hold: until the data changes, or
 * until something falls out of the window, both of which the version of a repository tells.
 */
export function createTestsLoader(
  sql: Database["sql"],
  { maxCachedTests = MAX_CACHED_TESTS } = {},
): TestsLoader {
  const cache = new Cache<TestList>({
    maxWeight: maxCachedTests,
    weigh: ({ tests }) => tests.length + 1,
  });
  return async (repositories, { windowStart, withTime = false }) => {
    const keyed = repositories.map((repository) => ({
      repositoryId: repository.repositoryId,
      key: JSON.stringify([withTime, versionKey(repository)]),
    }));
    const repositoryIds = keyed.filter(({ key }) => !cache.has(key))
      .map(({ repositoryId }) => repositoryId);
    // All that is missing comes together; who asks for a part of it meanwhile waits for the same.
    const loading = repositoryIds.length > 0
      ? loadTrackedTests(sql, { repositoryIds, windowStart, withTime })
      : undefined;
    const lists = await Promise.all(
      keyed.map(({ repositoryId, key }) =>
        cache.get(key, async () => {
          // What was dropped since the look above is loaded by itself.
          const loaded = await (repositoryIds.includes(repositoryId) && loading ||
            loadTrackedTests(sql, { repositoryIds: [repositoryId], windowStart, withTime }));
          const tests = loaded.get(repositoryId) ?? [];
          return new TestList(tests);
        })
      ),
    );
    const [only, ...others] = lists;
    if (only && others.length === 0) return only;
    return new TestList(lists.flatMap(({ tests }) => tests));
  };
}

/** All that tells one state of a repository's data and window from another. */
export function versionKey(repository: RepositoryVersion) {
  const { repositoryId, createdAt, dataVersion, oldestSubmissionId } = repository;
  // A repository that was deleted and created anew under its old number counts from 0 again.
  return [repositoryId, createdAt, dataVersion, oldestSubmissionId];
}
