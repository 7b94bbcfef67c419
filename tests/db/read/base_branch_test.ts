import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import type { Repository } from "../../../db/admin/repositories.ts";
import { loadBaseBranch } from "../../../db/read/base_branch.ts";
import { lockForUpload } from "../../../db/write/repository_row.ts";
import { loadJobRuns } from "../../../db/read/job_runs.ts";
import { basePatterns, knownBaseBranch } from "../../../lib/evidence/base_branch.ts";
import { describeWithDatabases } from "../../database.ts";
import { createShop, type Fixture, NOW } from "../../routes/fixture.ts";

describeWithDatabases("the base branch", (database) => {
  let fixture: Fixture;
  let shop: Repository;
  const PASS = [{ name: "a" }];

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
  });

  const base = () => loadBaseBranch(database().sql, { repositoryId: shop.repositoryId, now: NOW });

  it("is the default branch as CI says, unless one was set", async () => {
    const { repositoryId } = shop;
    /** The same for an upload, which has locked its repository. */
    const known = () =>
      database().sql.begin(async (tx) => knownBaseBranch(await lockForUpload(tx, repositoryId)));
    assert.equal(await known(), null);
    await fixture.upload(shop, PASS, { branch: "main" });
    assert.equal(await base(), "main");
    await fixture.upload(shop, PASS, { branch: "fix", defaultBranch: "trunk" });
    assert.equal(await base(), "trunk");
    // An upload that does not say changes nothing.
    await fixture.upload(shop, PASS, { branch: "main" });
    assert.equal(await base(), "trunk");
    await fixture.upload(shop, PASS, { branch: "fix", defaultBranch: "next" });
    assert.deepEqual([await base(), await known()], ["next", "next"]);
    await database().sql`
      update repository set base_branch = 'release' where repository_id = ${repositoryId}`;
    assert.deepEqual([await base(), await known()], ["release", "release"]);
  });

  it("counts the runs of its merge queues, and no other branch", async () => {
    const job = { environment: "", job: "unit", shard: "" };
    const upload = (branch: string, queueBase = "") =>
      fixture.upload(shop, PASS, { ...job, branch, queueBase });
    await upload("main");
    await upload("gh-readonly-queue/main/pr-104-0123456");
    await upload("fix", "main");
    await upload("fix");
    await upload("gh-readonly-queue/next/pr-104-0123456", "next");
    const runs = await loadJobRuns(database().sql, {
      repositoryId: shop.repositoryId,
      ...job,
      buildUrl: "",
      base: basePatterns("main"),
    });
    assert.equal(runs.length, 3);
  });
});
