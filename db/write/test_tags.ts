import { decodeTestTags, encodeTestTags, type TestTags } from "../../lib/analysis/test_tags.ts";
import { integersIn, type Queryable, someTextsOf, textsIn } from "../connection/sql.ts";
import { loadTestList } from "./test_lists.ts";

/**
 * Gives the tags of a submission to every test that it ran.
 *
 * A list remembers the tags that all of its tests have, so that the usual submission, whose list
 * was run with the same tags before, costs one look.
 */
export async function addTags(
  sql: Queryable,
  { repositoryId, testListNo, tags, isTagged }: {
    repositoryId: number;
    testListNo: number;
    tags: string[];
    /** Whether a test was stored with its tags just now. */
    isTagged(testNo: number): boolean;
  },
): Promise<void> {
  const [list] = await sql<{ missing: boolean }[]>`
    update test_list set tags = array(
      select tag from unnest(tags) as tag union select unnest(${textsIn(sql, tags)}))
    where repository_id = ${repositoryId} and test_list_no = ${testListNo}
      and not tags @> ${textsIn(sql, tags)}
    returning true as missing`;
  if (!list) return;
  const testNos = (await loadTestList(sql, { repositoryId, testListNo }))
    .filter((testNo) => !isTagged(testNo));
  await tagTests(sql, { repositoryId, testNos, tags });
}

/**
 * Gives tags to single tests of a list; returns the number that the submission remembers them by.
 *
 * A set that an earlier submission brought is there with its row: it costs one look.
 */
export async function addTestTags(
  sql: Queryable,
  { repositoryId, testListNo, tags, isTagged }: {
    repositoryId: number;
    testListNo: number;
    tags: TestTags;
    /** Whether a test was stored with its tags just now. */
    isTagged(testNo: number): boolean;
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
      .filter((testNo) => !isTagged(testNo));
    await tagTests(sql, { repositoryId, testNos, tags: group.tags });
  }
  return added!.test_tag_set_no;
}

/** Adds tags to those that tests have; those that have all of them stay untouched. */
async function tagTests(
  sql: Queryable,
  { repositoryId, testNos, tags }: {
    repositoryId: number;
    testNos: Iterable<number>;
    tags: string[];
  },
): Promise<void> {
  await sql`
    update test set tags = array(
      select tag from unnest(tags) as tag union select unnest(${textsIn(sql, tags)}))
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(sql, testNos)})
      and not coalesce(tags, '{}') @> ${textsIn(sql, tags)}`;
}

/** Tags that a submission brought to tests of its list. */
export interface BroughtTags {
  /** Those of all tests. */
  tags: string[];
  /** The set that tells those of single tests. */
  testTagSetNo: number | null;
}

/**
 * Takes the tags of a submission that is gone from the tests of its list, but for those that others
 * brought as well: a tag goes when the last submission that brought it is deleted. Tags that came
 * with submissions that were pruned stay.
 */
export async function recomputeTags(
  sql: Queryable,
  { repositoryId, testListNo, gone }: {
    repositoryId: number;
    testListNo: number;
    gone: BroughtTags;
  },
): Promise<void> {
  const affected = await loadTestList(sql, { repositoryId, testListNo });
  const tagsOf = await otherTags(sql, { repositoryId, testNos: affected, gone });
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
  // What a list remembers of its tests' tags may not be so any more.
  await sql`update test_list set tags = '{}' where repository_id = ${repositoryId}`;
}

/** SQL: whether no submission brought the row `t` of `test_tag_set`. */
export function isUnusedSet(sql: Queryable) {
  return sql`not exists (
    select from submission s
    where s.repository_id = t.repository_id and s.test_tag_set_no = t.test_tag_set_no)`;
}

/** The tags of tests without those that a submission brought; others may have brought them too. */
async function otherTags(
  sql: Queryable,
  { repositoryId, testNos, gone }: {
    repositoryId: number;
    testNos: Int32Array;
    gone: BroughtTags;
  },
): Promise<Map<number, Set<string>>> {
  const tests = await sql<TaggedTest[]>`
    select test_no, array_to_json(tags) as tags from test
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(sql, testNos)}) and tags is not null`;
  const tagsOf = new Map(Array.from(testNos, (testNo) => [testNo, new Set<string>()]));
  for (const { test_no, tags } of tests) {
    tagsOf.set(test_no, new Set(tags).difference(new Set(gone.tags)));
  }
  if (gone.testTagSetNo === null) return tagsOf;
  for (const { tags, places } of await loadTagSet(sql, repositoryId, gone.testTagSetNo)) {
    for (const place of places) {
      for (const tag of tags) tagsOf.get(testNos[place]!)?.delete(tag);
    }
  }
  return tagsOf;
}

/** A test, and all of its tags. */
export interface TaggedTest {
  test_no: number;
  tags: string[];
}

/** Gives tests exactly these tags. */
export async function setTags(
  sql: Queryable,
  repositoryId: number,
  tests: TaggedTest[],
): Promise<void> {
  await sql`
    update test t set tags = ${someTextsOf(sql, sql`r.tags`)}
    from json_to_recordset(${JSON.stringify(tests)}::text::json) as r(test_no int, tags json)
    where t.repository_id = ${repositoryId} and t.test_no = r.test_no`;
}

/** Adds the tags of single tests, of all lists, to those of `tagsOf`. */
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

/** The groups of a set of tags; none when it is gone. */
async function loadTagSet(sql: Queryable, repositoryId: number, testTagSetNo: number) {
  const [set] = await sql<{ groups: string; members: Uint8Array }[]>`
    select tag_groups as groups, members from test_tag_set
    where repository_id = ${repositoryId} and test_tag_set_no = ${testTagSetNo}`;
  return set ? decodeTestTags(set) : [];
}
