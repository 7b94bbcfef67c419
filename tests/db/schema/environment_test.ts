/** Migration 8, with submissions of earlier builds. */
import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { createOrganization } from "../../../db/admin/organizations.ts";
import { createRepository } from "../../../db/admin/repositories.ts";
import { loadSubmissionsPage } from "../../../db/read/submissions.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { migrations } from "../../../db/schema/migrations/mod.ts";
import { ALL_SUBMISSIONS } from "../../../lib/query/submission_filter.ts";
import { commitSubmission } from "../../commit_submission.ts";
import { describeWithDatabases, dropEverything } from "../../database.ts";
import { NOW, uploadOf } from "../../routes/fixture.ts";

/** Migrations before the one in question. */
const BEFORE = 7;

describeWithDatabases("the migration to environments", (database) => {
  it("keeps submissions, whose environment is unknown and joins later ones without any", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await migrate(sql);
    const organization = await createOrganization(sql, {
      name: "acme",
      purchaseUnitCount: 0,
      createdAt: NOW,
    });
    const repository = await createRepository(sql, {
      organization: organization!,
      owner: "acme",
      name: "shop",
      createdAt: NOW,
    });
    const failed = [{ name: "t", conclusion: "failure" as const }];
    await commitSubmission(sql, uploadOf(repository, failed));
    // Back to the schema of version 7, with the data of an upload.
    for (const column of ["environment", "job", "shard"]) {
      await sql`alter table submission drop column ${sql(column)}`;
    }
    await sql`delete from schema_migration where version > ${BEFORE}`;

    await migrate(sql, migrations.slice(0, BEFORE + 1));
    const { submissions } = await loadSubmissionsPage(sql, {
      repositoryId: repository.repositoryId,
      windowStart: 0,
      filter: ALL_SUBMISSIONS,
      after: null,
      limit: 10,
    });
    assert.deepEqual(
      submissions.map(({ environment, job, shard }) => [environment, job, shard]),
      [["", "", ""]],
    );
    const elsewhere = uploadOf(repository, [{ name: "t" }], { environment: "Linux-X64" });
    await commitSubmission(sql, elsewhere);
    const disruptions = async () =>
      (await sql`select 1 from negative_result where is_disruption`).length;
    assert.equal(await disruptions(), 0);
    await commitSubmission(sql, uploadOf(repository, [{ name: "t" }]));
    assert.equal(await disruptions(), 1);
  });
});
