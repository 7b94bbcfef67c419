import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { deleteSubmission } from "../../../db/write/delete_submission.ts";
import { createOrganization } from "../../../db/admin/organizations.ts";
import { storeSubmission } from "../../../db/write/store_submission.ts";
import { findOrCreateRepository } from "../../../db/admin/create_repository.ts";
import { deleteRepository, type Repository } from "../../../db/admin/repositories.ts";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import { ownerTags } from "../../../lib/analysis/test_tags.ts";
import { parseCodeowners } from "../../../lib/report/codeowners.ts";
import { describeWithDatabases } from "../../database.ts";

const NOW = 1_790_000_000;

describeWithDatabases("tags of single tests", (database) => {
  let organizationId: number;
  let uploads = 0;
  let nextName = 0;

  before(async () => {
    const { sql } = database();
    const acme = { name: "acme", purchaseUnitCount: 0, createdAt: NOW };
    organizationId = (await createOrganization(sql, acme))!.organizationId;
  });

  async function newRepository(): Promise<Repository> {
    const { repository } = await findOrCreateRepository(database().sql, {
      organization: { organizationId, name: "acme" },
      owner: "acme",
      name: `repository-${nextName++}`,
      createdAt: NOW,
    });
    return repository;
  }

  async function submit(
    { repositoryId }: Repository,
    { files, codeowners, tags = [] }: { files: string[]; codeowners: string; tags?: string[] },
  ) {
    const builder = new SubmissionBuilder();
    for (const file of files) {
      builder.add({
        suite: "",
        class: "",
        name: file,
        file,
        conclusion: "passing",
        durationMicroseconds: 0,
        message: "",
      });
    }
    const content = builder.finish();
    return await storeSubmission(database().sql, {
      repositoryId,
      commitOid: "c1c1c1c",
      treeOid: null,
      branch: null,
      buildUrl: "",
      tags,
      testTags: ownerTags(content, parseCodeowners(codeowners)),
      recordedAt: NOW,
      uploadedAt: NOW,
      reportDigest: String(uploads++),
      content,
      coverage: null,
    });
  }

  async function tagsOf({ repositoryId }: Repository): Promise<Record<string, string[]>> {
    const rows = await database().sql<{ name: string; tags: string[] }[]>`
      select name, array_to_json(array(select unnest(tags) order by 1)) as tags from test
      where repository_id = ${repositoryId} order by name`;
    return Object.fromEntries(rows.map((row) => [row.name, row.tags]));
  }

  async function setCount({ repositoryId }: Repository): Promise<number> {
    const [row] = await database().sql<{ count: number }[]>`
      select count(*)::int from test_tag_set where repository_id = ${repositoryId}`;
    return row!.count;
  }

  it("are the owners of their files, beside the tags of the submission", async () => {
    const repository = await newRepository();
    await submit(repository, {
      files: ["web/a", "api/b", "c"],
      codeowners: "/web/ @web\n/api/ @api @ops\n",
      tags: ["nightly"],
    });
    assert.deepEqual(await tagsOf(repository), {
      "api/b": ["nightly", "owner:@api", "owner:@ops"],
      "c": ["nightly"],
      "web/a": ["nightly", "owner:@web"],
    });
  });

  it("are stored once for submissions with the same, and not at all without", async () => {
    const repository = await newRepository();
    const codeowners = "/web/ @web\n";
    for (let i = 0; i < 3; i++) await submit(repository, { files: ["web/a", "b"], codeowners });
    assert.equal(await setCount(repository), 1);
    await submit(repository, { files: ["b"], codeowners });
    assert.equal(await setCount(repository), 1);
  });

  it("are a union over submissions, and go with the last that brought them", async () => {
    const repository = await newRepository();
    const files = ["web/a", "b"];
    const first = await submit(repository, { files, codeowners: "/web/ @old\n" });
    const again = await submit(repository, { files, codeowners: "/web/ @old\n" });
    const other = await submit(repository, { files: ["web/a"], codeowners: "* @all\n" });
    await submit(repository, { files, codeowners: "/web/ @new\n" });
    const remove = ({ key }: { key: string }) =>
      deleteSubmission(database().sql, { organizationId, key });

    assert.deepEqual((await tagsOf(repository))["web/a"], [
      "owner:@all",
      "owner:@new",
      "owner:@old",
    ]);
    await remove(first);
    assert.deepEqual((await tagsOf(repository))["web/a"], [
      "owner:@all",
      "owner:@new",
      "owner:@old",
    ]);
    await remove(again);
    assert.deepEqual((await tagsOf(repository))["web/a"], ["owner:@all", "owner:@new"]);
    await remove(other);
    assert.deepEqual(await tagsOf(repository), { "b": [], "web/a": ["owner:@new"] });
    assert.equal(await setCount(repository), 1);
    await submit(repository, { files, codeowners: "/web/ @old\n" });
    assert.deepEqual((await tagsOf(repository))["web/a"], ["owner:@new", "owner:@old"]);
  });

  it("go with their repository", async () => {
    const repository = await newRepository();
    await submit(repository, { files: ["web/a"], codeowners: "* @all\n" });
    await deleteRepository(database().sql, repository);
    assert.equal(await setCount(repository), 0);
  });
});
