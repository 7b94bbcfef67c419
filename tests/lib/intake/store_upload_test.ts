import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { createOrganization } from "../../../db/admin/organizations.ts";
import { listRepositories } from "../../../db/admin/repositories.ts";
import { storeUpload } from "../../../lib/intake/store_upload.ts";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import { describeWithDatabases } from "../../database.ts";
import { NOW } from "../../routes/fixture.ts";

describeWithDatabases("storing an upload", (database) => {
  const facts = {
    repository: { owner: "acme", name: "shop" },
    commitOid: "c0ffee1",
    treeOid: null,
    branch: "main",
    buildUrl: "",
    repositoryUrl: "",
    provider: "",
    tags: [],
    recordedAt: NOW,
    checkoutFolder: "",
  };
  const coverage = { coveredLineCount: 1, lineCount: 2 };

  function results() {
    const builder = new SubmissionBuilder();
    const test = {
      suite: "s",
      class: "c",
      file: "",
      durationMicroseconds: 1,
      message: "",
      body: "",
    };
    builder.add({ ...test, name: "t", conclusion: "passing" });
    return { content: builder.finish(), reportDigest: "00", testTags: null };
  }

  it("that fails at its end leaves no repository, and uses up no number", async () => {
    const { sql } = database();
    const organization = (await createOrganization(sql, {
      name: "acme",
      purchaseUnitCount: 0,
      createdAt: NOW,
    }))!;
    const { organizationId } = organization;
    const files = { results: results(), coverage };
    const beforeCommit = () => Promise.reject(new Error("lost"));
    for (const upload of [files, { ...files, results: null }]) {
      const storing = storeUpload(sql, organization, facts, upload, { now: NOW, beforeCommit });
      await assert.rejects(storing, /lost/);
      assert.equal((await listRepositories(sql, organizationId)).length, 0);
    }
    const { outcome } = await storeUpload(sql, organization, facts, files, { now: NOW });
    assert.equal(outcome.status, "processed");
    const [shop] = await listRepositories(sql, organizationId);
    assert.equal(shop?.repositoryNumber, 1);
  });

  it("creates its repository once when many arrive at the same time", async () => {
    const { sql } = database();
    const organization = (await createOrganization(sql, {
      name: "globex",
      purchaseUnitCount: 0,
      createdAt: NOW,
    }))!;
    const outcomes = await Promise.all(
      ["acme/a", "acme/a", "acme/b", "acme/A", "acme/b"].map((path, upload) => {
        const [owner = "", name = ""] = path.split("/");
        const run = { ...facts, repository: { owner, name }, commitOid: `c0ffee${upload}` };
        return storeUpload(sql, organization, run, { results: results(), coverage }, { now: NOW });
      }),
    );
    assert.ok(outcomes.every(({ outcome }) => !outcome.duplicate));
    const repositories = await listRepositories(sql, organization.organizationId);
    assert.deepEqual(repositories.map(({ repositoryNumber }) => repositoryNumber).sort(), [1, 2]);
  });
});
