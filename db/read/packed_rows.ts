// Tests: tests/lib/cli/commands/digest_test.ts tests/routes/durations_test.ts
/** Integers that a statement packs into one value: thousands of rows take 6 to 20 ms longer. */
import { integersIn, type Queryable } from "../connection/sql.ts";

/** A view of the integers in a column of bytes. */
export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** The integers of 4 bytes in a column. */
export function integersOf(bytes: Uint8Array): Int32Array {
  const view = viewOf(bytes);
  return new Int32Array(bytes.length / 4).map((_, index) => view.getInt32(4 * index));
}

/** A test_no of 4 bytes and a test_hash of 8. */
const TEST_BYTES = 12;

/** The test_hash of tests of a repository, by test_no. */
export async function loadTestHashes(
  sql: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos: Iterable<number> },
): Promise<Map<number, number>> {
  const [row] = await sql<{ tests: Uint8Array }[]>`
    select coalesce(string_agg(int4send(t.test_no) || int8send(t.test_hash), ''), '') as tests
    from test t
    where t.repository_id = ${repositoryId} and t.test_no = any(${integersIn(sql, testNos)})`;
  return testHashesIn(row!.tests);
}

/** The test_hash by test_no, from a column with both of each test. */
function testHashesIn(tests: Uint8Array): Map<number, number> {
  const view = viewOf(tests);
  const hashes = new Map<number, number>();
  for (let at = 0; at < view.byteLength; at += TEST_BYTES) {
    const hash = view.getInt32(at + 4) * 2 ** 32 + view.getUint32(at + 8);
    hashes.set(view.getInt32(at), hash);
  }
  return hashes;
}
