import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { deleteSubmission } from "../../../db/write/delete_submission.ts";
import type { Organization } from "../../../db/admin/organizations.ts";
import { storeSubmission, type Upload } from "../../../db/write/store_submission.ts";
import { placeOfRun } from "../../../db/write/submission_rows.ts";
import { repositoryTables } from "../../../db/schema/distribute.ts";
import { commitSubmission } from "../../commit_submission.ts";
import {
  deleteRepository,
  findRepository,
  type Repository,
} from "../../../db/admin/repositories.ts";
import { loadLatestCoverage } from "../../../db/read/badges.ts";
import { loadTrackedTests } from "../../../db/read/tracked_tests.ts";
import type { Conclusion } from "../../../lib/report/result.ts";
import { WINDOW_SECONDS } from "../../../lib/base/time.ts";
import { describeWithDatabases } from "../../database.ts";
import { newOrganization, newRepository } from "../../organizations.ts";
import { NOW, uploadOf } from "../../routes/fixture.ts";

type Attempt = [name: string, conclusion?: Conclusion];

describeWithDatabases("processing a submission", (database) => {
  let organization: Organization;
  let nextName = 0;

  before(async () => {
    organization = await newOrganization(database().sql);
  });

  /** A repository of its own for each test. */
  const addRepository = () =>
    newRepository(database().sql, organization, `repository-${nextName++}`);

  /** Equal attempts are equal reports. */
  function upload(repository: Repository, attempts: Attempt[], more: Partial<Upload> = {}): Upload {
    const results = attempts.map(([name, conclusion = "passing"]) => ({
      name,
      conclusion,
      message: conclusion === "failure" ? `${name} failed` : "",
    }));
    return uploadOf(repository, results, { reportDigest: JSON.stringify(attempts), ...more });
  }

  const process = (up: Upload) => commitSubmission(database().sql, up);

  async function tracked({ repositoryId }: Repository) {
    const states = await loadTrackedTests(database().sql, {
      repositoryIds: [repositoryId],
      now: NOW,
      windowStart: NOW - WINDOW_SECONDS,
      withTime: true,
    });
    const { tests } = states.get(repositoryId)!;
    return [...tests.values()].sort((a, b) => a.name < b.name ? -1 : 1);
  }

  it("keeps the latest URL of the repository's page", async () => {
    const { owner, name, ...repository } = await addRepository();
    const urlAfter = async (commitOid: string, more: Partial<Upload>) => {
      await process(upload({ owner, name, ...repository }, [["t"]], { commitOid, ...more }));
      return (await findRepository(database().sql, { ...organization, owner, name }))?.url;
    };
    assert.equal(await urlAfter("c000001", {}), "");
    const [first, second] = ["https://github.com/acme/shop", "https://git.example/acme/shop"];
    assert.equal(await urlAfter("c000002", { repositoryUrl: first }), first);
    assert.equal(await urlAfter("c000003", { repositoryUrl: "" }), first);
    assert.equal(await urlAfter("c000004", { repositoryUrl: second }), second);
    assert.equal(await urlAfter("c000005", {}), second);
  });

  it("knows the repository's page from the build URL, until another one is given", async () => {
    const { owner, name, ...repository } = await addRepository();
    const page = `https://github.com/${owner}/${name}`;
    const urlAfter = async (commitOid: string, more: Partial<Upload>) => {
      await process(upload({ owner, name, ...repository }, [["t"]], { commitOid, ...more }));
      return (await findRepository(database().sql, { ...organization, owner, name }))?.url;
    };
    const other = "https://github.com/acme/ci/actions/runs/7";
    assert.equal(await urlAfter("c000001", { buildUrl: other }), "");
    assert.equal(await urlAfter("c000002", { buildUrl: `${page}/actions/runs/8` }), page);
    const given = "https://git.example/acme/shop";
    assert.equal(await urlAfter("c000003", { repositoryUrl: given }), given);
    assert.equal(await urlAfter("c000004", { buildUrl: `${page}/actions/runs/9` }), given);
  });

  it("finds a test that failed and passed in one submission", async () => {
    const repository = await addRepository();
    const submission = await process(
      upload(repository, [["t", "failure"], ["t"], ["steady"], ["broken", "error"]]),
    );
    assert.equal(submission.disruptionCount, 1);
    assert.equal(submission.testResultCount, 4);
    assert.match(submission.key, /^acme\/repository-\d+\/[0-9a-f]{24}$/);
    const [test, ...others] = await tracked(repository);
    assert.deepEqual(others, []);
    assert.equal(test?.name, "t");
    assert.equal(test?.disruptionCount, 1);
    assert.equal(test?.countedResultCount, 2);
    assert.equal(test?.negativeResultCount, 1);
    assert.equal(test?.resultCount, 2);
    assert.equal(test?.timeConsumed, 2_000);
    assert.equal(test?.firstDisruptionAt, NOW - 100);
    assert.equal(test?.latestDisruption?.message, "t failed");
    assert.equal(test?.latestPositive?.recordedAt, NOW - 100);
  });

  it("makes an earlier failure a disruption when the pass comes later", async () => {
    const repository = await addRepository();
    const failed = await process(upload(repository, [["t", "failure"], ["u"]]));
    assert.equal(failed.disruptionCount, 0);
    assert.deepEqual(await tracked(repository), []);
    const passed = await process(upload(repository, [["t"], ["u"]], { recordedAt: NOW - 50 }));
    assert.equal(passed.disruptionCount, 0);
    const [test] = await tracked(repository);
    assert.equal(test?.disruptionCount, 1);
    assert.equal(test?.countedResultCount, 2);
    assert.equal(test?.latestPositive?.recordedAt, NOW - 50);
  });

  it("joins commits of one tree, and never a tree with a commit", async () => {
    const repository = await addRepository();
    await process(upload(repository, [["t", "failure"]], { commitOid: "a", treeOid: "tree" }));
    await process(upload(repository, [["t"]], { commitOid: "a" }));
    assert.deepEqual(await tracked(repository), []);
    await process(upload(repository, [["t"]], { commitOid: "b", treeOid: "tree" }));
    assert.equal((await tracked(repository)).length, 1);
  });

  it("judges each environment by itself, a later upload and a deletion included", async () => {
    const repository = await addRepository();
    const run = (result: [string, "failure"] | [string], environment: string) =>
      process(upload(repository, [result], {
        treeOid: "tree",
        environment,
        buildUrl: `https://ci/${environment}/${result[1]}`,
      }));
    await run(["t", "failure"], "Windows-X64");
    await run(["t"], "Linux-X64");
    await run(["t"], "");
    assert.deepEqual(await tracked(repository), []);
    const pass = await run(["t"], "Windows-X64");
    const [test] = await tracked(repository);
    assert.equal(test?.disruptionCount, 1);
    await deleteSubmission(database().sql, { ...organization, key: pass.key });
    assert.deepEqual(await tracked(repository), []);
  });

  it("takes the same upload with a build URL once, and replaces its coverage", async () => {
    const repository = await addRepository();
    const again = { buildUrl: "https://ci/1", coverage: { coveredLineCount: 1, lineCount: 2 } };
    const first = await process(upload(repository, [["t", "failure"], ["t"]], again));
    const second = await process(upload(repository, [["t", "failure"], ["t"]], {
      ...again,
      coverage: { coveredLineCount: 2, lineCount: 2 },
      recordedAt: NOW,
    }));
    assert.deepEqual(first.newlyDisruptive.map(({ name }) => name), ["t"]);
    assert.deepEqual(second, {
      ...first,
      duplicate: true,
      newlyDisruptive: [],
      newDisruptions: [],
    });
    const coverage = await database().sql`
      select covered_line_count::int, line_count::int, extract(epoch from recorded_at)::int as at
      from coverage_report where repository_id = ${repository.repositoryId}`;
    assert.deepEqual([...coverage], [{ covered_line_count: 2, line_count: 2, at: NOW - 100 }]);
  });

  it("takes the same upload without a build URL once", async () => {
    const repository = await addRepository();
    const first = await process(upload(repository, [["t"]]));
    const second = await process(upload(repository, [["t"]], { recordedAt: NOW }));
    assert.deepEqual(second, { ...first, duplicate: true });
    const third = await process(upload(repository, [["t"]], { commitOid: "c0ffee2" }));
    assert.notEqual(third.submissionId, first.submissionId);
  });

  it("takes reports that may be equal by chance as two runs of two attempts, jobs or environments", async () => {
    const names = { buildUrl: "https://ci/1", job: "unit", attempt: "1" };
    const reports = [
      { count: 30, durationMicroseconds: 0, areRuns: true },
      { count: 19, durationMicroseconds: 10_000, areRuns: true },
      { count: 20, durationMicroseconds: 10_000, areRuns: false },
    ];
    for (const { count, durationMicroseconds, areRuns } of reports) {
      const repository = await addRepository();
      const results = Array.from({ length: count }, (_, no) => ({
        name: `t${no}`,
        conclusion: no === 0 ? "failure" as const : "passing" as const,
        durationMicroseconds,
      }));
      const found = [];
      const others = [{ attempt: "3" }, { job: "e2e" }, { environment: "arm" }, { jobNumber: 102 }];
      for (const more of [{}, {}, ...others]) {
        const equal = { reportDigest: "equal", ...names, ...more };
        found.push((await process(uploadOf(repository, results, equal))).duplicate);
      }
      assert.deepEqual(found, [false, true, ...others.map(() => !areRuns)]);
    }
  });

  it("takes a commit that is not 7 to 64 hex digits as a code version of its own", async () => {
    for (const commitOid of ["HEAD", "main", "null", "abc123", "g000000", "0".repeat(65)]) {
      const repository = await addRepository();
      await process(upload(repository, [["t", "failure"]], { commitOid, reportDigest: "01" }));
      await process(upload(repository, [["t"]], { commitOid }));
      assert.deepEqual(await tracked(repository), [], commitOid);
      await process(upload(repository, [["u", "failure"], ["u"]], { commitOid }));
      assert.equal((await tracked(repository)).length, 1, commitOid);
    }
    for (const commitOid of ["abcdef1", "F".repeat(64)]) {
      const repository = await addRepository();
      await process(upload(repository, [["t", "failure"]], { commitOid }));
      await process(upload(repository, [["t"]], { commitOid }));
      assert.equal((await tracked(repository)).length, 1, commitOid);
    }
  });

  it("shows the coverage that was uploaded last", async () => {
    const { sql } = database();
    const repository = await addRepository();
    const coverageOf = (coveredLineCount: number) => ({ coveredLineCount, lineCount: 10 });
    await process(upload(repository, [["t"]], { coverage: coverageOf(1) }));
    await process(upload(repository, [["u"]], { coverage: coverageOf(2), recordedAt: NOW - 900 }));
    const coverage = await loadLatestCoverage(sql, repository);
    assert.equal(coverage?.coveredLineCount, 2);
  });

  it("misses nothing when many arrive at the same moment", async () => {
    const repository = await addRepository();
    await Promise.all(
      Array.from(
        { length: 8 },
        (_, index) =>
          process(upload(repository, [["t", index % 2 ? "failure" : "passing"], [`own ${index}`]])),
      ),
    );
    const [test] = await tracked(repository);
    assert.equal(test?.disruptionCount, 4);
    assert.equal(test?.countedResultCount, 8);
  });

  it("gives every test of a submission its tags, united over submissions", async () => {
    const repository = await addRepository();
    await process(upload(repository, [["t", "failure"], ["t"]], { tags: ["slow", "B"] }));
    await process(upload(repository, [["t"]], { tags: ["a"] }));
    await process(upload(repository, [["t"]], { tags: ["a"] }));
    assert.deepEqual((await tracked(repository))[0]?.tags, ["B", "a", "slow"]);
  });

  it("takes back with a deleted submission all that it proved", async () => {
    const repository = await addRepository();
    await process(upload(repository, [["t", "failure"], ["u", "failure"], ["u"]]));
    const pass = await process(upload(repository, [["t"], ["only here"]], { tags: ["gone"] }));
    assert.equal((await tracked(repository)).length, 2);
    const { sql } = database();
    assert.equal(await deleteSubmission(sql, { ...organization, key: pass.key }), true);
    assert.equal(await deleteSubmission(sql, { ...organization, key: pass.key }), false);
    const [test, ...others] = await tracked(repository);
    assert.deepEqual(others, []);
    assert.equal(test?.name, "u");
    assert.deepEqual(test?.tags, []);
    const names = await sql`
      select name from test where repository_id = ${repository.repositoryId} order by name`;
    assert.deepEqual(names.map((row) => row.name), ["t", "u"]);
  });

  it("stores new tests again that a deletion removed meanwhile", async () => {
    const repository = await addRepository();
    const first = await process(upload(repository, [["t"]]));
    await Promise.all([
      deleteSubmission(database().sql, { ...organization, key: first.key }),
      process(upload(repository, [["t", "failure"], ["t"], ["v"]])),
    ]);
    const [test] = await tracked(repository);
    assert.equal(test?.name, "t");
  });

  it("leaves nothing of an upload that fails after everything was stored", async () => {
    const { sql } = database();
    const repository = await addRepository();
    const { repositoryId } = repository;
    const cutOff = upload(repository, [["t", "failure"], ["t"], ["u"]], {
      tags: ["stale"],
      coverage: { coveredLineCount: 1, lineCount: 2 },
    });
    const cutOffUpload = sql.begin(async (tx) => {
      await storeSubmission(tx, cutOff);
      throw new Error("cut off");
    });
    await assert.rejects(cutOffUpload, /cut off/);
    for (const table of await repositoryTables(sql)) {
      const rows = await sql`select 1 from ${sql(table)} where repository_id = ${repositoryId}`;
      assert.equal(rows.length, table === "repository_state" ? 1 : 0, table);
    }

    await process({ ...cutOff, tags: ["fresh"] });
    assert.deepEqual((await tracked(repository))[0]?.tags, ["fresh"]);
  });

  it("gives tests the tags of all uploads that bring them at the same time", async () => {
    const repository = await addRepository();
    await Promise.all(
      ["a", "b", "c"].map((tag) =>
        process(upload(repository, [["t", "failure"], ["t"], [`only ${tag}`]], { tags: [tag] }))
      ),
    );
    const [test] = await tracked(repository);
    assert.deepEqual(test?.tags, ["a", "b", "c"]);
  });

  it("deletes a repository of which only the worker of a cluster had committed the deletion", async () => {
    const { sql } = database();
    const repository = await addRepository();
    await sql`delete from repository_state where repository_id = ${repository.repositoryId}`;
    await sql.begin((tx) => deleteRepository(tx, repository));
    assert.equal(await findRepository(sql, repository), null);
  });

  it("finds a free number behind any number of taken ones", async () => {
    const { sql } = database();
    const [last] = await sql`
      select max(repository_number)::float8 as id from repository
      where organization_id = ${organization.organizationId}`;
    await sql`
      insert into repository (organization_id, repository_number, owner, name, owner_key, name_key,
        id_prefix, created_at)
      select ${organization.organizationId}, n, 'taken', n::text, 'taken', n::text, n, to_timestamp(${NOW})
      from generate_series(${last!.id + 1}::bigint, ${last!.id + 1_500}::bigint) as n`;
    await sql`
      update organization set next_repository_number = ${last!.id + 1}::bigint
      where organization_id = ${organization.organizationId}`;
    for (const number of [last!.id + 1_501, last!.id + 1_502]) {
      const { repositoryNumber } = await newRepository(sql, organization, String(number));
      assert.equal(repositoryNumber, number);
    }
  });

  it("does not choose between two submissions with one key", async () => {
    const { sql } = database();
    const key = "uploads/1.gz";
    for (const repository of [await addRepository(), await addRepository()]) {
      await process(upload(repository, [["t"]], { key }));
    }
    await assert.rejects(deleteSubmission(sql, { ...organization, key }), /several repositories/);
  });

  it("frees the identities of tests before it stores many texts", async () => {
    const repository = await addRepository();
    const up = upload(repository, Array.from({ length: 501 }, (_, i) => [`t ${i}`, "failure"]));
    const counts: number[] = [];
    await database().sql.begin(async (tx) => {
      const forgetIdentities = () => {
        // Sent before the statements that follow.
        counting = tx<{ count: number }[]>`
          select count(*)::int as count from failure_text
          where repository_id = ${repository.repositoryId}`.execute();
      };
      let counting: Promise<{ count: number }[]> | undefined;
      const content = { ...up.content, forgetIdentities };
      await storeSubmission(tx, { ...up, content, isStoredOnce: true });
      counts.push((await counting!)[0]!.count);
    });
    assert.deepEqual(counts, [0]);
  });

  it("cannot say whether a submission is the only run of its version before that is stored", async () => {
    const { repositoryId } = await addRepository();
    const submissionId = "0".repeat(24);
    await assert.rejects(
      placeOfRun(database().sql, { repositoryId, submissionId }),
      { message: `submission ${submissionId} is not stored` },
    );
  });

  it("refuses an upload for a repository that is gone", async () => {
    const repository = await addRepository();
    await database().sql.begin((tx) => deleteRepository(tx, repository));
    await assert.rejects(process(upload(repository, [["t"]])), /repository was deleted/);
  });
});
