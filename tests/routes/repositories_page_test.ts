import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { describeWithDatabase } from "../database.ts";
import { createFixture, DAY, type Fixture, flaky, NOW } from "./fixture.ts";
import { type Html, parseHtml } from "./html.ts";

describeWithDatabase("the page of repositories", (database) => {
  let acme: Fixture;

  before(async () => {
    acme = await createFixture(database(), { name: "acme" });
    const upload = async (name: string, passed: number, disrupted: number, recordedAt: number) => {
      const repository = await acme.addRepository("acme", name);
      for (let build = 0; build < passed + disrupted; build++) {
        const results = build < disrupted ? flaky("a") : [{ name: "a" }];
        await acme.upload(repository, results, {
          recordedAt,
          commitOid: `c${build}`.padEnd(7, "0"),
        });
      }
      return repository;
    };
    // One of one, and more often than not of many.
    await upload("once", 0, 1, NOW - 100);
    const often = await upload("often", 4, 12, NOW - 100);
    await upload("calm", 3, 0, NOW - 100);
    await upload("quiet", 1, 0, NOW - 20 * DAY);
    for (const [index, results] of [flaky("a"), [{ name: "a" }]].entries()) {
      const commitOid = `b${index}`.padEnd(7, "0");
      await acme.upload(often, results, { recordedAt: NOW - 20 * DAY, commitOid });
    }
    // Before both periods.
    await acme.upload(often, flaky("a"), { recordedAt: NOW - 40 * DAY, commitOid: "d000000" });
  });

  async function read(path: string): Promise<Html> {
    const response = await acme.get(path);
    assert.equal(response.status, 200, path);
    return parseHtml(await response.text());
  }

  const names = (page: Html, caption = "Repositories") => {
    const table = page.all(".scroll").find(({ attributes }) =>
      attributes["aria-label"] === caption
    );
    const rows = table?.all("tbody").flatMap((body) => body.all("th")) ?? [];
    return rows.map(({ text }) => text.trim());
  };

  const cells = (page: Html, name: string) =>
    page.all("tr").find((row) => row.all("th")[0]?.text.trim() === name)!.all("td")
      .map(({ text }) => text.trim());

  it("puts few builds behind many, and says so at the head of the column", async () => {
    const page = await read("/repos");
    assert.deepEqual(names(page), ["acme/often", "acme/once", "acme/calm"]);
    const title = page.all("thead")[0]!.all("span")[0]!.attributes.title!;
    assert.match(title, /lower end of its 95 % interval/);
  });

  it("is a whole list as CSV, in the order and with the filter of the page", async () => {
    const response = await acme.get("/repos.csv?q=ACME/&sort=flakiness");
    assert.equal(response.status, 200);
    const [head, ...lines] = (await response.text()).trimEnd().split("\r\n");
    assert.match(head!, /^repository,flakiness,flakiness_before,build_count,/);
    assert.deepEqual(lines.map((line) => line.split(",").slice(0, 4).join()), [
      "acme/often,0.75,0.5,16",
      "acme/once,1,,1",
      "acme/calm,,,3",
      "acme/quiet,,,0",
    ]);
  });

  it("folds those without a build in the window", async () => {
    const page = await read("/repos");
    assert.deepEqual(names(page, "Repositories without a build"), ["acme/quiet"]);
    assert.match(page.all("details")[0]!.text, /1 repository without a build/);
    assert.equal(page.all("details")[0]!.attributes.open, undefined);
    assert.equal((await read("/repos?q=quiet")).all("details")[0]!.attributes.open, "");
  });

  it("compares with the 14 days before, for each and in total", async () => {
    const page = await read("/repos");
    // 12 of 16 after 1 of 2.
    // Without the time of the figures, below the head.
    const heads = page.all("thead")[0]!.all("th").map(({ text }) => text.replace(/ \d.*/, ""));
    const cell = (name: string, head: string) => cells(page, name)[heads.indexOf(head) - 1];
    assert.deepEqual(
      ["Flakiness", "Change", "Builds"].map((head) => cell("acme/often", head)),
      ["75 %", "+25", "16"],
    );
    assert.equal(cell("acme/once", "Change"), "–");
    const [totals] = page.all(".fact-line");
    // 13 of 20 after 1 of 3.
    assert.match(totals!.text, /65 % of 20 builds in 14 days, \+31\.7 points/);
  });

  it("draws the flakiness as a bar in the colour of its badge, and as a trend of eight weeks", async () => {
    const page = await read("/repos");
    const rowOf = (name: string) => page.all("tr").find(({ text }) => text.startsWith(name))!;
    const [bar] = rowOf("acme/often").all(".bar");
    const [, filled] = bar!.all("rect");
    assert.deepEqual([filled!.attributes.class, filled!.attributes.width], ["failed", "33"]);
    assert.equal(rowOf("acme/calm").all(".bar").length, 0);
    const [trend] = rowOf("acme/often").all(".sparkline");
    assert.equal(
      trend!.attributes["aria-label"],
      "Builds with a flaky failure by week, oldest first: none, none, 100 %, none, none, 50 %, none, 75 %",
    );
  });

  it("sorts by its heads, which keep the filter, and marks the column", async () => {
    const page = await read("/repos?sort=name&q=ACME/+o");
    assert.deepEqual(names(page), ["acme/often", "acme/once"]);
    const sorted = page.all("th").filter(({ attributes }) => attributes["aria-sort"]);
    assert.deepEqual(sorted.map(({ text, attributes }) => [text, attributes["aria-sort"]]), [
      ["Repository", "ascending"],
    ]);
    assert.deepEqual(names(await read("/repos?sort=name")), [
      "acme/calm",
      "acme/often",
      "acme/once",
    ]);
    const [head] = page.all("th").filter(({ text }) => /^Builds/.test(text));
    assert.equal(head!.all("a")[0]!.attributes.href, "repos?q=ACME%2F+o&sort=builds");
  });

  it("puts repositories without builds before behind all others by change", async () => {
    assert.deepEqual(names(await read("/repos?sort=change")), [
      "acme/often",
      "acme/calm",
      "acme/once",
    ]);
  });

  it("keeps the filter when nothing matches, and shows it as text", async () => {
    const page = await read("/repos?q=%3Cb%3E");
    assert.match(page.text, /No repository matches/);
    assert.equal(page.all(".filters")[0]!.all("input")[0]!.attributes.value, "<b>");
  });

  it("names an order that does not exist", async () => {
    const response = await acme.get("/repos?sort=age&q=of");
    assert.equal(response.status, 400);
    const page = parseHtml(await response.text());
    assert.match(page.text, /invalid sort "age": expected one of broken, flakiness/);
    // The form to correct it, without what is wrong.
    const fields = page.all(".filters")[0]!.all("input").map(({ attributes }) => attributes.name);
    assert.deepEqual(fields, ["q"]);
    assert.equal(page.all(".filters")[0]!.all("input")[0]!.attributes.value, "of");
  });
});
