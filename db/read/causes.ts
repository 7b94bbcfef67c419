import type { DataVersion, Versioned } from "../../lib/base/data_version.ts";
import type { Queryable } from "../connection/sql.ts";
import { hasHash, versionColumns } from "./fragments.ts";

/**
 * The fingerprints of the disruptions of tests, by test hash: of all that are stored, not of the window
 * alone. A quarantined test is known for these.
 */
export async function loadCauses(
  sql: Queryable,
  { repositoryId, testHashes }: { repositoryId: number; testHashes: readonly number[] },
): Promise<Versioned<{ causes: Map<number, string[]> }>> {
  const rows = await sql<(DataVersion & { testHash: number | null; causes: string[] })[]>`
    select ${versionColumns(sql)}, t.test_hash::float8 as "testHash", (
      select coalesce(json_agg(distinct encode(n.fingerprint, 'hex')), '[]') from negative_result n
      where n.repository_id = ${repositoryId} and n.test_no = t.test_no and n.is_disruption
    ) as causes
    from repository_state r
    left join test t on t.repository_id = r.repository_id and ${hasHash(sql, testHashes)}
    where r.repository_id = ${repositoryId}`;
  return {
    version: rows[0] ?? null,
    causes: new Map(
      rows.flatMap(({ testHash, causes }) => testHash === null ? [] : [[testHash, causes]]),
    ),
  };
}
