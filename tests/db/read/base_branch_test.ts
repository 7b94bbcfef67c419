import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import type { Repository } from "../../../db/admin/repositories.ts";
import { loadBase, loadBaseBranch, loadBaseBranches } from "../../../db/read/base_branch.ts";
import { lockForUpload } from "../../../db/write/repository_row.ts";
import type { Upload } from "../../../db/write/store_submission.ts";
import { loadJobRuns } from "../../../db/read/job_runs.ts";
import { basePatterns, knownBaseBranch } from "../../../lib/evidence/base_branch.ts";
import { describeWithCluster, describeWithDatabases, type TestDatabase } from "../../database.ts";
import { createFixture, createShop, DAY, type Fixture, NOW } from "../../routes/fixture.ts";

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

  it("has no run that was started for a pull request", async () => {
    const { sql } = database();
    const branchOf = async (upload: Partial<Upload>) => {
      const { submissionId } = await fixture.upload(shop, PASS, { isOfPull: true, ...upload });
      const [row] = await sql<{ branch: string | null }[]>`
        select branch from submission where submission_id = decode(${submissionId}, 'hex')`;
      return row!.branch;
    };
    await sql`
      update repository set base_branch = 'release', default_branch = 'next'
      where repository_id = ${shop.repositoryId}`;
    for (const branch of ["release", "next"]) assert.equal(await branchOf({ branch }), null);
    assert.equal(await branchOf({ branch: "main", defaultBranch: "main" }), null);
    assert.equal(await branchOf({ branch: "fix" }), "fix");
    assert.equal(await branchOf({ branch: "main", isOfPull: false }), "main");
    await sql`
      update repository set base_branch = null, default_branch = null
      where repository_id = ${shop.repositoryId}`;
    // By its builds.
    assert.equal(await branchOf({ branch: "main" }), null);
  });

  it("is only guessed where nothing says it, and is then the branch of runs of pull requests too", async () => {
    const { sql } = database();
    const repository = await fixture.addRepository("acme", "pulls");
    const upload = { branch: "fix", isOfPull: true, pullNumber: 5 };
    for (let run = 0; run < 3; run++) await fixture.upload(repository, PASS, upload);
    const { repositoryId } = repository;
    const branches = await sql`
      select distinct branch from submission where repository_id = ${repositoryId}`;
    assert.deepEqual(branches.map(({ branch }) => branch), ["fix"]);
    const load = async () => {
      const { base, isBaseGuessed } = await loadBase(sql, { repositoryId, now: NOW });
      return [base, isBaseGuessed];
    };
    assert.deepEqual(await load(), ["fix", true]);
    await sql`update repository set default_branch = 'fix' where repository_id = ${repositoryId}`;
    assert.deepEqual(await load(), ["fix", false]);
    await sql`update repository set default_branch = null where repository_id = ${repositoryId}`;
    await fixture.upload(repository, PASS, { branch: "trunk" });
    assert.deepEqual(await load(), ["trunk", false]);
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

function ofSeveral(database: () => TestDatabase): void {
  it("are the usual ones with builds, else the branch with most, each of its own repository", async () => {
    const { sql } = database();
    const fixture = await createFixture(database(), { name: "several" });
    const names = new Map<number, string>();
    const add = async (name: string, branches: string[], recordedAt = NOW - 100) => {
      const repository = await fixture.addRepository("several", name);
      for (const branch of branches) {
        await fixture.upload(repository, [{ name: "a" }], { branch, recordedAt });
      }
      names.set(repository.repositoryId, name);
    };
    await add("usual", ["wip", "wip", "trunk", "master"]);
    await add("other", ["wip", "wip", "fix"]);
    await add("old", ["master"], NOW - 91 * DAY);
    await add("none", []);
    const found = await loadBaseBranches(sql, { repositoryIds: [...names.keys()], now: NOW });
    assert.deepEqual(
      Array.from(found, ([id, branch]) => `${names.get(id)} ${branch}`).sort(),
      ["none main", "old main", "other wip", "usual master"],
    );
  });
}

describeWithDatabases("the base branches of several repositories", ofSeveral);
describeWithCluster("the base branches of several repositories", ofSeveral);
