import { decodeTestTags, encodeTestTags, type TestTags } from "../../lib/analysis/test_tags.ts";
import { integersIn, type Queryable, someTextsOf, textsIn } from "../connection/sql.ts";
import { loadTestList } from "./test_lists.ts";

/**
 * Adds the tags of a submission to every test that it ran. The list stores the tags that all of its
 * tests have, so that the usual submission, with the same list and tags as before, costs one look-up.
 */
export async function addTags(
  sql: Queryable,
  { repositoryId, testListNo, tags, hasTags }: {
    repositoryId: number;
    testListNo: number;
    tags: string[];
    /** Whether a test has exactly these tags already. */
    hasTags(testNo: number): boolean;
  },
): Promise<void> {
  const [list] = await sql<{ missing: boolean }[]>`
    update test_list set tags = ${unionOf(sql, tags)}
    where repository_id = ${repositoryId} and test_list_no = ${testListNo}
      and not tags @> ${textsIn(sql, tags)}
    returning true as missing`;
  if (!list) return;
  const testNos = (await loadTestList(sql, { repositoryId, testListNo }))
    .filter((testNo) => !hasTags(testNo));
  await tagTests(sql, { repositoryId, testNos, tags });
}

/** Adds tags to single tests of a list; returns the number of the set of tags, which is stored once. */
export async function addTestTags(
  sql: Queryable,
  { repositoryId, testListNo, tags, hasTags }: {
    repositoryId: number;
    testListNo: number;
    tags: TestTags;
    /** Whether a test has exactly these tags already. */
    hasTags(testNo: number): boolean;
  },
): Promise<number> {
  const encoded = encodeTestTags(tags);
  const [known] = await sql<{ test_tag_set_no: number }[]>`
    select test_tag_set_no from test_tag_set
    where repository_id = ${repositoryId} and test_list_no = ${testListNo}
      and digest = decode(${encoded.digest}, 'hex')`;
  if (known) return known.test_tag_set_no;
  const [added] = await sql<{ test_tag_set_no: number }[]>`
    with numbers as (
      update repository set next_test_tag_set_no = next_test_tag_set_no + 1
      where repository_id = ${repositoryId}
      returning next_test_tag_set_no - 1 as test_tag_set_no
    )
    insert into test_tag_set
      (repository_id, test_tag_set_no, test_list_no, digest, tag_groups, members)
    select ${repositoryId}, test_tag_set_no, ${testListNo}, decode(${encoded.digest}, 'hex'),
      ${encoded.groups}, ${encoded.members}
    from numbers
    returning test_tag_set_no`;
  const listed = await loadTestList(sql, { repositoryId, testListNo });
  for (const group of decodeTestTags(encoded)) {
    const testNos = group.places.map((place) => listed[place]!)
      .filter((testNo) => !hasTags(testNo));
    await tagTests(sql, { repositoryId, testNos, tags: group.tags });
  }
  return added!.test_tag_set_no;
}

/** Adds tags to tests that lack any of them. */
async function tagTests(
  sql: Queryable,
  { repositoryId, testNos, tags }: {
    repositoryId: number;
    testNos: Iterable<number>;
    tags: string[];
  },
): Promise<void> {
  await sql`
    update test set tags = ${unionOf(sql, tags)}
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(sql, testNos)})
      and not coalesce(tags, '{}') @> ${textsIn(sql, tags)}`;
}

/** SQL: the column `tags` and some more, each once. */
function unionOf(sql: Queryable, tags: string[]) {
  return sql`array(
    select tag from unnest(tags) as tag union select unnest(${textsIn(sql, tags)}))`;
}

/** Tags that a submission added to tests of its list. */
export interface SubmissionTags {
  /** Of all tests. */
  tags: string[];
  /** Of single tests. */
  testTagSetNo: number | null;
}

/**
 * Removes the tags of a deleted submission from the tests of its list, except those that other
 * submissions added too. Tags from pruned submissions stay.
 */
export async function recomputeTags(
  sql: Queryable,
  { repositoryId, testListNo, removed }: {
    repositoryId: number;
    testListNo: number;
    removed: SubmissionTags;
  },
): Promise<void> {
  const affected = await loadTestList(sql, { repositoryId, testListNo });
  const tagsOf = await otherTags(sql, { repositoryId, testNos: affected, removed });
  await sql`
    delete from test_tag_set t
    where repository_id = ${repositoryId} and test_list_no = ${testListNo}
      and ${isUnusedSet(sql)}`;
  const brought = await sql<{ test_list_no: number; tags: string[] }[]>`
    select test_list_no, array_to_json(array_agg(distinct tag)) as tags
    from submission, unnest(tags) as tag
    where repository_id = ${repositoryId} and status = 'processed'
    group by test_list_no`;
  for (const { test_list_no, tags } of brought) {
    for (const testNo of await loadTestList(sql, { repositoryId, testListNo: test_list_no })) {
      for (const tag of tags) tagsOf.get(testNo)?.add(tag);
    }
  }
  await collectTestTags(sql, { repositoryId, tagsOf });
  const rows = [...tagsOf].map(([test_no, tags]) => ({ test_no, tags: [...tags] }));
  await setTags(sql, repositoryId, rows);
  // Not all tests of a list may have its tags any more.
  await sql`update test_list set tags = '{}' where repository_id = ${repositoryId}`;
}

/** SQL: whether no submission has the row `t` of `test_tag_set`. */
export function isUnusedSet(sql: Queryable) {
  return sql`not exists (
    select from submission s
    where s.repository_id = t.repository_id and s.test_tag_set_no = t.test_tag_set_no)`;
}

/** The tags of tests without those of a submission, which others may have added too. */
async function otherTags(
  sql: Queryable,
  { repositoryId, testNos, removed }: {
    repositoryId: number;
    testNos: Int32Array;
    removed: SubmissionTags;
  },
): Promise<Map<number, Set<string>>> {
  const tests = await sql<TaggedTest[]>`
    select test_no, array_to_json(tags) as tags from test
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(sql, testNos)}) and tags is not null`;
  const tagsOf = new Map(Array.from(testNos, (testNo) => [testNo, new Set<string>()]));
  for (const { test_no, tags } of tests) {
    tagsOf.set(test_no, new Set(tags).difference(new Set(removed.tags)));
  }
  if (removed.testTagSetNo === null) return tagsOf;
  for (const { tags, places } of await loadTagSet(sql, repositoryId, removed.testTagSetNo)) {
    for (const place of places) {
      for (const tag of tags) tagsOf.get(testNos[place]!)?.delete(tag);
    }
  }
  return tagsOf;
}

/** A test with all of its tags. */
interface TaggedTest {
  test_no: number;
  tags: string[];
}

/** Replaces the tags of tests. */
async function setTags(
  sql: Queryable,
  repositoryId: number,
  tests: TaggedTest[],
): Promise<void> {
  await sql`
    update test t set tags = ${someTextsOf(sql, sql`r.tags`)}
    from json_to_recordset(${JSON.stringify(tests)}::text::json) as r(test_no int, tags json)
    where t.repository_id = ${repositoryId} and t.test_no = r.test_no`;
}

/** Adds the tags of single tests, from all lists, to `tagsOf`. */
async function collectTestTags(
  sql: Queryable,
  { repositoryId, tagsOf }: { repositoryId: number; tagsOf: Map<number, Set<string>> },
): Promise<void> {
  const sets = await sql<{ test_tag_set_no: number; test_list_no: number }[]>`
    select test_tag_set_no, test_list_no from test_tag_set where repository_id = ${repositoryId}`;
  for (const { test_tag_set_no, test_list_no } of sets) {
    const groups = await loadTagSet(sql, repositoryId, test_tag_set_no);
    const testNos = await loadTestList(sql, { repositoryId, testListNo: test_list_no });
    for (const { tags, places } of groups) {
      for (const place of places) {
        for (const tag of tags) tagsOf.get(testNos[place]!)?.add(tag);
      }
    }
  }
}

/** The groups of a set of tags; none when it was removed. */
async function loadTagSet(sql: Queryable, repositoryId: number, testTagSetNo: number) {
  const [set] = await sql<{ groups: string; members: Uint8Array }[]>`
    select tag_groups as groups, members from test_tag_set
    where repository_id = ${repositoryId} and test_tag_set_no = ${testTagSetNo}`;
  return set ? decodeTestTags(set) : [];
}
