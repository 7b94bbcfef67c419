import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { describeWithDatabase } from "../database.ts";
import { bodyOf, createShop, DAY, type Fixture, flaky, NOW } from "./fixture.ts";

const LIST = "/api/repos/:owner/:name/tests";
const SUBMISSIONS = "/api/repos/:owner/:name/submissions";

describeWithDatabase("the parameter branch", (database) => {
  let fixture: Fixture;
  let shop: Repository;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    // The failure on main is a disruption because the same code passed on another branch.
    await fixture.upload(shop, [{ name: "a", conclusion: "failure", message: "on main" }], {
      branch: "main",
      recordedAt: NOW - 300,
      buildUrl: "https://ci.example/main",
    });
    await fixture.upload(shop, flaky("a"), { branch: "release/1_x", recordedAt: NOW - 200 });
    await fixture.upload(shop, flaky("b"), { commitOid: "c2c2c2c", recordedAt: NOW - 100 });
    await fixture.upload(shop, [{ name: "a" }, { name: "b" }], {
      branch: "Main",
      commitOid: "c3c3c3c",
      recordedAt: NOW - 50,
    });
    await fixture.upload(shop, flaky("a"), {
      branch: "main",
      commitOid: "c4c4c4c",
      recordedAt: NOW - 20 * DAY,
    });
  });

  async function list(branch: string) {
    const query = new URLSearchParams({ branch });
    return await bodyOf(await fixture.get(`/api/repos/acme/shop/tests?${query}`), LIST);
  }

  it("leaves submissions of other branches out of counts, ratios and the latest disruption", async () => {
    const { count, tests: [a] } = await list("main");
    assert.equal(count, 1);
    assert.equal(a.name, "a");
    assert.equal(a.disruptiveness, 1);
    assert.equal(a.nondeterministic_negative_result_count, 1);
    assert.deepEqual(a.latest_nondeterministic_negative_result, {
      recorded_at: "2026-09-21T14:08:20Z",
      build_url: "https://ci.example/main",
      message: "on main",
    });
    // Of all branches, and of all time.
    assert.equal(a.nondeterminism_first_recorded_at, "2026-09-01T14:13:20Z");
    assert.equal(
      a.latest_nondeterministic_positive_result.recorded_at,
      "2026-09-21T14:10:00Z",
    );
  });

  it("takes several patterns, in which only * is a wildcard", async () => {
    const counts = async (branch: string) =>
      (await list(branch)).tests.map((test: { nondeterministic_negative_result_count: number }) =>
        test.nondeterministic_negative_result_count
      );
    assert.deepEqual(await counts("main,release/*"), [2]);
    assert.deepEqual(await counts("*"), [2]);
    assert.deepEqual(await counts("*1_x"), [1]);
    assert.deepEqual(await counts("release/__x,release%,m_in,MAIN,none,\0,\\"), []);
    assert.deepEqual(await counts(","), [2, 1]);
  });

  it("filters and counts submissions", async () => {
    const path = "/api/repos/acme/shop/submissions?limit=1&branch=*ain";
    const first = await bodyOf(await fixture.get(path), SUBMISSIONS);
    assert.equal(first.count, 2);
    assert.equal(first.submissions[0].branch, "Main");
    const rest = await bodyOf(
      await fixture.get(`${path}&after=${first.metadata.after}`),
      SUBMISSIONS,
    );
    assert.equal(rest.submissions[0].branch, "main");
    assert.equal(rest.metadata.after, null);
  });
});
