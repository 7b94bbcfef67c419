/** Migration 14, with tests of an earlier build. */
import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { findFileMatches } from "../../../db/write/file_matches.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { migrations } from "../../../db/schema/migrations/mod.ts";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import { describeWithDatabases, dropEverything } from "../../database.ts";

/** Migrations before those in question. */
const BEFORE = 13;

describeWithDatabases("the migration to tests whose file is missing", (database) => {
  it("finds tests of earlier builds, whose names may be long", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await migrate(sql, migrations.slice(0, BEFORE));
    const name = "größe\\x1f'\"".repeat(1_000);
    await sql`
      insert into repository_state (repository_id, id_prefix, data_version, next_test_no)
      values (1, 1, 1, 2)`;
    await sql`
      insert into test (repository_id, test_no, test_hash, suite, class, name, file)
      values (1, 0, 7, 'suite', 'class', ${name}, 'a.py'), (1, 1, 8, 'suite', 'class', 'b', '')`;
    await migrate(sql);

    const builder = new SubmissionBuilder();
    builder.add({
      suite: "suite",
      class: "class",
      name,
      file: "",
      conclusion: "passing",
      durationMicroseconds: 1,
      message: "",
      body: "",
    });
    const content = builder.finish();
    const { matches } = await findFileMatches(sql, { repositoryId: 1, recordedAt: 0, content });
    assert.deepEqual(
      matches.map(({ testHash, file, isKnown }) => ({ testHash, file, isKnown })),
      [{ testHash: 7, file: "a.py", isKnown: false }],
    );
  });
});
