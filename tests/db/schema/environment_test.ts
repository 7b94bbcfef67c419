/** Migrations 8 and 10, with a submission of an earlier build. */
import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { migrate } from "../../../db/schema/migrate.ts";
import { migrations } from "../../../db/schema/migrations/mod.ts";
import { describeWithDatabases, dropEverything } from "../../database.ts";

/** Migrations before those in question. */
const BEFORE = 7;

describeWithDatabases("the migrations to environments and counts of tests", (database) => {
  it("keep submissions, whose environment, job and counts are unknown", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await migrate(sql, migrations.slice(0, BEFORE));
    await sql`
      insert into submission (repository_id, submission_id, recorded_at, uploaded_at, status, key,
        commit_oid, tree_oid, branch, test_result_count, data_version)
      values (1, decode('697dc80c14b6e07a92d3f58c', 'hex'), now(), now(), 'processed', 'a.gz',
        'abc1234', 'def5678', 'main', 3, 1)`;

    await migrate(sql);
    const rows = await sql`
      select key, branch, environment, job, shard, code_version, test_result_count,
        ran_test_count, skipped_test_count, failed_test_count
      from submission`;
    assert.deepEqual(rows.map((row) => ({ ...row })), [{
      key: "a.gz",
      branch: "main",
      environment: "",
      job: "",
      shard: "",
      code_version: "tree:def5678",
      test_result_count: 3,
      ran_test_count: null,
      skipped_test_count: null,
      failed_test_count: null,
    }]);
  });
});
