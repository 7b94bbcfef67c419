import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { describeWithDatabase } from "../database.ts";
import {
  assertBadRequest,
  bodyOf,
  createShop,
  DAY,
  type Fixture,
  flaky,
  idOf,
  NOW,
} from "./fixture.ts";

const ROUTE = "/api/repos/:owner/:name/tests";

describeWithDatabase("GET /api/repos/{owner}/{name}/tests", (database) => {
  let fixture: Fixture;
  let shop: Repository;
  const path = "/api/repos/acme/shop/tests";

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    // "thirds" fails once in three runs, "half" once in two; "steady" only ever fails.
    await fixture.upload(shop, [
      ...flaky("thirds"),
      { name: "thirds" },
      { name: "steady", conclusion: "failure" },
    ], {
      recordedAt: NOW - 50,
      buildUrl: "https://ci.example/1",
      tags: ["nightly"],
    });
    await fixture.upload(shop, flaky("half", { suite: "Ünder 100%_\\", file: "src/half.ts" }), {
      recordedAt: NOW - 2 * DAY,
      commitOid: "c2",
      tags: ["Fast"],
    });
    await fixture.upload(shop, flaky("old"), { recordedAt: NOW - 15 * DAY, commitOid: "c3" });
  });

  async function namesOf(query: string): Promise<string[]> {
    const body = await bodyOf(await fixture.get(`${path}?${query}`), ROUTE);
    return body.tests.map((test: { name: string }) => test.name);
  }

  it("lists the disruptive tests of the window with all fields", async () => {
    const body = await bodyOf(await fixture.get(path), ROUTE);
    assert.deepEqual({ ...body, tests: [body.tests[1]] }, {
      count: 2,
      tests: [{
        id: idOf(shop, { name: "thirds" }),
        name: "thirds",
        suite: "suite",
        class: "Class",
        file: "test.ts",
        disruptiveness: 0.333,
        nondeterministic_negative_result_count: 1,
        nondeterminism_first_recorded_at: "2026-09-21T14:12:30Z",
        latest_nondeterministic_commit_oid: "c1c1c1c",
        latest_nondeterministic_negative_result: {
          recorded_at: "2026-09-21T14:12:30Z",
          build_url: "https://ci.example/1",
          message: "thirds failed",
        },
        latest_nondeterministic_positive_result: {
          recorded_at: "2026-09-21T14:12:30Z",
          build_url: "https://ci.example/1",
          message: null,
        },
      }],
      metadata: { after: null, limit: 10 },
    });
  });

  it("sorts by ratio, or by recency", async () => {
    assert.deepEqual(await namesOf(""), ["half", "thirds"]);
    assert.deepEqual(await namesOf("sort="), ["half", "thirds"]);
    assert.deepEqual(await namesOf("sort=disruptivenessRatio"), ["half", "thirds"]);
    assert.deepEqual(await namesOf("sort=recency"), ["thirds", "half"]);
  });

  it("pages by offset", async () => {
    const first = await fixture.get(`${path}?limit=1&sort=recency&q=h`);
    const link = first.headers.get("link");
    const body = await bodyOf(first, ROUTE);
    assert.equal(atob(body.metadata.after), "offset:1");
    assert.equal(body.count, 2);
    assert.equal(
      link,
      `<?limit=1&sort=recency&q=h&after=${encodeURIComponent(body.metadata.after)}>; rel="next"`,
    );
    const after = body.metadata.after.replaceAll("=", "");
    assert.deepEqual(await namesOf(`limit=1&sort=recency&after=${after}`), ["half"]);
    assert.deepEqual(await namesOf(`after=${btoa("offset:2")}`), []);
    assert.deepEqual(await namesOf(`after=${btoa("offset:2147483647")}`), []);
  });

  it("filters by q", async () => {
    assert.deepEqual(await namesOf("q=THIRD"), ["thirds"]);
    assert.deepEqual(await namesOf("q=src/half+100%25_%5C"), ["half"]);
    assert.deepEqual(await namesOf("q=%C3%BCNDER"), ["half"]);
    assert.deepEqual(await namesOf("q=tags:fast,other"), ["half"]);
    assert.deepEqual(await namesOf("q=last-seen:>=2026-09-21"), ["thirds"]);
    assert.deepEqual(await namesOf("q=first-seen:2026-09-19"), ["half"]);
    assert.deepEqual(await namesOf("q=%00"), []);
    assert.deepEqual(await namesOf("q=%ed%a0%80"), []);
    assert.deepEqual(await namesOf("q="), ["half", "thirds"]);
    const body = await bodyOf(await fixture.get(`${path}?q=third`), ROUTE);
    assert.equal(body.count, 1);
  });

  it("rejects invalid parameters, all of them at once", async () => {
    const wrong = ["ratio", "Recency", "disruptivenessratio", "%00"];
    for (const sort of wrong) {
      await assertBadRequest(await fixture.get(`${path}?sort=${sort}`), ["sort"]);
    }
    const wrongCursors = [
      btoa("id:000000000000000000000000"),
      btoa("offset:2147483648"),
      btoa("offset:-1"),
      btoa("offset:"),
      btoa("offset:1.5"),
      "b2Zmc2V0OjEw=",
      "10",
    ];
    for (const after of wrongCursors) {
      await assertBadRequest(await fixture.get(`${path}?after=${after}`), ["after"]);
    }
    await assertBadRequest(await fixture.get(`${path}?q=${"x".repeat(1_001)}`), ["q"]);
    assert.deepEqual(await namesOf(`q=${"x".repeat(1_000)}`), []);
    const response = await fixture.get(
      `${path}?limit=0&after=x&sort=x&q=tags:+ok+last-seen:2026-02-30`,
    );
    assert.equal(response.status, 400);
    const { errors } = await response.json();
    assert.deepEqual(Object.keys(errors).sort(), ["after", "limit", "q", "sort"]);
    assert.equal(errors.q.length, 2);
    assert.match(errors.q[0], /term 1 "tags:"/);
    assert.match(errors.q[1], /term 3 "last-seen:2026-02-30"/);
  });
});
