import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { describeWithDatabases } from "../database.ts";
import {
  assertBadRequest,
  assertError,
  bodyOf,
  createFixture,
  DAY,
  type Fixture,
  NOT_FOUND,
  NOW,
} from "./fixture.ts";

const ROUTE = "/api/repos/:owner/:name/submissions";

describeWithDatabases("GET /api/repos/{owner}/{name}/submissions", (database) => {
  let fixture: Fixture;
  let shop: Repository;
  const path = "/api/repos/acme/shop/submissions";

  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
    shop = await fixture.addRepository("Acme", "Shop");
    await fixture.addRepository("acme/web", "front");
    for (let index = 0; index < 13; index++) {
      await fixture.upload(shop, [{ name: "a" }, { name: "b", conclusion: "skipped" }], {
        recordedAt: NOW - index,
        buildUrl: index === 0 ? "https://ci.example/0" : "",
        commitOid: `commit-${index}`,
        treeOid: index === 0 ? "7ree7ree" : null,
        branch: index === 0 ? "release/1" : null,
        notes: index === 0 ? ['a "b".xml: an empty file: left out'] : [],
      });
    }
    await fixture.upload(shop, [{ name: "a" }], { recordedAt: NOW - 14 * DAY, commitOid: "edge" });
    await fixture.upload(shop, [{ name: "a" }], { recordedAt: NOW - 14 * DAY - 1 });
  });

  it("lists the submissions of the window, newest first, ten at a time", async () => {
    const body = await bodyOf(await fixture.get(path), ROUTE);
    assert.equal(body.count, 14);
    assert.equal(body.metadata.limit, 10);
    assert.deepEqual(
      body.submissions.map((one: { commit_oid: string }) => one.commit_oid),
      Array.from({ length: 10 }, (_, index) => `commit-${index}`),
    );
    const [{ id }, earlier] = body.submissions;
    assert.deepEqual(body.submissions[0], {
      id,
      key: `Acme/Shop/${id}`,
      build_url: "https://ci.example/0",
      commit_oid: "commit-0",
      tree_oid: "7ree7ree",
      branch: "release/1",
      environment: "",
      job: "",
      shard: "",
      attempt: "",
      runner: "",
      pull_number: null,
      pull_title: "",
      author: "",
      recorded_at: "2026-09-21T14:13:20Z",
      status: "processed",
      test_result_count: 2,
      ran_test_count: 1,
      skipped_test_count: 1,
      exit_code: null,
      failed_without_test: false,
      notes: ['a "b".xml: an empty file: left out'],
    });
    assert.deepEqual(earlier.notes, []);
    assert.equal(parseInt(id.slice(0, 8), 16), NOW);
    assert.deepEqual([earlier.branch, earlier.tree_oid], ["", ""]);
  });

  it("pages until there is no next page, with the cursor as a relative link, too", async () => {
    const first = await fixture.get(`${path}?limit=10&unknown=1`);
    const link = first.headers.get("link");
    const { metadata } = await bodyOf(first, ROUTE);
    assert.match(atob(metadata.after), /^id:[0-9a-f]{24}$/);
    assert.equal(
      link,
      `<?limit=10&after=${encodeURIComponent(metadata.after)}>; rel="next"`,
    );
    const next = new URL(link.slice(1, link.indexOf(">")), `http://127.0.0.1${path}`);
    const second = await fixture.get(next.pathname + next.search);
    assert.equal(second.headers.get("link"), null);
    const body = await bodyOf(second, ROUTE);
    assert.deepEqual(
      body.submissions.map((one: { commit_oid: string }) => one.commit_oid),
      ["commit-10", "commit-11", "commit-12", "edge"],
    );
    assert.deepEqual(body.metadata, { after: null, limit: 10 });
    assert.equal(body.count, 14);
  });

  it("accepts a cursor that names no submission", async () => {
    const seconds = (NOW - 11).toString(16);
    const between = btoa(`id:${seconds}0000000000000000`);
    const body = await bodyOf(await fixture.get(`${path}?after=${between}`), ROUTE);
    assert.equal(body.submissions[0].commit_oid, "commit-12");
    const upper = btoa(`id:${seconds.toUpperCase()}FFFFFFFFFFFFFFFF`);
    const same = await bodyOf(await fixture.get(`${path}?after=${upper}`), ROUTE);
    assert.equal(same.submissions[0].commit_oid, "commit-11");
  });

  it("returns an empty page past the end", async () => {
    const end = btoa("id:000000000000000000000000");
    const body = await bodyOf(await fixture.get(`${path}?after=${end}`), ROUTE);
    assert.deepEqual(body, {
      count: 14,
      submissions: [],
      metadata: { after: null, limit: 10 },
    });
  });

  it("limits a page to 100, and shows it in the metadata", async () => {
    for (const limit of ["101", "9".repeat(400)]) {
      const body = await bodyOf(await fixture.get(`${path}?limit=${limit}`), ROUTE);
      assert.equal(body.metadata.limit, 100);
    }
    const body = await bodyOf(await fixture.get(`${path}?limit=007`), ROUTE);
    assert.equal(body.metadata.limit, 7);
  });

  it("lists uploads that are processing or failed", async () => {
    const { sql } = database();
    const { repositoryId } = await fixture.addRepository("acme", "waiting");
    for (const [id, status] of [["6ab0000000", "processing"], ["6ab1000000", "failed"]]) {
      await sql`
        insert into submission (repository_id, submission_id, recorded_at, uploaded_at, status, key,
          commit_oid, data_version)
        values (${repositoryId}, decode(${id!.padEnd(24, "0")}, 'hex'), to_timestamp(${NOW - 9}),
          to_timestamp(${NOW}), ${status!}, ${id!}, 'c', 1)`;
    }
    const body = await bodyOf(await fixture.get("/api/repos/acme/waiting/submissions"), ROUTE);
    assert.equal(body.count, 2);
    assert.deepEqual(
      body.submissions.map((one: { status: string; test_result_count: number }) => [
        one.status,
        one.test_result_count,
      ]),
      [["failed", 0], ["processing", 0]],
    );
  });

  it("finds a repository in any case, with slashes in its owner, with a trailing slash", async () => {
    for (const one of ["ACME/SHOP", "aCmE/%73hop", "acme%2Fweb/front", "acme%2fWEB/Front"]) {
      assert.equal((await fixture.get(`/api/repos/${one}/submissions`)).status, 200, one);
    }
    assert.equal((await fixture.get(`${path}/`)).status, 200);
  });

  it("shows nothing of other repositories and organizations", async () => {
    const other = await createFixture(database(), { name: "other" });
    assert.equal((await other.get(path)).status, 404);
    await other.addRepository("acme", "shop");
    assert.equal((await bodyOf(await other.get(path), ROUTE)).count, 0);
    const names = [
      "acme/none",
      "none/shop",
      "acme/shop%00",
      "%00/%00",
      "acme/sh%ed%a0%80op",
      "acme/%ff",
      "acme/%",
      "%/shop",
      `acme/${"x".repeat(10_000)}`,
    ];
    for (const name of names) {
      await assertError(await fixture.get(`/api/repos/${name}/submissions`), 404, NOT_FOUND);
    }
    await assertError(await fixture.get(`${path}//`), 404, NOT_FOUND);
  });

  it("rejects invalid parameters, all of them at once, after the repository was found", async () => {
    for (const limit of ["0", "00", "-1", "+1", "1.0", "ten", " 1", "0x10", "%00", "١"]) {
      await assertBadRequest(await fixture.get(`${path}?limit=${limit}`), ["limit"]);
    }
    const wrongCursors = [
      btoa("offset:10"),
      btoa("id:123"),
      btoa("id:00000000000000000000000g"),
      "%00",
      "!",
      "a",
      "aWQ6=",
      "id:000000000000000000000000",
    ];
    for (const after of wrongCursors) {
      await assertBadRequest(await fixture.get(`${path}?after=${after}`), ["after"]);
    }
    await assertBadRequest(await fixture.get(`${path}?after=x&limit=0`), ["after", "limit"]);
    const unknown = await fixture.get("/api/repos/acme/none/submissions?after=x&limit=0");
    await assertError(unknown, 404, NOT_FOUND);
  });

  it("treats empty parameters as absent, uses the first of repeated ones, ignores unknown ones", async () => {
    const body = await bodyOf(await fixture.get(`${path}?limit=&after=&foo=0&limit=x`), ROUTE);
    assert.equal(body.metadata.limit, 10);
    const first = await bodyOf(await fixture.get(`${path}?limit=2&limit=0`), ROUTE);
    assert.equal(first.metadata.limit, 2);
    await assertBadRequest(await fixture.get(`${path}?limit=0&limit=2`), ["limit"]);
  });
});
