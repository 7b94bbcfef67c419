/** How often tests ran in the window, as a table for those that cannot read compressed columns. */
import { firstSubmissionId } from "../../../lib/base/identity.ts";
import { decodeTestList, forEachException } from "../../../lib/analysis/columns.ts";
import type { Database } from "../../../db/connection/connect.ts";

/** Writes the table `bench_result_count` for one repository, with passes and failures counted. */
export async function storeResultCounts(
  sql: Database["sql"],
  { repositoryId, windowStart }: { repositoryId: number; windowStart: number },
): Promise<void> {
  const lists = await sql<{ no: number; count: number; tests: Uint8Array }[]>`
    select test_list_no as no, test_count as count, tests from test_list
    where repository_id = ${repositoryId}`;
  const testNosOf = new Map(
    lists.map(({ no, count, tests }) => [no, decodeTestList(tests, count)]),
  );
  const submissions = await sql<{ list: number; exceptions: Uint8Array }[]>`
    select test_list_no as list, exceptions from submission
    where repository_id = ${repositoryId} and status = 'processed'
      and submission_id >= decode(${firstSubmissionId(windowStart)}, 'hex')`;
  const results = new Map<number, number>();
  const add = (testNo: number, count: number) =>
    results.set(testNo, (results.get(testNo) ?? 0) + count);
  for (const { list, exceptions } of submissions) {
    const testNos = testNosOf.get(list)!;
    for (const testNo of testNos) add(testNo, 1);
    forEachException(exceptions, (index, { counts: { positive, negative } }) => {
      add(testNos[index]!, positive + negative - 1);
    });
  }
  const rows = [...results].map(([test_no, results]) => ({ test_no, results }));
  await sql`drop table if exists bench_result_count`;
  await sql`
    create table bench_result_count (repository_id bigint, test_no integer,
      results integer not null, primary key (repository_id, test_no))`;
  await sql`
    insert into bench_result_count
    select ${repositoryId}, test_no, results
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as t(test_no int, results int)`;
  await sql`analyze bench_result_count`;
}
