import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { eventId } from "../../lib/base/identity.ts";
import { describeWithDatabase } from "../database.ts";
import {
  assertError,
  bodyOf,
  createFixture,
  createShop,
  DAY,
  type Fixture,
  flaky,
  idOf,
  NOT_FOUND,
  NOW,
} from "./fixture.ts";

const ROUTE = "/api/tests/:id/results";

describeWithDatabase("GET /api/tests/{id}/results", (database) => {
  let fixture: Fixture;
  let shop: Repository;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
  });

  it("lists the ten latest disruptions of the window, newest first", async () => {
    const submissionIds: string[] = [];
    for (let index = 0; index < 6; index++) {
      const results = [...flaky("often"), {
        name: "often",
        conclusion: "error" as const,
        message: "broken",
      }];
      const uploaded = await fixture.upload(shop, results, {
        recordedAt: NOW - index,
        buildUrl: index === 0 ? "https://ci.example/0" : "",
      });
      submissionIds.push(uploaded.submissionId);
    }
    const id = idOf(shop, { name: "often" });
    const body = await bodyOf(await fixture.get(`/api/tests/${id}/results`), ROUTE);
    assert.equal(body.results.length, 10);
    assert.deepEqual(body.results.slice(0, 2), [
      {
        id: eventId(submissionIds[0]!, 2),
        build_url: "https://ci.example/0",
        commit_oid: "c1c1c1c",
        conclusion: "error",
        recorded_at: "2026-09-21T14:13:20Z",
        message: "broken",
      },
      {
        id: eventId(submissionIds[0]!, 1),
        build_url: "https://ci.example/0",
        commit_oid: "c1c1c1c",
        conclusion: "failure",
        recorded_at: "2026-09-21T14:13:20Z",
        message: "often failed",
      },
    ]);
    const ids = new Set(body.results.map((event: { id: string }) => event.id));
    assert.equal(ids.size, 10);
    const times = body.results.map((event: { recorded_at: string }) => event.recorded_at);
    assert.deepEqual(times, times.toSorted().reverse());
  });

  it("accepts the id in any case", async () => {
    const id = idOf(shop, { name: "often" }).toUpperCase();
    assert.equal((await fixture.get(`/api/tests/${id}/results`)).status, 200);
  });

  it("returns an empty list for a known test without disruptions", async () => {
    await fixture.upload(shop, flaky("old"), { recordedAt: NOW - 15 * DAY, commitOid: "c2" });
    await fixture.upload(shop, [{ name: "steady", conclusion: "failure" }], { commitOid: "c3" });
    for (const name of ["old", "steady"]) {
      const response = await fixture.get(`/api/tests/${idOf(shop, { name })}/results`);
      assert.equal(await response.text(), '{"results":[]}\n');
    }
  });

  it("returns 404 for other ids, and for tests of another organization", async () => {
    const other = await createFixture(database(), { name: "other" });
    const known = idOf(shop, { name: "often" });
    await assertError(await other.get(`/api/tests/${known}/results`), 404, NOT_FOUND);
    const unknown = [
      idOf(shop, { name: "never ran" }),
      "0".repeat(24),
      known.slice(1),
      `${known}0`,
      `${known.slice(1)}g`,
      "%00",
      "%ff",
      `${known.slice(1)}%00`,
      "..%2f..",
      "x".repeat(5_000),
    ];
    for (const id of unknown) {
      await assertError(await fixture.get(`/api/tests/${id}/results?limit=0`), 404, NOT_FOUND);
    }
  });
});
