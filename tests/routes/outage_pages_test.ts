import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { describeWithDatabase } from "../database.ts";
import { type Html, parseHtml } from "./html.ts";
import { createShop, DAY, type Fixture, flaky, NOW } from "./fixture.ts";

describeWithDatabase("the pages about an outage", (database) => {
  let fixture: Fixture;
  let outageId: string;
  let severalId: string;
  let mailId: string;

  before(async () => {
    const created = await createShop(database());
    fixture = created.fixture;
    const { shop } = created;
    const tests = Array.from({ length: 20 }, (_, index) => ({
      name: `${index}`,
      conclusion: index < 5 ? "failure" as const : "passing" as const,
      message: index < 5 ? "connection refused" : "",
    }));
    outageId = (await fixture.upload(shop, tests, {
      recordedAt: NOW - 100,
      job: "unit",
      environment: "Linux-X64",
      commitOid: "c2c2c2c",
    })).submissionId;
    await fixture.upload(shop, flaky("a"), { recordedAt: NOW - 50 });
    for (const environment of ["Linux", "Windows"]) {
      const build = { buildUrl: "https://ci.example.org/7", recordedAt: NOW - 20 * DAY };
      const more = { ...build, environment, commitOid: "c7c7c7c" };
      severalId = (await fixture.upload(shop, tests, more)).submissionId;
    }
    const hit = await fixture.addRepository("acme", "hit");
    for (const branch of ["other", "third"]) {
      const recordedAt = NOW - 200;
      await fixture.upload(hit, tests, { recordedAt, branch, commitOid: "c4c4c4c" });
    }
    await fixture.upload(hit, tests, {
      recordedAt: NOW - 100,
      branch: "main",
      commitOid: "c5c5c5c",
    });
    await fixture.upload(hit, flaky("a"), { recordedAt: NOW - 50, branch: "main" });
    const mail = await fixture.addRepository("acme", "mail");
    const hitTest = (index: number) =>
      flaky(`hit ${index}`).map((result) => ({ ...result, message: "connection refused" }));
    const results = Array.from({ length: 12 }, (_, index) => hitTest(index)).flat();
    mailId = (await fixture.upload(mail, [...results, ...flaky("own")])).submissionId;
    await fixture.upload(mail, flaky("own"), { commitOid: "c3c3c3c" });
  });

  const read = async (path: string) => await (await fixture.get(path)).text();

  it("say on the build that many tests failed together, with this change alone", async () => {
    const page = await read(`/repos/acme/shop/builds/${outageId}`);
    assert.match(
      page,
      /<b>Together<\/b>: 5 of 20 tests failed in unit, Linux-X64, with this change alone/,
    );
    assert.doesNotMatch(page, /the change may be the cause|look here first/);
  });

  it("say so of each upload of a build", async () => {
    assert.match(
      await read(`/repos/acme/shop/builds/${severalId}`),
      /<p><b>Together<\/b>: 5 of 20 tests failed in (?:Linux; 5 of 20 tests failed in Windows|Windows; 5 of 20 tests failed in Linux), with this change alone/,
    );
  });

  it("have its tests in one row of the repository, and in one group of the build", async () => {
    const page = parseHtml(await read("/repos/acme/mail"));
    const rows = (caption: string) =>
      page.all(".scroll").find(({ attributes }) => attributes["aria-label"] === caption)!
        .all("tbody")[0]!.all("tr").map(({ text }) => text.replaceAll(/\s+/g, " ").trim());
    const costs = rows("Tests that cost the most builds");
    assert.equal(costs.length, 2);
    assert.match(costs[0]!, /^own/);
    assert.match(costs[1]!, /and 11 more that fail the same way.*and 2 more tests150 %12$/);
    const news = rows("New flaky tests");
    assert.equal(news.length, 2);
    assert.match(news.find((row) => row.startsWith("12 tests"))!, /connection refused$/);
    const build = parseHtml(await read(`/repos/acme/mail/builds/${mailId}`));
    const groups = build.all(".cause").map(({ text }) => text.replaceAll(/\s+/g, " "));
    assert.deepEqual([groups.length, groups.filter((text) => /12 tests alike/.test(text)).length], [
      2,
      1,
    ]);
  });

  it("keep flakiness, and show next to it what outages contributed", async () => {
    const page = parseHtml(await read("/repos"));
    const cells = (row: Html) => row.all().filter(({ name }) => name === "th" || name === "td");
    const at = cells(page.all("thead")[0]!).findIndex(({ text }) => text.startsWith("Outages"));
    const row = page.all("tr").find(({ text }) => text.startsWith("acme/hit"))!;
    assert.deepEqual([cells(row)[1]!.text, cells(row)[at]!.text], ["25 %", "1"]);
    assert.match(await read("/repos/acme/hit"), /1 of 4 builds; 1 in an outage/);
    const badge = await read("/api/v1/flaky/badges?repository=acme/hit");
    assert.match(badge, />25%</);
  });
});
