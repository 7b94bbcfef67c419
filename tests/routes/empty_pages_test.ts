import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { WINDOW_SECONDS } from "../../lib/base/time.ts";
import { createApp } from "../../routes/mod.ts";
import { describeWithDatabase } from "../database.ts";
import { silentLog } from "../silent_log.ts";
import { createFixture, DAY, type Fixture, idOf, NOW, request } from "./fixture.ts";
import { type Html, parseHtml } from "./html.ts";

describeWithDatabase("pages without data", (database) => {
  let acme: Fixture;
  before(async () => {
    acme = await createFixture(database(), { name: "Acme & Co" });
  });

  async function read(path: string, uploadUrl?: string): Promise<Html> {
    const app = createApp({
      sql: database().sql,
      now: () => NOW,
      windowSeconds: WINDOW_SECONDS,
      log: silentLog,
      ...uploadUrl !== undefined && { uploadUrl },
    });
    const response = await app(request(path, { authorization: `token ${acme.token}` }));
    assert.equal(response.status, 200, path);
    return parseHtml(await response.text());
  }

  it("show the upload over HTTP, with the organization, the repository and the address", async () => {
    const list = await read("/repos", "https://reports.example");
    const [line] = list.all("pre");
    assert.equal(
      line!.text.replaceAll(/\\\s+/g, ""),
      'curl --retry 5 --fail-with-body -H "Authorization: Bearer $UPLOAD_TOKEN" -F report=@reports/junit.xml ' +
        '"https://reports.example/upload/OWNER/NAME?commit=$(git rev-parse HEAD)"',
    );
    assert.match(list.text.replaceAll(/\s+/g, " "), /token create --org 'Acme & Co' --upload/);
    const links = list.all("a").map(({ attributes }) => attributes["href"]);
    assert.ok(links.includes("docs/guides/ci"));
    const shop = await acme.addRepository("acme", "shop");
    await acme.upload(shop, [{}], { recordedAt: NOW - 20 * DAY });
    const page = await read("/repos/acme/shop", "https://reports.example");
    assert.match(
      page.all("pre")[0]!.text,
      /"https:\/\/reports.example\/upload\/acme\/shop\?commit=/,
    );
    assert.match(
      (await read("/flaky-tests?quarantine=false")).text,
      /code on which it also passed/,
    );
    assert.match((await read("/flaky-tests")).text, /No test is quarantined/);
    assert.match((await read("/tests?q=none")).text, /Remove a word/);
    const owners = await read("/owners");
    assert.match(owners.all("pre")[0]!.text, /"\$UPLOAD_URL\/upload\/OWNER\/NAME/);
    assert.match(owners.text, /UPLOAD_URL is the address for uploads/);
    const test = await read(`/tests/${idOf(shop, {})}`, "https://reports.example");
    assert.match(test.text, /"https:\/\/reports.example\/quarantine\/acme\/shop"/);
    assert.match(test.text.replaceAll(/\s+/g, " "), /--org 'Acme & Co' --quarantine/);
  });
});
