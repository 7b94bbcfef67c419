import assert from "node:assert/strict";
import { before, beforeEach, it } from "@std/testing/bdd";
import type { Repository } from "../../../db/admin/repositories.ts";
import { describeWithDatabases } from "../../database.ts";
import { bodyOf, createFixture, type Fixture } from "../../routes/fixture.ts";

const WHOLE = "5a8a5ea839f22d9ee241c9ded20fd1acac8f3245";
const SHORT = WHOLE.slice(0, 8);
const OTHER = SHORT.padEnd(40, "0");

describeWithDatabases("an abbreviated commit", (database) => {
  let fixture: Fixture;
  let repository: Repository;
  let count = 0;

  before(async () => void (fixture = await createFixture(database(), { name: "acme" })));
  beforeEach(async () => void (repository = await fixture.addRepository("acme", `r${count++}`)));

  async function upload(commitOid: string, isPassing: boolean, treeOid: string | null = null) {
    const conclusion = isPassing ? "passing" as const : "failure" as const;
    const { notes } = await fixture.upload(repository, [{ conclusion }], { commitOid, treeOid });
    return notes;
  }

  async function state() {
    const path = `/api/repos/acme/${repository.name}`;
    const { submissions } = await bodyOf(
      await fixture.get(`${path}/submissions`),
      "/api/repos/:owner/:name/submissions",
    );
    const { count } = await bodyOf(
      await fixture.get(`${path}/tests`),
      "/api/repos/:owner/:name/tests",
    );
    const commits = submissions.map(({ commit_oid: id }: { commit_oid: string }) => id);
    return { commits: commits.sort(), flaky: count };
  }

  it("is resolved to the only commit of the repository that begins with it", async () => {
    assert.deepEqual(await upload(WHOLE, true), []);
    assert.deepEqual(await upload("f".repeat(40), true), []);
    assert.deepEqual(await upload(SHORT, false), []);
    assert.deepEqual(await state(), { commits: [WHOLE, WHOLE, "f".repeat(40)], flaky: 1 });
  });

  it("stays as it is, with a note, if several commits begin with it", async () => {
    await upload(WHOLE, true);
    await upload(OTHER, true);
    assert.deepEqual(await upload(SHORT, false), [
      `commit ${SHORT} is abbreviated and fits several: give its whole id`,
    ]);
    assert.deepEqual(await state(), { commits: [SHORT, OTHER, WHOLE].sort(), flaky: 0 });
  });

  it("that was uploaded before its full id is another code version, with a note", async () => {
    assert.deepEqual(await upload(SHORT, false), []);
    assert.deepEqual(await upload(WHOLE, true), [
      `earlier uploads of commit ${SHORT} count as another code version: give whole ids of commits`,
    ]);
    assert.deepEqual(await state(), { commits: [SHORT, WHOLE], flaky: 0 });
  });

  it("does not matter with a tree", async () => {
    await upload(WHOLE, true, "7ee7ee7");
    assert.deepEqual(await upload(SHORT, false, "7ee7ee7"), []);
    assert.deepEqual(await upload(SHORT, false), []);
    assert.deepEqual((await state()).commits, [SHORT, SHORT, WHOLE]);
  });
});
