/** `archives.ts`: its locks. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "@std/testing/bdd";
import process from "node:process";
import { assignArchive, claimArchive, failArchive } from "../../../db/admin/archives.ts";
import { openAgain, openTestServer, type TestDatabase } from "../../database.ts";
import { createFixture } from "../../routes/fixture.ts";

const serverUrl = process.env.TEST_DATABASE_URL ?? "";

describe("a failed archive", { skip: !serverUrl }, () => {
  let database: TestDatabase;
  before(async () => {
    database = await openTestServer(serverUrl);
  });
  after(() => database.close());

  it("does not deadlock with the deletion of its repository", async () => {
    const { sql, isDistributed } = database;
    // The lock is held on a worker.
    if (isDistributed) return;
    const fixture = await createFixture(database, { name: "acme" });
    const { repositoryId } = await fixture.addRepository("acme", "shop");
    const claim = { source: "inbox", key: "a.gz", claimId: crypto.randomUUID() };
    await claimArchive(sql, { ...claim, version: "1", leaseSeconds: 60 });
    await assignArchive(sql, { ...claim, repositoryId });

    const deleter = await openAgain(database);
    try {
      let failing: Promise<void> | undefined;
      // As `deleteRepository`: first the repository, then its archives.
      await deleter.sql.begin(async (tx) => {
        await tx`select from repository_state where repository_id = ${repositoryId} for update`;
        failing = failArchive(sql, { ...claim, reason: "broken", submissionKey: "a.gz" });
        for (let waiting = 0; waiting === 0;) {
          const [row] = await tx<{ count: number }[]>`
            select count(*)::int as count from pg_stat_activity
            where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`;
          waiting = row!.count;
        }
        await tx`update archive set repository_id = null where repository_id = ${repositoryId}`;
      });
      await failing;
    } finally {
      await deleter.close();
    }
    const [archive] = await sql<{ status: string }[]>`select status from archive`;
    assert.equal(archive?.status, "failed");
  });
});
