import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { describeWithDatabase } from "../database.ts";
import { createShop, DAY, type Fixture, flaky, idOf, NOW } from "./fixture.ts";
import { type Html, parseHtml } from "./html.ts";

describeWithDatabase("the parameters of pages", (database) => {
  let fixture: Fixture;
  let test: string;

  before(async () => {
    const { shop, ...created } = await createShop(database());
    fixture = created.fixture;
    const days = { 2: flaky("pays"), 9: [{ name: "pays" }], 20: flaky("pays"), 40: flaky("pays") };
    for (const [day, results] of Object.entries(days)) {
      const recordedAt = NOW - Number(day) * DAY;
      await fixture.upload(shop, results, { recordedAt, commitOid: `c00000${day}` });
    }
    test = `/tests/${idOf(shop, { name: "pays" })}`;
  });

  async function read(path: string, status = 200): Promise<Html> {
    const response = await fixture.get(path);
    assert.equal(response.status, status, path);
    return parseHtml(await response.text());
  }

  it("are named with what is allowed when they are wrong, in a form that keeps the others", async () => {
    const ranges = /^invalid days "5": expected one of (90, 7, 14, 30|14, 7, 30, 90)$/;
    const wrong: [path: string, message: RegExp, kept: Record<string, string>][] = [
      ["/repos?sort=zz&q=of", /^sort: invalid sort "zz": expected one of broken, flakiness, name/, {
        q: "of",
      }],
      ["/repos/acme/shop?days=5&tz=Asia/Tokyo", ranges, { tz: "Asia/Tokyo" }],
      [`${test}?days=5`, ranges, {}],
      ["/repos/acme/shop/builds?outcome=x&branch=main", /expected one of all, failed, flaky/, {
        branch: "main",
      }],
      ["/repos/acme/shop/builds?days=5&environment=Linux", /expected one of 14, 7, 30, 90/, {
        environment: "Linux",
      }],
      ["/repos/acme/shop/slow-tests?sort=x&branch=main", /expected one of total, median, slower/, {
        branch: "main",
      }],
      ["/repos/acme/shop/slow-tests?limit=0&sort=median", /limit "0": expected an integer/, {
        sort: "median",
      }],
      ["/flaky-tests?sort=x&q=pays", /expected one of disruptivenessRatio, recency$/, {
        q: "pays",
      }],
      ["/tests?after=zz&q=pays", /^after: invalid/, { q: "pays" }],
      ["/tests?repository_id=x&q=pays", /^repository_id: invalid .* decimal digits$/, {
        q: "pays",
      }],
    ];
    for (const [path, message, kept] of wrong) {
      const page = await read(path, 400);
      const [error] = page.all(".error");
      const [form] = page.all(".filters");
      assert.match(error?.text ?? "", message, path);
      // At its field, if it has one.
      const described = form!.all().map(({ attributes }) => attributes["aria-describedby"])
        .filter(Boolean);
      assert.deepEqual(described, [error!.attributes.id].filter(Boolean), path);
      const values = Object.fromEntries(
        form!.all("input").map(({ attributes }) => [attributes.name, attributes.value]),
      );
      for (const [name, value] of Object.entries(kept)) assert.equal(values[name], value, path);
      assert.equal(form!.all("button").length, 1, path);
    }
  });

  it("include a range of time for the charts of a test, whose comparison stays", async () => {
    const charts = (page: Html) => page.all(".pair")[0]!.text;
    const compared = /1 since 8 Sep, 1 in the 14 days before/;
    const all = charts(await read(test));
    assert.match(all, /12 Aug: 1 flaky/);
    assert.match(all, compared);
    const week = await read(`${test}?days=7`);
    assert.match(charts(week), compared);
    assert.match(charts(week), /19 Sep: 1 flaky/);
    assert.doesNotMatch(charts(week), /a day1 Sep/);
    assert.match(charts(await read(`${test}?days=30`)), /a day1 Sep: 1 flaky/);
    const [ranges] = week.all(".ranges");
    const links = ranges!.all("a");
    assert.deepEqual(
      links.map(({ text, attributes }) => [text, attributes.href!.split("?")[1]]),
      ["7", "14", "30", "90"].map((days) => [days, `days=${days}`]),
    );
    const [shown] = links.filter(({ attributes }) => attributes["aria-current"]);
    assert.equal(shown!.text, "7");
    const { pathname } = new URL(links[0]!.attributes.href!, `http://x${test}`);
    assert.equal(pathname, test);
    // Figures of the window do not depend on it.
    const facts = (page: Html) => page.all(".fact-line dd").map(({ text }) => text);
    assert.deepEqual(facts(week), facts(await read(test)));
  });
});
