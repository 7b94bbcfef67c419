import type { Database } from "../../db/connect.ts";
import type { RepositoryVersion } from "../../db/caller.ts";
import { loadTrackedTests } from "../../db/tracked_tests.ts";
import { Cache } from "../cache.ts";
import { prepare } from "../query/mod.ts";
import type { ListedTest, LoadTestsOptions } from "./route.ts";

// A test takes about 1 kB.
const MAX_CACHED_TESTS = 50_000;

/** Loads the tests that lists can show of some repositories at one state of their data. */
export type TestsLoader = (
  repositories: readonly RepositoryVersion[],
  options: LoadTestsOptions & { windowStart: number },
) => Promise<ListedTest[]> | ListedTest[];

/**
 * Loads tests and keeps them while they hold: until the data changes, or until something falls out
 * of the window, both of which the version of a repository tells.
 */
export function createTestsLoader(sql: Database["sql"]): TestsLoader {
  const cache = new Cache<ListedTest[]>({
    maxWeight: MAX_CACHED_TESTS,
    weigh: (tests) => tests.length + 1,
  });
  return (repositories, { windowStart, withTime = false }) =>
    cache.get(JSON.stringify([withTime, ...repositories.map(versionKey)]), async () => {
      const repositoryIds = repositories.map(({ repositoryId }) => repositoryId);
      const tests = await loadTrackedTests(sql, { repositoryIds, windowStart, withTime });
      return tests.map((test) => ({ ...test, searchable: prepare(test) }));
    });
}

/** All that tells one state of a repository's data and window from another. */
export function versionKey(repository: RepositoryVersion) {
  const { repositoryId, createdAt, dataVersion, oldestSubmissionId } = repository;
  // A repository that was deleted and created anew under its old number counts from 0 again.
  return [repositoryId, createdAt, dataVersion, oldestSubmissionId];
}
