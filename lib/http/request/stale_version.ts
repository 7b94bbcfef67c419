import type { Database } from "../../../db/connection/connect.ts";
import type { RepositoryVersion } from "../../../db/read/caller.ts";
import type { DataVersion } from "../../base/data_version.ts";
import type { ApiRequest, Moment } from "./route.ts";

/**
 * The data changed between the statement that authenticated a request and a later one, so that the
 * entity tag would not match the body. The dispatcher starts the request again.
 */
export class StaleVersionError extends Error {
  override name = "StaleVersionError";
  override message = "the data changed during a request";
}

/**
 * Makes sure that a statement read the version of the data that the request is answered for;
 * `null`: the repository is gone. @throws {StaleVersionError}
 */
export function checkVersion(
  expected: DataVersion,
  actual: DataVersion | null,
): asserts actual is DataVersion {
  if (expected.dataVersion !== actual?.dataVersion) throw new StaleVersionError();
}

/** The queries of a request, each of which must read the version that the request is answered for. */
export function createLoads(
  sql: Database["sql"],
  repositories: readonly RepositoryVersion[],
  moment: Moment,
): Pick<ApiRequest, "load" | "loadEach"> {
  return {
    async load(query, options) {
      const [repository] = repositories;
      if (!repository) throw new Error("the route declares no resource");
      const { repositoryId, testNo, submissionId } = repository;
      const scope = { repositoryId, testNo, submissionId, ...moment };
      // Sound: the resource of a route names what its queries are about.
      const result = await query(sql, { ...scope, ...options } as Parameters<typeof query>[1]);
      checkVersion(repository, result?.version ?? null);
      return result!;
    },
    async loadEach(query, options) {
      const repositoryIds = repositories.map(({ repositoryId }) => repositoryId);
      const scope = { repositoryIds, ...moment, ...options };
      const rows = await query(sql, scope as Parameters<typeof query>[1]);
      const versions = new Map(rows.map((row) => [row.repositoryId, row]));
      for (const repository of repositories) {
        checkVersion(repository, versions.get(repository.repositoryId) ?? null);
      }
      return rows;
    },
  };
}
