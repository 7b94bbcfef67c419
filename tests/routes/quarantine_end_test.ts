import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { loadOverviews } from "../../db/read/repositories.ts";
import { silentLog } from "../silent_log.ts";
import { WINDOW_SECONDS } from "../../lib/base/time.ts";
import { createApp } from "../../routes/mod.ts";
import { describeWithDatabase } from "../database.ts";
import { createShop, DAY, type Fixture, flaky, idOf, NOW, quarantine, request } from "./fixture.ts";

const END = NOW + 60;
const INCLUDE = "quarantine_date,quarantine_reason,quarantine_owner,quarantine_expires_at";

describeWithDatabase("the end of a quarantine", (database) => {
  let fixture: Fixture;
  let shop: Repository;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    await fixture.upload(shop, [...flaky("ends"), ...flaky("stays"), { name: "calm" }]);
    await quarantine(database(), idOf(shop, { name: "ends" }), {
      quarantineReason: "slow mail server",
      quarantineOwner: "@web",
      quarantineExpiresAt: END,
      quarantineEnvironment: null,
    });
    await quarantine(database(), idOf(shop, { name: "stays" }));
    await quarantine(database(), idOf(shop, { name: "calm" }), { quarantineExpiresAt: END + DAY });
  });

  /** What the views say at a moment, as requested from the cache and from an app without one. */
  async function viewsAt(now: number) {
    fixture.clock.now = now;
    const fresh = createApp({
      sql: database().sql,
      now: () => now,
      windowSeconds: WINDOW_SECONDS,
      log: silentLog,
    });
    const ask = async (path: string) => {
      const cached = await fixture.get(path);
      const headers = { authorization: `token ${fixture.token}` };
      const uncached = await fresh(request(path, headers));
      assert.equal(cached.headers.get("etag"), uncached.headers.get("etag"), path);
      const text = await cached.text();
      assert.equal(text, await uncached.text(), path);
      return JSON.parse(text);
    };
    const names = async (quarantine: boolean) =>
      (await ask(`/api/v1/flaky/tests?quarantine=${quarantine}`)).tests
        .map(({ name }: { name: string }) => name).sort();
    const [counts] = await loadOverviews(database().sql, {
      repositoryIds: [shop.repositoryId],
      now,
      windowStart: now - WINDOW_SECONDS,
      firstDay: 0,
    });
    const details = await ask(`/api/tests/${idOf(shop, { name: "ends" })}`);
    return {
      quarantined: await names(true),
      others: await names(false),
      counts: [counts!.quarantinedTestCount, counts!.flakyTestCount],
      isQuarantined: details.is_quarantined,
      fields: INCLUDE.split(",").map((name) => details[name]),
    };
  }

  it("is the first second without it, in every list, cached or not, in both directions", async () => {
    const before = {
      quarantined: ["calm", "ends", "stays"],
      others: [],
      counts: [3, 0],
      isQuarantined: true,
      fields: ["2026-09-21T14:13:20Z", "slow mail server", "@web", "2026-09-21T14:14:20Z"],
    };
    const after = {
      quarantined: ["calm", "stays"],
      others: ["ends"],
      counts: [2, 1],
      isQuarantined: false,
      fields: [null, null, null, null],
    };
    assert.deepEqual(await viewsAt(END - 1), before);
    assert.deepEqual(await viewsAt(END), after);
    assert.deepEqual(await viewsAt(END - 1), before);
    assert.deepEqual(await viewsAt(END), after);
    assert.deepEqual((await viewsAt(END + DAY)).quarantined, ["stays"]);
  });
});
