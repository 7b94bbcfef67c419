/**
 * Tests that were stored ahead of their submission. Until that is stored too, they are unknown to
 * everybody else; when it never is, because its process was killed, they stay so.
 */
import { arrayOf, type Queryable } from "../connection/sql.ts";

/** SQL: whether the row `t` of `test` is known, and not only staged. */
export function isKnown(sql: Queryable) {
  return sql`not exists (
    select from unpublished_test_range s
    where s.repository_id = t.repository_id
      and t.test_no >= s.first_test_no and t.test_no < s.end_test_no)`;
}

/** Numbers from `first` up to but not including `end`. */
export interface TestRange {
  first: number;
  end: number;
}

/**
 * Makes the tests of a submission known, as part of its transaction.
 *
 * @param options.own ranges that were staged for this very submission
 * @returns `untouched`: those of its own ranges that nobody knew anything of before; `shared`: tests
 * that nobody knew before either, but that others had staged
 */
export async function makeKnown(
  tx: Queryable,
  { repositoryId, testNos, own }: { repositoryId: number; testNos: Int32Array; own: TestRange[] },
): Promise<{ untouched: TestRange[]; shared: number[] }> {
  const staged = await tx<TestRange[]>`
    select first_test_no as first, end_test_no as end from unpublished_test_range
    where repository_id = ${repositoryId}`;
  const ownFirsts = new Set(own.map(({ first }) => first));
  // One that is gone was made known by others, who gave its tests the tags that they saw fit.
  const untouched = staged.filter(({ first }) => ownFirsts.has(first));
  const others = staged.filter(({ first }) => !ownFirsts.has(first));
  const shared = others.length === 0
    ? []
    : [...testNos].filter((testNo) =>
      others.some(({ first, end }) => testNo >= first && testNo < end)
    );
  // The others' range goes as a whole, and not only the tests that are known now: what else is in it
  // can be asked for by its id, and has nothing to show and no tags.
  const reached = others.filter(({ first, end }) =>
    shared.some((testNo) => testNo >= first && testNo < end)
  );
  for (const { first, end } of reached) {
    // Whoever staged them gives them their tags again when it stores its submission.
    await tx`
      update test set tags = null
      where repository_id = ${repositoryId} and test_no >= ${first} and test_no < ${end}
        and test_no <> all(${arrayOf(shared)}::text::int[])`;
  }
  const firsts = arrayOf([...own, ...reached].map(({ first }) => first));
  await tx`
    delete from unpublished_test_range
    where repository_id = ${repositoryId} and first_test_no = any(${firsts}::text::int[])`;
  return { untouched, shared };
}
