import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { describeWithDatabase } from "../database.ts";
import { parseHtml } from "./html.ts";
import { createShop, DAY, type Fixture, flaky, NOW } from "./fixture.ts";

describeWithDatabase("the range of the list of flaky tests", (database) => {
  let fixture: Fixture;

  before(async () => {
    let shop;
    ({ fixture, shop } = await createShop(database()));
    await fixture.upload(shop, flaky("often"), { recordedAt: NOW - DAY });
    await fixture.upload(shop, flaky("rarely"), {
      recordedAt: NOW - 20 * DAY,
      commitOid: "c2c2c2c",
    });
    await fixture.upload(shop, flaky("once"), { recordedAt: NOW - 60 * DAY, commitOid: "c3c3c3c" });
  });

  it("is 14, 30 or 90 days, and says so", async () => {
    for (
      const [query, names] of [
        ["", ["often"]],
        ["&days=30", ["often", "rarely"]],
        ["&days=90", ["often", "rarely", "once"]],
      ] as const
    ) {
      const page = await (await fixture.get(`/flaky-tests?quarantine=false${query}`)).text();
      for (const name of ["often", "rarely", "once"]) {
        assert.equal(page.includes(`>${name}<`), names.some((one) => one === name), query + name);
      }
      assert.match(page, new RegExp(`<p class="soft">${names.length} tests?\\b`));
      const days = /\d+/.exec(query)?.[0] ?? "14";
      assert.match(page, new RegExp(`figures of the last ${days} days`));
    }
  });

  it("is the same on the page of an owner", async () => {
    const owned = { tags: ["owner:@acme/web"] };
    const { fixture, shop } = await createShop(database(), "owned");
    await fixture.upload(shop, flaky("often"), { ...owned, recordedAt: NOW - DAY });
    await fixture.upload(shop, flaky("rarely"), {
      ...owned,
      recordedAt: NOW - 20 * DAY,
      commitOid: "c2c2c2c",
    });
    const owner = "/owners/%40acme%2Fweb";
    const page = parseHtml(await (await fixture.get(owner)).text());
    const links = page.all(".ranges")[0]!.all("a");
    assert.deepEqual(links.map(({ text }) => text), ["14", "30", "90"]);
    assert.ok(!page.text.includes("rarely"));
    const { pathname, search } = new URL(links[1]!.attributes.href!, `http://x${owner}`);
    const month = parseHtml(await (await fixture.get(pathname + search)).text());
    assert.match(month.text, /rarely[^]*/);
    // One range for all figures of the page.
    assert.match(
      month.text,
      /Flaky failures ?2 in 30 days\s*Cost of flaky failures ?.* in 30 days/,
    );
    const wrong = await fixture.get(`${owner}?days=7`);
    assert.equal(wrong.status, 400);
    assert.match(await wrong.text(), /invalid days &quot;7&quot;: expected one of 14, 30, 90/);
  });

  it("keeps the form with the message at its field when it is wrong", async () => {
    const response = await fixture.get("/flaky-tests?quarantine=false&days=7&q=often");
    assert.equal(response.status, 400);
    assert.match(await response.text(), /invalid days &quot;7&quot;: expected one of 14, 30, 90/);
  });
});
