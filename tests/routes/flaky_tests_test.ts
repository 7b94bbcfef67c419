import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { INCLUDE_NAMES } from "../../routes/test_fields.ts";
import { describeWithDatabases } from "../database.ts";
import {
  assertBadRequest,
  assertError,
  bodyOf,
  createFixture,
  DAY,
  type Fixture,
  flaky,
  idOf,
  NOT_FOUND,
  NOW,
  quarantine,
} from "./fixture.ts";

const ROUTE = "/api/v1/flaky/tests";

describeWithDatabases("GET /api/v1/flaky/tests", (database) => {
  let fixture: Fixture;
  let shop: Repository;
  let web: Repository;

  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
    shop = await fixture.addRepository("acme", "shop", 7);
    web = await fixture.addRepository("acme/group", "web", 8);
    await fixture.addRepository("fork", "web", 9);
    await fixture.upload(shop, [...flaky("flaky"), ...flaky("noisy"), { name: "calm" }], {
      tags: ["nightly", "Fast"],
      buildUrl: "https://ci.example/1",
    });
    await fixture.upload(shop, flaky("old"), { recordedAt: NOW - 20 * DAY, commitOid: "c2" });
    await fixture.upload(web, [...flaky("page"), { name: "page" }], { recordedAt: NOW - 50 });
    await quarantine(database(), idOf(shop, { name: "noisy" }), { quarantinedBy: "ann" });
    await quarantine(database(), idOf(shop, { name: "old" }), { quarantineType: "automatic" });
    await quarantine(database(), idOf(shop, { name: "calm" }));
  });

  async function namesOf(query: string): Promise<string[]> {
    const body = await bodyOf(await fixture.get(`${ROUTE}?${query}`), ROUTE);
    assert.equal(body.count, body.tests.length);
    return body.tests.map((test: { name: string }) => test.name);
  }

  it("lists quarantined tests with their base fields, also without recent disruptions", async () => {
    const body = await bodyOf(await fixture.get(`${ROUTE}?repository=shop`), ROUTE);
    assert.deepEqual(body.metadata, { after: null, limit: 25 });
    assert.equal(body.count, 3);
    assert.deepEqual(body.tests[0], {
      id: idOf(shop, { name: "noisy" }),
      name: "noisy",
      suite: "suite",
      class: "Class",
      file: "test.ts",
    });
    const names = body.tests.map((test: { name: string }) => test.name);
    assert.deepEqual(names, ["noisy", "old", "calm"]);
    assert.deepEqual(await namesOf("sort=recency"), ["noisy", "old", "calm"]);
  });

  it("lists the other tests only for the exact word false", async () => {
    const views = {
      quarantined: ["noisy", "old", "calm"],
      others: ["flaky", "page"],
    };
    assert.deepEqual(await namesOf("quarantine=false"), views.others);
    for (const value of ["", "0", "true", "False", "FALSE", "no", "%20false", "%00"]) {
      assert.deepEqual(await namesOf(`quarantine=${value}`), views.quarantined, value);
    }
    assert.deepEqual(await namesOf("quarantined=false"), views.others);
    assert.deepEqual(await namesOf("quarantined=0"), views.quarantined);
    assert.deepEqual(await namesOf("quarantine=true&quarantined=false"), views.quarantined);
    assert.deepEqual(await namesOf("quarantined=false&quarantine="), views.quarantined);
    assert.deepEqual(await namesOf("quarantined=true&quarantine=false"), views.others);
  });

  it("adds the fields of include and ignores unknown names", async () => {
    const include = "tags, disruptiveness_ratio,,nothing,Tags,__proto__,tags";
    const path = `${ROUTE}?quarantine=false&include=${encodeURIComponent(include)}`;
    const body = await bodyOf(await fixture.get(path), ROUTE);
    assert.deepEqual(Object.keys(body.tests[0]).sort(), [
      "class",
      "disruptiveness_ratio",
      "file",
      "id",
      "name",
      "suite",
      "tags",
    ]);
    assert.deepEqual(body.tests[0].tags, ["Fast", "nightly"]);
    assert.equal(body.tests[0].disruptiveness_ratio, 0.5);
    assert.equal(body.tests[1].disruptiveness_ratio, 0.333);
  });

  it("adds all fields to a quarantined disruptive test, two of them under a second name", async () => {
    const path = `${ROUTE}?repository_id=7&include=${INCLUDE_NAMES.join(",")}`;
    const body = await bodyOf(await fixture.get(path), ROUTE);
    assert.deepEqual(body.tests[0], {
      id: idOf(shop, { name: "noisy" }),
      name: "noisy",
      suite: "suite",
      class: "Class",
      file: "test.ts",
      disruptiveness_ratio: 0.5,
      nondeterministic_negative_result_count: 1,
      disruption_count: 1,
      nondeterminism_first_recorded_at: "2026-09-21T14:11:40Z",
      first_disruption_at: "2026-09-21T14:11:40Z",
      recent_nondeterministic_commit_oid: "c1c1c1c",
      recent_nondeterministic_negative_result: {
        recorded_at: "2026-09-21T14:11:40Z",
        build_url: "https://ci.example/1",
        message: "noisy failed",
      },
      recent_nondeterministic_positive_result: {
        recorded_at: "2026-09-21T14:11:40Z",
        build_url: "https://ci.example/1",
        message: null,
      },
      tags: ["Fast", "nightly"],
      quarantine_date: "2026-09-21T14:13:20Z",
      quarantined_by: "ann",
      quarantine_type: "manual",
      time_consumed: 2_000,
      pass_rate: 0.5,
      avg_duration_ms: 1,
      quarantine_reason: null,
      quarantine_owner: null,
      quarantine_expires_at: null,
      quarantine_environment: null,
    });
  });

  it("shows null for the quarantine of a test that is not quarantined", async () => {
    const include = "quarantine_date,quarantined_by,quarantine_type";
    const path = `${ROUTE}?quarantine=false&include=${include}`;
    const [test] = (await bodyOf(await fixture.get(path), ROUTE)).tests;
    assert.equal(test.quarantine_date, null);
    assert.equal(test.quarantined_by, null);
    assert.equal(test.quarantine_type, null);
  });

  it("joins the values of a repeated include", async () => {
    const query = "quarantine=false&include=tags&include=time_consumed&include=";
    const [test] = (await bodyOf(await fixture.get(`${ROUTE}?${query}`), ROUTE)).tests;
    assert.ok("tags" in test && "time_consumed" in test);
  });

  it("finds repositories by name, by owner and name, and by id", async () => {
    assert.deepEqual(await namesOf("quarantine=false&repository=SHOP"), ["flaky"]);
    assert.deepEqual(await namesOf("quarantine=false&repository=ACME/shop"), ["flaky"]);
    assert.deepEqual(await namesOf("quarantine=false&repository=acme/GROUP/web"), ["page"]);
    assert.deepEqual(await namesOf("quarantine=false&repository_id=008"), ["page"]);
    assert.deepEqual(await namesOf("quarantine=false&repository_id=7&repository=shop"), ["flaky"]);
    assert.deepEqual(await namesOf("quarantine=false&repository=fork/web"), []);
  });

  it("rejects a bare name that fits several repositories", async () => {
    await assertBadRequest(await fixture.get(`${ROUTE}?repository=web`), ["repository"]);
    const response = await fixture.get(`${ROUTE}?repository=web&limit=0`);
    await assertBadRequest(response, ["limit", "repository"]);
    const badge = await fixture.get("/api/v1/flaky/badges?repository=WEB");
    await assertBadRequest(badge, ["repository"]);
  });

  it("uses the id when a bare name fits several repositories", async () => {
    assert.deepEqual(await namesOf("quarantine=false&repository=web&repository_id=8"), ["page"]);
    const other = `${ROUTE}?repository=web&repository_id=7`;
    await assertBadRequest(await fixture.get(other), ["repository", "repository_id"]);
    const unknown = `${ROUTE}?repository=web&repository_id=1000`;
    await assertBadRequest(await fixture.get(unknown), ["repository"]);
  });

  it("rejects a name and an id of different repositories", async () => {
    const path = `${ROUTE}?repository=shop&repository_id=8`;
    await assertBadRequest(await fixture.get(path), ["repository_id"]);
    await assertBadRequest(await fixture.get(`${path}&limit=x`), ["limit", "repository_id"]);
  });

  it("rejects empty names and ids that are not numbers", async () => {
    await assertBadRequest(await fixture.get(`${ROUTE}?repository=`), ["repository"]);
    await assertBadRequest(await fixture.get(`${ROUTE}?repository_id=`), ["repository_id"]);
    const both = await fixture.get(`${ROUTE}?repository=&repository_id=`);
    await assertBadRequest(both, ["repository", "repository_id"]);
    for (const id of ["x", "-1", "1.0", "7a", "%00", "7%00", "+7"]) {
      await assertBadRequest(await fixture.get(`${ROUTE}?repository_id=${id}`), ["repository_id"]);
    }
  });

  it("returns 404 for an unknown repository, after checking all parameters", async () => {
    const unknown = [
      "repository=none",
      "repository=none/shop",
      "repository=/shop",
      "repository=shop/",
      "repository=shop%00",
      "repository=%ed%a0%80",
      "repository_id=0",
      "repository_id=1000",
      "repository_id=99999999999999999999999999",
      "repository=none&repository_id=7",
      "repository=shop&repository_id=1000",
    ];
    for (const query of unknown) {
      await assertError(await fixture.get(`${ROUTE}?${query}`), 404, NOT_FOUND);
      await assertBadRequest(await fixture.get(`${ROUTE}?${query}&limit=0`), ["limit"]);
    }
    const other = await createFixture(database(), { name: "other" });
    await assertError(await other.get(`${ROUTE}?repository=shop`), 404, NOT_FOUND);
    await assertError(await other.get(`${ROUTE}?repository_id=7`), 404, NOT_FOUND);
    assert.equal((await bodyOf(await other.get(`${ROUTE}?quarantine=false`), ROUTE)).count, 0);
  });
});
