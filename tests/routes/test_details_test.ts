import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { describeWithDatabase } from "../database.ts";
import {
  assertError,
  bodyOf,
  createFixture,
  type Fixture,
  flaky,
  idOf,
  NOT_FOUND,
  quarantine,
} from "./fixture.ts";

const ROUTE = "/api/tests/:id";

describeWithDatabase("GET /api/tests/{id}", (database) => {
  let fixture: Fixture;
  let shop: Repository;

  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
    shop = await fixture.addRepository("Acme/Web", "Shop", 7);
    await fixture.upload(shop, [
      ...flaky("flaky"),
      { name: "flaky", conclusion: "skipped", durationMicroseconds: 1_250 },
      { name: "calm" },
    ], { tags: ["nightly", "Fast"], buildUrl: "https://ci.example/1" });
    await quarantine(database(), idOf(shop, { name: "flaky" }), { quarantinedBy: "ann" });
  });

  const details = async (name: string) =>
    await bodyOf(await fixture.get(`/api/tests/${idOf(shop, { name })}`), ROUTE);

  it("shows a test with its repository and all expansions", async () => {
    const latest = { recorded_at: "2026-09-21T14:11:40Z", build_url: "https://ci.example/1" };
    assert.deepEqual(await details("flaky"), {
      id: idOf(shop, { name: "flaky" }),
      name: "flaky",
      suite: "suite",
      class: "Class",
      file: "test.ts",
      repository: "Acme/Web/Shop",
      repository_id: 7,
      is_quarantined: true,
      disruptiveness_ratio: 0.5,
      nondeterministic_negative_result_count: 1,
      disruption_count: 1,
      nondeterminism_first_recorded_at: latest.recorded_at,
      first_disruption_at: latest.recorded_at,
      recent_nondeterministic_commit_oid: "c1c1c1c",
      recent_nondeterministic_negative_result: { ...latest, message: "flaky failed" },
      recent_nondeterministic_positive_result: { ...latest, message: null },
      tags: ["Fast", "nightly"],
      quarantine_date: "2026-09-21T14:13:20Z",
      quarantined_by: "ann",
      quarantine_type: "manual",
      time_consumed: 3_250,
      pass_rate: 0.5,
      avg_duration_ms: 1.1,
      quarantine_reason: null,
      quarantine_owner: null,
      quarantine_environment: null,
      quarantine_expires_at: null,
    });
  });

  it("counts the next upload, and takes the id in any case", async () => {
    await fixture.upload(shop, [{ name: "calm", conclusion: "failure" }], { commitOid: "c3" });
    assert.equal((await details("calm")).pass_rate, 0.5);
    const id = idOf(shop, { name: "calm" });
    assert.equal((await fixture.get(`/api/tests/${id.toUpperCase()}/`)).status, 200);
  });

  it("has a 404 for an unknown test and those of other organizations", async () => {
    const other = await createFixture(database(), { name: "other" });
    const id = idOf(shop, { name: "calm" });
    await assertError(await other.get(`/api/tests/${id}`), 404, NOT_FOUND);
    for (const unknown of ["0".repeat(24), "xyz", `${id}0`]) {
      await assertError(await fixture.get(`/api/tests/${unknown}`), 404, NOT_FOUND);
    }
  });
});
