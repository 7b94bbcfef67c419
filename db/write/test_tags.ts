/**
 * Tags of tests: the union of the tags of all submissions that ran them. A row for each tag has the
 * numbers of its tests as ranges, mostly a few, so that an upload with a new tag costs the same after
 * a thousand others.
 */
import { decodeTestTags, encodeTestTags, type TestTags } from "../../lib/analysis/test_tags.ts";
import { TAG_LIMITS } from "../../lib/report/limits.ts";
import { type Fragment, type Queryable, rangesOf, textsIn } from "../connection/sql.ts";
import { loadTestList } from "../read/test_lists.ts";
import { takeNumbers } from "./repository_row.ts";

/** A repository would have too many distinct tags. */
export class TagLimitError extends Error {
  override name = "TagLimitError";
}

interface TestList {
  repositoryId: number;
  testListNo: number;
}

/** Tests that have the same tags. */
interface TagGroup {
  tags: readonly string[];
  testNos: Iterable<number>;
}

/**
 * Adds the tags of a new submission to the tests that it ran. Returns the number of its set of tags
 * of single tests. @throws {TagLimitError} when the repository would have too many distinct tags
 */
export async function addTags(
  tx: Queryable,
  list: TestList,
  { tags, testTags }: { tags: readonly string[]; testTags: TestTags | null },
): Promise<number | null> {
  if (tags.length === 0 && !testTags) return null;
  const listed = await loadTestList(tx, list);
  const groups: TagGroup[] = tags.length > 0 ? [{ tags, testNos: listed }] : [];
  const set = testTags && await storeTagSet(tx, list, testTags);
  if (set?.isNew) groups.push(...groupsOf(testTags!, listed));
  await tagTests(tx, list.repositoryId, groups);
  return set?.testTagSetNo ?? null;
}

/** Stores the tags of single tests, once for all submissions of the list that have the same. */
async function storeTagSet(
  tx: Queryable,
  { repositoryId, testListNo }: TestList,
  testTags: TestTags,
): Promise<{ testTagSetNo: number; isNew: boolean }> {
  const { groups, members, digest } = encodeTestTags(testTags);
  const [known] = await tx<{ testTagSetNo: number }[]>`
    select test_tag_set_no as "testTagSetNo" from test_tag_set
    where repository_id = ${repositoryId} and test_list_no = ${testListNo}
      and digest = decode(${digest}, 'hex')`;
  if (known) return { ...known, isNew: false };
  const testTagSetNo = await takeNumbers(tx, { repositoryId, column: "next_test_tag_set_no" });
  await tx`
    insert into test_tag_set
      (repository_id, test_tag_set_no, test_list_no, digest, tag_groups, members)
    values (${repositoryId}, ${testTagSetNo}, ${testListNo}, decode(${digest}, 'hex'), ${groups},
      ${members})`;
  return { testTagSetNo, isNew: true };
}

function groupsOf(testTags: TestTags, listed: Int32Array): TagGroup[] {
  const groups = testTags.groups.map((tags) => ({ tags, testNos: [] as number[] }));
  testTags.groupOf.forEach((groupNo, place) => groups[groupNo - 1]?.testNos.push(listed[place]!));
  return groups;
}

async function tagTests(tx: Queryable, repositoryId: number, groups: TagGroup[]): Promise<void> {
  const tags = [...new Set(groups.flatMap((group) => group.tags))];
  const [counts] = await tx<{ newTag: string | null; count: number; presentCount: number }[]>`
    select min(tag) filter (where repository_id is null) as "newTag", count(*)::int as count,
      count(repository_id)::int as "presentCount"
    from (select tag, repository_id from test_tag where repository_id = ${repositoryId}) present
    full join unnest(${textsIn(tx, tags)}) as tag using (tag)`;
  const { newTag, count, presentCount } = counts!;
  if (newTag !== null && count > TAG_LIMITS.perRepository) {
    throw new TagLimitError(
      `tag "${newTag}" is new, and the tests of the repository already have ${presentCount} ` +
        `distinct tags: expected at most ${TAG_LIMITS.perRepository}, without any that differ ` +
        "from run to run, such as build numbers",
    );
  }
  const rows = groups.map(({ tags, testNos }) => ({ tags, tests: rangesOf(testNos) }));
  await tx`
    insert into test_tag as present (repository_id, tag, tests)
    select ${repositoryId}, tag, range_agg(tests)
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
        as g(tags json, tests int4multirange),
      json_array_elements_text(tags) as tag
    group by tag
    on conflict (repository_id, tag) do update set tests = present.tests + excluded.tests
    where not present.tests @> excluded.tests`;
}

/** A submission, as far as its tags are concerned. */
export interface TaggedSubmission {
  repositoryId: number;
  /** `null` for one that was not processed. */
  testListNo: number | null;
  tags: readonly string[];
  testTagSetNo: number | null;
}

/** The tags of a submission, each with the tests that it has there. */
export async function loadTags(
  tx: Queryable,
  { repositoryId, testListNo, tags, testTagSetNo }: TaggedSubmission,
): Promise<TagGroup[]> {
  if (testListNo === null || tags.length === 0 && testTagSetNo === null) return [];
  const testNos = await loadTestList(tx, { repositoryId, testListNo });
  const sets = await loadTagSets(tx, repositoryId, tx`test_tag_set_no = ${testTagSetNo}`);
  return [{ tags, testNos }, ...sets];
}

/**
 * Removes the tags of a deleted submission from its tests, except those that other stored submissions
 * added too. Tags from pruned submissions stay.
 */
export async function removeTags(
  tx: Queryable,
  repositoryId: number,
  groups: TagGroup[],
): Promise<void> {
  if (groups.length === 0) return;
  const removed = new Map<string, Set<number>>();
  for (const { tags, testNos } of groups) {
    for (const tag of tags) {
      removed.set(tag, (removed.get(tag) ?? new Set()).union(new Set(testNos)));
    }
  }
  const lists = await tx<{ testListNo: number; tags: string[] }[]>`
    select test_list_no as "testListNo", json_agg(distinct tag) as tags
    from submission, unnest(tags) as tag
    where repository_id = ${repositoryId} and status = 'processed'
      and tag = any(${textsIn(tx, [...removed.keys()])})
    group by test_list_no`;
  const others: TagGroup[] = await loadTagSets(tx, repositoryId, tx`true`);
  for (const { testListNo, tags } of lists) {
    others.push({ tags, testNos: await loadTestList(tx, { repositoryId, testListNo }) });
  }
  for (const { tags, testNos } of others) {
    for (const tests of tags.flatMap((tag) => removed.get(tag) ?? [])) {
      for (const testNo of testNos) tests.delete(testNo);
    }
  }
  const rows = [...removed].map(([tag, tests]) => ({ tag, tests: rangesOf(tests) }));
  await tx`
    update test_tag t set tests = t.tests - r.tests
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as r(tag text, tests int4multirange)
    where t.repository_id = ${repositoryId} and t.tag = r.tag`;
  await tx`delete from test_tag where repository_id = ${repositoryId} and isempty(tests)`;
}

/** Tests with the tags of single tests, of the sets of a repository where a condition holds. */
async function loadTagSets(
  sql: Queryable,
  repositoryId: number,
  condition: Fragment,
): Promise<TagGroup[]> {
  const sets = await sql<{ testListNo: number; groups: string; members: Uint8Array }[]>`
    select test_list_no as "testListNo", tag_groups as groups, members from test_tag_set
    where repository_id = ${repositoryId} and ${condition}`;
  const groups: TagGroup[] = [];
  for (const { testListNo, ...encoded } of sets) {
    const listed = await loadTestList(sql, { repositoryId, testListNo });
    groups.push(...groupsOf(decodeTestTags(encoded), listed));
  }
  return groups;
}
