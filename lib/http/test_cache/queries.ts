/** The queries of a request. Each must read the version of the data that the request is answered for. */
import type { Database } from "../../../db/connection/connect.ts";
import type { RepositoryVersion } from "../../../db/read/caller.ts";
import type { DataVersion } from "../../base/data_version.ts";

/**
 * The data changed between the statement that authenticated a request and a later one, so that the
 * entity tag would not match the body. The dispatcher starts the request again.
 */
export class StaleVersionError extends Error {
  override name = "StaleVersionError";
  override message = "the data changed during a request";
}

/** Compares versions; `null`: the repository is gone. @throws {StaleVersionError} */
export function checkVersion(expected: DataVersion, actual: DataVersion | null): void {
  if (expected.dataVersion !== actual?.dataVersion) throw new StaleVersionError();
}

/** When a request is answered, in seconds since 1970. */
export interface Moment {
  now: number;
  /** First second of the window. */
  windowStart: number;
}

/** Options of queries that the request determines: its moment and its resource. */
type QueryScope = Moment & Pick<RepositoryVersion, "repositoryId" | "testNo" | "submissionId">;

/** A query of `db/read`. */
type Query<Options, Result> = (sql: Database["sql"], options: Options) => Promise<Result>;

export type RequestQueries = ReturnType<typeof createQueries>;

/**
 * Creates the queries of a request about some repositories.
 *
 * @param options.mayChange whether they may read a later version of the data, if it still exists
 */
export function createQueries(
  sql: Database["sql"],
  repositories: readonly RepositoryVersion[],
  moment: Moment,
  { mayChange = false } = {},
) {
  const check = (expected: DataVersion, actual: DataVersion | null) =>
    checkVersion(mayChange ? actual ?? expected : expected, actual);
  return {
    /** Queries the resource of the request, a repository, test or submission. @throws {StaleVersionError} */
    async load<
      Options extends Partial<QueryScope>,
      Result extends { version: DataVersion | null },
    >(
      query: Query<Options, Result | null>,
      options: Omit<Options, keyof QueryScope> & Partial<Options>,
    ): Promise<Result> {
      // A route with such queries has a resource, and is not answered without it.
      const repository = repositories[0]!;
      const { repositoryId, testNo, submissionId } = repository;
      const scope = { repositoryId, testNo, submissionId, ...moment };
      // Sound: the resource of a route names what its queries are about.
      const result = await query(sql, { ...scope, ...options } as unknown as Options);
      check(repository, result?.version ?? null);
      return result!;
    },
    /** Queries each repository of the request. @throws {StaleVersionError} */
    async loadEach<Options, Row extends DataVersion & { repositoryId: number }>(
      query: Query<Options, Row[]>,
      options: Omit<Options, keyof Moment | "repositoryIds">,
    ): Promise<Row[]> {
      const repositoryIds = repositories.map(({ repositoryId }) => repositoryId);
      const rows = await query(sql, { repositoryIds, ...moment, ...options } as unknown as Options);
      const versions = new Map(rows.map((row) => [row.repositoryId, row]));
      for (const repository of repositories) {
        check(repository, versions.get(repository.repositoryId) ?? null);
      }
      return rows;
    },
  };
}
