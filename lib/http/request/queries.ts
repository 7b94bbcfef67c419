// Tests: tests/lib/http/request/parsed_url_test.ts tests/lib/http/test_cache/cache_test.ts
/** The queries of a request, which all read its snapshot. */
import type { RepositoryVersion } from "../../../db/read/caller.ts";
import type { Queryable } from "../../../db/connection/sql.ts";

/** When a request is answered, in seconds since 1970. */
export interface Moment {
  now: number;
  /** First second of the window. */
  windowStart: number;
}

/** Options of queries that the request determines: its moment and its resource. */
type QueryScope =
  & Moment
  & Pick<RepositoryVersion, "repositoryId" | "idPrefix" | "testNo" | "submissionId">
  & { repositoryIds: readonly number[] };

/** Runs a query of `db/read`; the request adds what it is about to the options. */
export type Load = <Options extends object, Result>(
  query: (tx: Queryable, options: Options) => Promise<Result>,
  options: Omit<Options, keyof QueryScope> & Partial<Options>,
) => Promise<Result>;

/** Creates the queries of a request about some repositories. */
export function createLoad(
  tx: Queryable,
  repositories: readonly RepositoryVersion[],
  moment: Moment,
): Load {
  const [first] = repositories;
  const scope = {
    ...moment,
    repositoryIds: repositories.map(({ repositoryId }) => repositoryId),
    ...first && {
      repositoryId: first.repositoryId,
      idPrefix: first.idPrefix,
      testNo: first.testNo,
      submissionId: first.submissionId,
    },
  };
  // Sound: the resource of a route names what its queries are about.
  return (query, options) => query(tx, { ...scope, ...options } as Parameters<typeof query>[1]);
}
