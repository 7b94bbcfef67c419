import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { describeWithDatabases } from "../database.ts";
import { createShop, type Fixture, flaky, NOW } from "./fixture.ts";

describeWithDatabases("the pages about an outage", (database) => {
  let fixture: Fixture;
  let outageId: string;

  before(async () => {
    const created = await createShop(database());
    fixture = created.fixture;
    const { shop } = created;
    const tests = Array.from({ length: 20 }, (_, index) => ({
      name: `${index}`,
      conclusion: index < 5 ? "failure" as const : "passing" as const,
    }));
    outageId = (await fixture.upload(shop, tests, {
      recordedAt: NOW - 100,
      job: "unit",
      environment: "Linux-X64",
      commitOid: "c2c2c2c",
    })).submissionId;
    await fixture.upload(shop, flaky("a"), { recordedAt: NOW - 50 });
  });

  const read = async (path: string) => await (await fixture.get(path)).text();

  it("say on the build that the change is probably not the cause", async () => {
    assert.match(
      await read(`/repos/acme/shop/builds/${outageId}`),
      /<b>Outage<\/b> \(unit, Linux-X64\): 5 of 20 tests failed, so the change is probably not/,
    );
  });

  it("keep flakiness, and show beside it what outages contributed", async () => {
    assert.match(await read("/repos"), /50%<small>1 in an outage/);
    assert.match(await read("/repos/acme/shop"), /1 of 2 builds; 1 in an outage/);
    const badge = await read("/api/v1/flaky/badges?repository=acme/shop");
    assert.match(badge, />50%</);
  });
});
