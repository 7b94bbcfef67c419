import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { deleteSubmission } from "../../../db/write/delete_submission.ts";
import type { Organization } from "../../../db/admin/organizations.ts";
import { commitSubmission } from "../../commit_submission.ts";

import { deleteRepository, type Repository } from "../../../db/admin/repositories.ts";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import { ownerTags } from "../../../lib/analysis/test_tags.ts";
import { parseCodeowners } from "../../../lib/report/codeowners.ts";
import { TAG_LIMITS } from "../../../lib/report/limits.ts";
import { describeWithDatabases } from "../../database.ts";
import { newOrganization, newRepository } from "../../organizations.ts";

const NOW = 1_790_000_000;

describeWithDatabases("tags of tests", (database) => {
  let organization: Organization;
  let uploads = 0;
  let nextName = 0;

  before(async () => {
    organization = await newOrganization(database().sql);
  });

  /** A repository of its own for each test. */
  const addRepository = () =>
    newRepository(database().sql, organization, `repository-${nextName++}`);

  async function submit(
    { repositoryId }: Repository,
    { files, codeowners = "", tags = [] }: {
      files: string[];
      codeowners?: string;
      tags?: string[];
    },
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
        body: "",
      });
    }
    const content = builder.finish();
    return await commitSubmission(database().sql, {
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
      select name, array_to_json(array(
        select tag from test_tag g
        where g.repository_id = t.repository_id and g.tests @> t.test_no order by 1)) as tags
      from test t where repository_id = ${repositoryId} order by name`;
    return Object.fromEntries(rows.map((row) => [row.name, row.tags]));
  }

  async function setCount({ repositoryId }: Repository): Promise<number> {
    const [row] = await database().sql<{ count: number }[]>`
      select count(*)::int from test_tag_set where repository_id = ${repositoryId}`;
    return row!.count;
  }

  it("are those of the submission and the owners of their files", async () => {
    const repository = await addRepository();
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

  it("of single tests are stored once for submissions with the same", async () => {
    const repository = await addRepository();
    const codeowners = "/web/ @web\n";
    for (let i = 0; i < 3; i++) await submit(repository, { files: ["web/a", "b"], codeowners });
    assert.equal(await setCount(repository), 1);
    await submit(repository, { files: ["b"], codeowners });
    assert.equal(await setCount(repository), 1);
  });

  it("are a union over submissions, and are deleted with the last that added them", async () => {
    const repository = await addRepository();
    const files = ["web/a", "b"];
    const first = await submit(repository, { files, codeowners: "/web/ @old\n" });
    const again = await submit(repository, { files, codeowners: "/web/ @old\n" });
    const other = await submit(repository, { files: ["web/a"], codeowners: "* @all\n" });
    await submit(repository, { files, codeowners: "/web/ @new\n" });
    const remove = ({ key }: { key: string }) =>
      deleteSubmission(database().sql, { ...organization, key });

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

  it("take the same time after hundreds of other tags", async () => {
    const repository = await addRepository();
    const files = Array.from({ length: 300 }, (_, index) => `${index}`);
    const times: number[] = [];
    for (let run = 0; run < 150; run++) {
      const startedAt = performance.now();
      await submit(repository, { files, tags: [`build-${run}`] });
      times.push(performance.now() - startedAt);
    }
    // The fastest of each: on a busy machine others are many times slower.
    const [early, late] = [Math.min(...times.slice(10, 40)), Math.min(...times.slice(-30))];
    assert.ok(late < 5 * early, `${early.toFixed(1)} ms, later ${late.toFixed(1)} ms`);
    assert.equal((await tagsOf(repository))["7"]?.length, 150);
  });

  it("are refused above the limit of a repository, at once", async () => {
    const repository = await addRepository();
    const files = Array.from({ length: 1_000 }, (_, index) => `${index}`);
    const tags = Array.from({ length: TAG_LIMITS.perRepository }, (_, index) => `build-${index}`);
    const startedAt = performance.now();
    await submit(repository, { files, tags });
    assert.ok(performance.now() - startedAt < 10_000);
    await assert.rejects(submit(repository, { files, tags: ["build-7", "another"] }), {
      name: "TagLimitError",
      message: 'tag "another" is new, and the tests of the repository already have 2000 distinct ' +
        "tags: expected at most 2000, without any that differ from run to run, such as build numbers",
    });
    await submit(repository, { files, tags: ["build-7"] });
    const [row] = await database().sql<{ count: number }[]>`
      select count(*)::int from submission where repository_id = ${repository.repositoryId}`;
    assert.equal(row!.count, 2);
  });

  it("are deleted with their repository", async () => {
    const repository = await addRepository();
    await submit(repository, { files: ["web/a"], codeowners: "* @all\n" });
    await database().sql.begin((tx) => deleteRepository(tx, repository));
    assert.equal(await setCount(repository), 0);
    assert.equal(
      (await database().sql`
      select from test_tag where repository_id = ${repository.repositoryId}`).length,
      0,
    );
  });
});
