/**
 * Tags of tests: the union of the tags of all submissions that ran them. A row for each tag has the
 * numbers of its tests as ranges, mostly a few, so that an upload with a new tag costs the same after
 * a thousand others.
 */
import { createHash } from "node:crypto";
import type { TestTags } from "../../lib/analysis/test_tags.ts";
import { TAG_LIMITS } from "../../lib/report/limits.ts";
import { type Queryable, rangesOf, textsIn } from "../connection/sql.ts";
import { loadTestList } from "../read/runs.ts";

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
  /** Their test_no, as the text of an `int4multirange`. */
  tests: string;
}

/**
 * Adds the tags of a new submission to the tests that it ran. Returns the digest (hex) of its tags of
 * single tests. @throws {TagLimitError} when the repository would have too many distinct tags
 */
export async function addTags(
  tx: Queryable,
  list: TestList,
  { tags, testTags }: { tags: readonly string[]; testTags: TestTags | null },
): Promise<string | null> {
  if (tags.length === 0 && !testTags) return null;
  const { repositoryId } = list;
  const listed = await loadTestList(tx, list);
  const groups: TagGroup[] = tags.length > 0 ? [{ tags, tests: rangesOf(listed) }] : [];
  if (!testTags) {
    await tagTests(tx, repositoryId, groups);
    return null;
  }
  const ofSingleTests = groupsOf(testTags, listed);
  const json = JSON.stringify(ofSingleTests);
  const digest = createHash("sha256").update(json).digest("hex").slice(0, DIGEST_DIGITS);
  // Stored once for all submissions that have the same.
  const { count } = await tx`
    insert into test_tag_set (repository_id, digest, tag_groups)
    values (${repositoryId}, decode(${digest}, 'hex'), ${json})
    on conflict do nothing`;
  await tagTests(tx, repositoryId, count > 0 ? [...groups, ...ofSingleTests] : groups);
  return digest;
}

const DIGEST_DIGITS = 32;

function groupsOf({ groups, groupOf }: TestTags, listed: Int32Array): TagGroup[] {
  const testNos = groups.map((): number[] => []);
  groupOf.forEach((groupNo, index) => testNos[groupNo - 1]?.push(listed[index]!));
  return groups.map((tags, index) => ({ tags, tests: rangesOf(testNos[index]!) }));
}

function testsByTag(sql: Queryable, groups: TagGroup[]) {
  return sql`(
    select tag, range_agg(tests) as tests
    from json_to_recordset(${JSON.stringify(groups)}::text::json)
        as g(tags json, tests int4multirange),
      json_array_elements_text(tags) as tag
    group by tag)`;
}

/** Adds tags to tests. @throws {TagLimitError} when the repository would have too many distinct tags */
export async function tagTests(
  tx: Queryable,
  repositoryId: number,
  groups: TagGroup[],
): Promise<void> {
  if (groups.length === 0) return;
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
  await tx`
    insert into test_tag as present (repository_id, tag, tests)
    select ${repositoryId}, tag, tests from ${testsByTag(tx, groups)} added
    on conflict (repository_id, tag) do update set tests = present.tests + excluded.tests
    where not present.tests @> excluded.tests`;
}

/** A submission, as far as its tags are concerned. */
export interface TaggedSubmission {
  repositoryId: number;
  /** `null` for one that was not processed. */
  testListNo: number | null;
  tags: readonly string[];
  /** Hex; `null` without tags of single tests. */
  testTagDigest: string | null;
}

/** The tags of a submission, each with the tests that it has there. */
export async function loadTags(
  tx: Queryable,
  { repositoryId, testListNo, tags, testTagDigest }: TaggedSubmission,
): Promise<TagGroup[]> {
  if (testListNo === null) return [];
  const ofSingleTests = await loadTagSets(tx, repositoryId, testTagDigest);
  if (tags.length === 0) return ofSingleTests;
  const tests = rangesOf(await loadTestList(tx, { repositoryId, testListNo }));
  return [{ tags, tests }, ...ofSingleTests];
}

/**
 * Removes the tags of a deleted submission from its tests, except those that other stored submissions
 * added too. Tags from pruned submissions stay.
 */
export async function removeTags(
  tx: Queryable,
  repositoryId: number,
  removed: TagGroup[],
): Promise<void> {
  if (removed.length === 0) return;
  const lists = await tx<{ testListNo: number; tags: string[] }[]>`
    select test_list_no as "testListNo", json_agg(distinct tag) as tags
    from submission, unnest(tags) as tag
    where repository_id = ${repositoryId} and status = 'processed'
      and tag = any(${textsIn(tx, removed.flatMap(({ tags }) => tags))})
    group by test_list_no`;
  const kept = await loadTagSets(tx, repositoryId);
  for (const { testListNo, tags } of lists) {
    kept.push({ tags, tests: rangesOf(await loadTestList(tx, { repositoryId, testListNo })) });
  }
  await tx`
    update test_tag t set tests = t.tests - (removed.tests - coalesce(kept.tests, '{}'))
    from ${testsByTag(tx, removed)} removed
    left join ${testsByTag(tx, kept)} kept on kept.tag = removed.tag
    where t.repository_id = ${repositoryId} and t.tag = removed.tag`;
  await tx`delete from test_tag where repository_id = ${repositoryId} and isempty(tests)`;
}

/** The tags of single tests with a digest, or of all submissions of a repository. */
async function loadTagSets(
  sql: Queryable,
  repositoryId: number,
  digest?: string | null,
): Promise<TagGroup[]> {
  const sets = await sql<{ groups: string }[]>`
    select tag_groups as groups from test_tag_set
    where repository_id = ${repositoryId}
      and ${digest === undefined ? sql`true` : sql`digest = decode(${digest}::text, 'hex')`}`;
  return sets.flatMap(({ groups }) => JSON.parse(groups));
}
