/**
 * Where the window of a repository begins. Between two changes of its data that only moves when its
 * oldest submission falls out, and when that is, is known beforehand: so it is asked for once.
 */
import {
  type FoundRepository,
  loadOldestSubmissions,
  type RepositoryVersion,
} from "../../../db/read/caller.ts";
import type { Queryable } from "../../../db/connection/sql.ts";
import type { WindowVersion } from "../../base/data_version.ts";
import { recordedAtOf } from "../../base/identity.ts";
import { RecentMap } from "../../base/recent_map.ts";
import { checkUnmoved } from "./stale_version.ts";

// Some 100 bytes each.
const MAX_REPOSITORIES = 50_000;

interface Remembered extends WindowVersion {
  /** The window that was looked at. */
  windowStart: number;
}

/** Completes repositories with the oldest submission of their window. */
export type WindowMemory = (
  repositories: FoundRepository[],
  windowStart: number,
) => RepositoryVersion[] | Promise<RepositoryVersion[]>;

/** Makes a memory of its own. */
export function createWindowMemory(sql: Queryable): WindowMemory {
  const remembered = new RecentMap<number, Remembered>(MAX_REPOSITORIES);

  return (repositories, windowStart) => {
    const known: RepositoryVersion[] = [];
    for (const repository of repositories) {
      const entry = remembered.get(repository.repositoryId);
      if (!entry || !holds(entry, repository, windowStart)) break;
      known.push({ ...repository, oldestSubmissionId: entry.oldestSubmissionId });
    }
    return known.length === repositories.length ? known : ask(repositories, windowStart);
  };

  async function ask(
    repositories: FoundRepository[],
    windowStart: number,
  ): Promise<RepositoryVersion[]> {
    const versions = await loadOldestSubmissions(sql, {
      repositoryIds: repositories.map(({ repositoryId }) => repositoryId),
      windowStart,
    });
    return repositories.map((repository) => {
      const { repositoryId } = repository;
      const seen = versions.get(repositoryId) ?? null;
      checkUnmoved(repository, seen);
      remembered.set(repositoryId, { ...seen, windowStart });
      return { ...repository, oldestSubmissionId: seen.oldestSubmissionId };
    });
  }
}

/** Whether an entry still tells where the window begins. */
function holds(entry: Remembered, repository: FoundRepository, windowStart: number): boolean {
  return entry.dataVersion === repository.dataVersion && entry.createdAt === repository.createdAt &&
    // A clock that was set back opens a window that nobody looked at.
    entry.windowStart <= windowStart &&
    (entry.oldestSubmissionId === null || recordedAtOf(entry.oldestSubmissionId) >= windowStart);
}
