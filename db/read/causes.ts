import { failureCause, fingerprint, splitFingerprints } from "../../lib/analysis/failure_groups.ts";
import type { DataVersion, Versioned } from "../../lib/base/data_version.ts";
import type { Queryable } from "../connection/sql.ts";
import { hasHash, versionColumns } from "./fragments.ts";
import { messageOf } from "./texts.ts";

/** Of a disruption: its fingerprint, its others one after the other, and its message. */
type Disruption = [fingerprint: string, others: string | null, message: string];

/**
 * The fingerprints of the disruptions of tests, by test hash, sorted: of all that are stored, not of the
 * window alone. A quarantined test is known for these.
 *
 * Those of the messages are computed again: a version of the program that replaces more than the one that
 * stored them still knows the causes.
 */
export async function loadCauses(
  sql: Queryable,
  { repositoryId, testHashes }: { repositoryId: number; testHashes: readonly number[] },
): Promise<Versioned<{ causes: Map<number, string[]> }>> {
  type Row = DataVersion & { testHash: number | null; disruptions: Disruption[] };
  const rows = await sql<Row[]>`
    select ${versionColumns(sql)}, t.test_hash::float8 as "testHash", (
      select coalesce(jsonb_agg(distinct jsonb_build_array(encode(n.fingerprint, 'hex'),
        encode(n.other_fingerprints, 'hex'), ${messageOf(sql, repositoryId)})), '[]')
      from (
        select distinct fingerprint, other_fingerprints, text_id from negative_result
        where repository_id = ${repositoryId} and test_no = t.test_no and is_disruption
      ) n
    ) as disruptions
    from repository_state r
    left join test t on t.repository_id = r.repository_id and ${hasHash(sql, testHashes)}
    where r.repository_id = ${repositoryId}`;
  return {
    version: rows[0] ?? null,
    causes: new Map(
      rows.flatMap(({ testHash, disruptions }) =>
        testHash === null ? [] : [[testHash, causesOf(disruptions)]]
      ),
    ),
  };
}

function causesOf(disruptions: readonly Disruption[]): string[] {
  const causes = new Set<string>();
  for (const [stored, others, message] of disruptions) {
    causes.add(stored);
    for (const other of splitFingerprints(others ?? "")) causes.add(other);
    // Without a message, the fingerprint is of the body.
    if (message !== "") causes.add(fingerprint(failureCause(message, "")));
  }
  return [...causes].sort();
}
