import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { migrate } from "../../../db/schema/migrate.ts";
import { migrations } from "../../../db/schema/migrations/mod.ts";
import { createOrganization } from "../../../db/admin/organizations.ts";
import { processSubmission, type Upload } from "../../../db/write/store_submission.ts";
import { findOrCreateRepository } from "../../../db/admin/repositories.ts";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import { testHash } from "../../../lib/base/identity.ts";
import { describeWithDatabases, emptied } from "../../database.ts";

const NOW = 1_790_000_000;

/** SHA-256 of `["c","https://ci.example/1","00"]`. */
const DIGEST = "45f305d9f5c0cfac6658c90ad35fc013f16c3d1b5fe9b5623175e98010ee6c24";
/** The id that it gives to a submission of acme/shop of the organization acme, at `NOW`. */
const ID = "6ab13b803353b56b0c4b37e7";

describeWithDatabases("digests of uploads and tags of tests", (database) => {
  function upload(repositoryId: number, names: string[], more: Partial<Upload> = {}) {
    const builder = new SubmissionBuilder();
    const same = { suite: "", class: "", file: "", durationMicroseconds: 0, message: "" };
    for (const name of names) builder.add({ ...same, name, conclusion: "passing" });
    return processSubmission(database().sql, {
      repositoryId,
      commitOid: "c",
      treeOid: null,
      branch: null,
      buildUrl: "https://ci.example/1",
      tags: [],
      recordedAt: NOW,
      uploadedAt: NOW,
      reportDigest: "00",
      content: builder.finish(),
      coverage: null,
      ...more,
    });
  }

  async function digests(): Promise<(string | null)[]> {
    const rows = await database().sql<{ digest: string | null }[]>`
      select encode(upload_digest, 'hex') as digest from submission order by submission_id`;
    return rows.map(({ digest }) => digest);
  }

  /** Tags by the name of the test, as they are stored. */
  async function storedTags(): Promise<Record<string, string[] | null>> {
    const rows = await database().sql<{ name: string; tags: string[] | null }[]>`
      select name, array_to_json(tags) as tags from test order by name`;
    return Object.fromEntries(rows.map(({ name, tags }) => [name, tags && tags.toSorted()]));
  }

  it("take half a digest, of which all makes the id, and nothing for no tags", async () => {
    const { sql } = database();
    const organization = await createOrganization(sql, {
      name: "acme",
      purchaseUnitCount: 0,
      createdAt: NOW,
    });
    const { repository: { repositoryId } } = await findOrCreateRepository(sql, {
      organization: organization!,
      owner: "acme",
      name: "shop",
      createdAt: NOW,
    });
    const { submissionId } = await upload(repositoryId, ["a", "b"]);
    assert.equal(submissionId, ID);
    assert.deepEqual(await digests(), [DIGEST.slice(0, 32)]);
    assert.deepEqual(await storedTags(), { a: null, b: null });
    await upload(repositoryId, ["b", "c"], { reportDigest: "01", tags: ["slow", "x"] });
    assert.deepEqual(await storedTags(), { a: null, b: ["slow", "x"], c: ["slow", "x"] });
  });

  it("that were stored otherwise are known again", async () => {
    const { sql } = database();
    await emptied(sql);
    await migrate(sql, { migrations: migrations.slice(0, 5) });
    await sql`
      insert into organization (name, name_key, created_at) values ('a', 'a', now())`;
    await sql`
      insert into repository (organization_id, repository_id, owner, name, owner_key, name_key,
        id_prefix, created_at, next_test_no)
      select organization_id, 1, 'a', 's', 'a', 's', 5, now(), 3 from organization`;
    const ids = [1, 2].map((n) => `${NOW.toString(16)}${"00".repeat(7)}0${n}`);
    await sql`
      insert into submission (repository_id, submission_id, recorded_at, uploaded_at, status, key,
        commit_oid, upload_digest, test_list_no, duration_unit, durations, exceptions, data_version)
      select 1, decode(id, 'hex'), to_timestamp(${NOW}), now(), 'processed', 'key ' || id, 'c',
        decode(digest, 'hex'), 0, 1, '\\x00', '\\x', 1
      from (values (${ids[0]!}, ${DIGEST}), (${ids[1]!}, null)) as s(id, digest)`;
    const hashes = ["a", "b", "c"].map((name) =>
      testHash({ suite: "", class: "", name, file: "" })
    );
    await sql`
      insert into test (repository_id, test_no, test_hash, suite, class, name, file)
      values (1, 0, ${hashes[0]!}, '', '', 'a', ''), (1, 1, ${hashes[1]!}, '', '', 'b', '')`;
    await sql`
      insert into test (repository_id, test_no, test_hash, suite, class, name, file, tags)
      values (1, 2, ${hashes[2]!}, '', '', 'c', '', '{slow,nightly}')`;
    await migrate(sql);

    assert.deepEqual(await digests(), [DIGEST.slice(0, 32), null]);
    assert.deepEqual(await storedTags(), { a: null, b: null, c: ["nightly", "slow"] });
    const again = await upload(1, ["a"]);
    assert.deepEqual([again.submissionId, again.duplicate], [ids[0], true]);
    const other = await upload(1, ["b", "c"], { reportDigest: "01", tags: ["slow", "x"] });
    assert.equal(other.duplicate, false);
    assert.deepEqual(await storedTags(), {
      a: null,
      b: ["slow", "x"],
      c: ["nightly", "slow", "x"],
    });
  });
});
