import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { parseTimestamp, WINDOW_SECONDS } from "../../lib/base/time.ts";
import { parseTimeZone } from "../../lib/base/time_zone.ts";
import { createApp } from "../../routes/mod.ts";
import { silentLog } from "../silent_log.ts";
import { describeWithDatabase } from "../database.ts";
import { createFixture, type Fixture, flaky, idOf, NOW, request } from "./fixture.ts";
import { type Html, parseHtml } from "./html.ts";

describeWithDatabase("the time zone of pages", (database) => {
  let acme: Fixture;
  let shop: Repository;

  before(async () => {
    acme = await createFixture(database(), { name: "acme" });
    shop = await acme.addRepository("acme", "shop");
    await acme.upload(shop, flaky("checks out"), {
      recordedAt: parseTimestamp("2026-09-20T22:30:00Z"),
      branch: "main",
      buildUrl: "https://ci.example.org/1",
    });
  });

  async function read(path: string, status = 200): Promise<Html> {
    const response = await acme.get(path);
    assert.equal(response.status, status, path);
    return parseHtml(await response.text());
  }

  const timeOn = (page: Html) => page.all("time")[0]!;
  const zoneField = (page: Html) =>
    page.all("input").find(({ attributes }) => attributes.id === "tz")!;

  it("is UTC unless the address or the service names another", async () => {
    const utc = await read("/repos");
    assert.equal(timeOn(utc).text, "yesterday 22:30");
    assert.equal(timeOn(utc).attributes.title, "2026-09-20 22:30:00 UTC");
    assert.match(utc.all("footer")[0]!.text, /times are UTC\./);
    const berlin = await read("/repos?tz=europe/berlin");
    assert.equal(timeOn(berlin).text, "today 00:30");
    const { title, datetime } = timeOn(berlin).attributes;
    assert.equal(title, "2026-09-21 00:30:00 UTC+2 (Europe/Berlin)");
    assert.equal(datetime, "2026-09-20T22:30:00Z");
    assert.match(berlin.all("footer")[0]!.text, /times are in Europe\/Berlin/);

    const app = createApp({
      sql: database().sql,
      now: () => NOW,
      windowSeconds: WINDOW_SECONDS,
      log: silentLog,
      timeZone: parseTimeZone("Asia/Tokyo"),
    });
    const page = async (path: string) => {
      const response = await app(request(path, { authorization: `token ${acme.token}` }));
      return parseHtml(await response.text());
    };
    assert.equal(timeOn(await page("/repos")).text, "today 07:30");
    assert.equal(timeOn(await page("/repos?tz=UTC")).text, "yesterday 22:30");
  });

  it("is kept by the links and forms of a page", async () => {
    const paths = [
      "/repos",
      "/repos/acme/shop",
      "/repos/acme/shop/builds?days=7",
      "/flaky-tests?quarantine=false",
      "/tests?q=checks",
      `/tests/${idOf(shop, { name: "checks out" })}`,
      "/owners",
    ];
    for (const path of paths) {
      const page = await read(`${path}${path.includes("?") ? "&" : "?"}tz=Asia/Tokyo`);
      for (const { attributes: { href = "" } } of page.all("a")) {
        if (!/^(https:|#)/.test(href)) assert.match(href, /[?&]tz=Asia%2FTokyo(&|$)/, path);
      }
      for (const form of page.all("form")) {
        const zones = form.all("input").filter(({ attributes }) => attributes.name === "tz");
        assert.deepEqual(zones.map(({ attributes }) => attributes.value), ["Asia/Tokyo"], path);
      }
    }
  });

  it("is chosen on each page, whose other parameters stay", async () => {
    const page = await read("/repos/acme/shop/builds?days=7&branch=main");
    const [form] = page.all("footer")[0]!.all("form");
    const fields = form!.all("input").map(({ attributes: { name, value } }) => [name, value]);
    assert.deepEqual(fields, [["branch", "main"], ["days", "7"], ["tz", "UTC"]]);
  });

  it("is an error at its field if the name is unknown", async () => {
    for (const path of ["/repos", "/repos/acme/shop/builds", "/flaky-tests", "/owners/web"]) {
      const page = await read(`${path}?tz=Mars/%3COlympus%3E`, 400);
      const field = zoneField(page);
      assert.equal(field.attributes.value, "Mars/<Olympus>", path);
      assert.equal(field.attributes["aria-invalid"], "true");
      const message = page.all().find(({ attributes }) => attributes.id === "tz-error")!;
      assert.match(message.text, /^invalid time zone "Mars\/<Olympus>": expected a name/);
      for (const { attributes: { href = "" } } of page.all("a")) assert.doesNotMatch(href, /tz=/);
    }
  });

  it("decides when a page says that something was yesterday", async () => {
    const etag = async (path: string) => (await acme.get(path)).headers.get("etag");
    acme.clock.now = parseTimestamp("2026-09-21T21:59:59Z");
    const [utc, berlin] = [await etag("/repos"), await etag("/repos?tz=Europe/Berlin")];
    acme.clock.now += 1;
    assert.equal(await etag("/repos"), utc);
    assert.notEqual(await etag("/repos?tz=Europe/Berlin"), berlin);
    assert.equal(timeOn(await read("/repos?tz=Europe/Berlin")).text, "yesterday 00:30");
    acme.clock.now = NOW;
  });
});
