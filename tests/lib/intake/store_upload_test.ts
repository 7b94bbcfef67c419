import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { listRepositories } from "../../../db/admin/repositories.ts";
import { storeUpload } from "../../../lib/intake/store_upload.ts";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import { describeWithDatabases } from "../../database.ts";
import { StatementRecorder } from "../../db/statements/recorder.ts";
import { newOrganization } from "../../organizations.ts";
import { NOW } from "../../routes/fixture.ts";

const recorder = new StatementRecorder();

describeWithDatabases("storing an upload", (database) => {
  const facts = {
    repository: { owner: "acme", name: "shop" },
    commitOid: "c0ffee1",
    treeOid: null,
    environment: "",
    job: "",
    workflow: "",
    shard: "",
    attempt: "",
    runner: "",
    branch: "main",
    buildUrl: "",
    repositoryUrl: "",
    provider: "",
    tags: [],
    recordedAt: NOW,
    checkoutFolder: "",
  };
  const coverage = { coveredLineCount: 1, lineCount: 2 };

  function results(testCount = 1, file = "") {
    const builder = new SubmissionBuilder();
    const test = {
      suite: "s",
      class: "c",
      file,
      durationMicroseconds: 1,
      message: "",
      body: "",
    };
    for (let no = 0; no < testCount; no++) {
      builder.add({ ...test, name: `t${no}`, conclusion: "passing" });
    }
    return { content: builder.finish(), reportDigest: "00", testTags: null };
  }

  it("that fails at its end leaves no repository, and uses up no number", async () => {
    const { sql } = database();
    const organization = await newOrganization(sql);
    const { organizationId } = organization;
    const files = { results: results(), coverage, notes: [] };
    // The last that is stored of each.
    const wrongUrl = { ...facts, repositoryUrl: "\0" };
    const wrongCoverage = { coveredLineCount: 1, lineCount: 1.5 };
    for (
      const [run, upload] of [
        [wrongUrl, files],
        [facts, { ...files, results: null, coverage: wrongCoverage }],
      ] as const
    ) {
      await assert.rejects(storeUpload(sql, organization, run, upload, { now: NOW }));
      assert.equal((await listRepositories(sql, organizationId)).length, 0);
    }
    const { outcome } = await storeUpload(sql, organization, facts, files, { now: NOW });
    assert.equal(outcome.status, "processed");
    const [shop] = await listRepositories(sql, organizationId);
    assert.equal(shop?.repositoryNumber, 1);
  });

  it("of known tests is 12 statements, and 22 with a first failure", async () => {
    const { sql } = database();
    const organization = await newOrganization(sql, "hooli");
    const run = {
      ...facts,
      treeOid: "f00",
      job: "unit",
      environment: "linux",
      defaultBranch: "main",
    };
    const count = async (conclusion: "passing" | "failure", treeOid: string) => {
      const builder = new SubmissionBuilder();
      const test = { suite: "s", class: "c", file: "", durationMicroseconds: 1, body: "" };
      for (const name of ["stays", "changes"]) {
        const ended = name === "changes" ? conclusion : "passing";
        builder.add({ ...test, name, conclusion: ended, message: ended });
      }
      const results = { content: builder.finish(), reportDigest: treeOid, testTags: null };
      const files = { results, coverage: null, notes: [] };
      // Later than the one before, or their ids decide.
      const recordedAt = facts.recordedAt + Number(treeOid);
      const sent = await recorder.during(() =>
        storeUpload(sql, organization, { ...run, treeOid, recordedAt }, files, { now: NOW })
      );
      // The look for a connection pooler, of servers only, is sent with the first statement.
      return sent.filter(({ text }) => text !== "select pg_backend_pid() as pid")
        .map(({ text }) => text);
    };
    await count("passing", "1");
    const passed = await count("passing", "2");
    assert.equal(passed.length, 12, passed.join("\n"));
    const failed = await count("failure", "3");
    assert.equal(failed.length, 22, failed.join("\n"));
  });

  it("with very many new tests is one transaction, too", async () => {
    const { sql } = database();
    const organization = await newOrganization(sql, "initech");
    const files = { results: results(4_500), coverage: null, notes: [] };
    const countTests = async () => {
      const [row] = await sql<{ count: number; distinct: number }[]>`
        select count(*)::int as count, count(distinct t.name)::int as distinct from test t
        join repository using (repository_id)
        where organization_id = ${organization.organizationId}`;
      return { ...row };
    };
    const wrongUrl = { ...facts, repositoryUrl: "\0" };
    await assert.rejects(storeUpload(sql, organization, wrongUrl, files, { now: NOW }));
    assert.equal((await listRepositories(sql, organization.organizationId)).length, 0);
    assert.deepEqual(await countTests(), { count: 0, distinct: 0 });
    const { outcome } = await storeUpload(sql, organization, facts, files, {
      now: NOW,
      isStoredOnce: true,
    });
    assert.equal(outcome.test_result_count, 4_500);
    assert.deepEqual(await countTests(), { count: 4_500, distinct: 4_500 });
    const { identities } = files.results.content;
    assert.equal(identities.chunks.length + identities.positions.length, 0, "memory is freed");
  });

  it("finds very many tests whose file is missing in one of two uploads", async () => {
    const { sql } = database();
    const organization = await newOrganization(sql, "umbrella");
    const store = async (name: string, file: string, reportDigest: string) => {
      const run = { ...facts, repository: { owner: "acme", name } };
      const read = { ...results(4_500, file), reportDigest };
      const files = { results: read, coverage: null, notes: [] };
      return await storeUpload(sql, organization, run, files, { now: NOW });
    };
    const stored = async () => {
      const [row] = await sql<{ tests: number; lists: number }[]>`
        select next_test_no as tests, next_test_list_no as lists
        from repository_state order by repository_id desc limit 1`;
      return { ...row };
    };
    for (const [name, ...files] of [["first", "", "t.py", "t.py"], ["last", "t.py", "", ""]]) {
      const notes: string[][] = [];
      for (const [index, file] of files.entries()) {
        notes.push((await store(name!, file, `0${index}`)).notes);
      }
      assert.deepEqual(notes.map(({ length }) => length), name === "first" ? [0, 1, 0] : [0, 1, 1]);
      assert.match(notes[1]![0]!, / and 4497 more$/);
      assert.deepEqual(await stored(), { tests: 4_500, lists: 1 });
    }
  });

  it("creates its repository once when many arrive at the same time", async () => {
    const { sql } = database();
    const organization = await newOrganization(sql, "globex");
    const outcomes = await Promise.all(
      ["acme/a", "acme/a", "acme/b", "acme/A", "acme/b"].map((path, upload) => {
        const [owner = "", name = ""] = path.split("/");
        const run = { ...facts, repository: { owner, name }, commitOid: `c0ffee${upload}` };
        const files = { results: results(), coverage, notes: [] };
        return storeUpload(sql, organization, run, files, { now: NOW });
      }),
    );
    assert.ok(outcomes.every(({ outcome }) => !outcome.duplicate));
    const repositories = await listRepositories(sql, organization.organizationId);
    assert.deepEqual(repositories.map(({ repositoryNumber }) => repositoryNumber).sort(), [1, 2]);
  });
}, { onStatement: recorder.onStatement });
