/** Migration 15, with disruptions of an earlier build. */
import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { loadKnownCauses } from "../../../db/read/causes.ts";
import { isDistributed } from "../../../db/schema/distribute.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { migrations } from "../../../db/schema/migrations/mod.ts";
import { failureCause, fingerprint } from "../../../lib/analysis/failure_groups.ts";
import { describeWithDatabases, dropEverything } from "../../database.ts";

/** Migrations before those in question. */
const BEFORE = 14;
const OLD = "00112233aabbccdd";

describeWithDatabases("the migration to several fingerprints", (database) => {
  it("keeps the disruptions of earlier builds, whose causes are known by both rules", async () => {
    const { sql } = database();
    if (await isDistributed(sql)) return;
    await dropEverything(sql);
    await migrate(sql, migrations.slice(0, BEFORE));
    await sql`
      insert into repository_state (repository_id, id_prefix, data_version, next_test_no)
      values (1, 1, 1, 1)`;
    await sql`
      insert into test (repository_id, test_no, test_hash, suite, class, name, file)
      values (1, 0, 7, '', '', 'a', '')`;
    await sql`
      insert into failure_text (repository_id, text_id, message, body)
      values (1, '\\x01', 'no pod web-7d4b9c6f5d', ''), (1, '\\x02', '', '')`;
    await sql`
      insert into negative_result (repository_id, submission_id, result_no, test_no, is_disruption,
        conclusion, text_id, fingerprint)
      values (1, '\\x0a00', 0, 0, true, 'failure', '\\x01', decode(${OLD}, 'hex')),
        (1, '\\x0b00', 0, 0, true, 'failure', '\\x02', '\\xe3b0c44298fc1c14'),
        (1, '\\x0c00', 0, 0, false, 'failure', '\\x01', '\\x0000000000000000')`;
    await migrate(sql);

    const causes = await loadKnownCauses(sql, { repositoryId: 1, testHashes: [7] });
    const present = fingerprint(failureCause("no pod web-7d4b9c6f5d", ""));
    assert.deepEqual(causes.get(7), [OLD, present, "e3b0c44298fc1c14"].sort());
  });
});
