import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { describeWithDatabase } from "../database.ts";
import { createFixture, type Fixture, NOW } from "./fixture.ts";
import { parseHtml } from "./html.ts";

describeWithDatabase("the search at the head of each page", (database) => {
  let acme: Fixture;
  let other: Fixture;
  const ids: Record<string, string> = {};

  before(async () => {
    acme = await createFixture(database(), { name: "acme" });
    other = await createFixture(database(), { name: "other" });
    const web = await acme.addRepository("acme", "web-shop");
    const app = await acme.addRepository("acme", "mobile-shop");
    const upload = async (
      name: string,
      repository: typeof web,
      commitOid: string,
      pull: number,
      age = 100,
    ) => {
      const fields = { commitOid, pullNumber: pull, buildUrl: `https://ci.example.org/${name}/` };
      const stored = await acme.upload(repository, [{ name: "pays" }], {
        ...fields,
        recordedAt: NOW - age,
      });
      ids[name] = stored.submissionId;
    };
    await upload("one", web, "aaaaaaa1", 7);
    await upload("two", web, "aaaaaaa2", 8);
    await upload("three", app, "bbbbbbb1", 8, 10);
  });

  const target = async (q: string, fixture = acme) => {
    const response = await fixture.get(`/search?q=${encodeURIComponent(q)}`);
    return response.status === 302 ? response.headers.get("location") : response.text();
  };

  it("leads to the only build of a commit or of a pull request", async () => {
    assert.equal(await target("aaaaaaa1"), `repos/acme/web-shop/builds/${ids.one}`);
    assert.equal(await target(" BBBBBBB "), `repos/acme/mobile-shop/builds/${ids.three}`);
    assert.equal(await target("#7"), `repos/acme/web-shop/builds/${ids.one}`);
  });

  it("leads to a repository by its name, with or without its owner", async () => {
    for (const name of ["web-shop", "ACME/Web-Shop"]) {
      assert.equal(await target(name), "repos/acme/web-shop", name);
    }
  });

  it("lists a repository whose name contains the word, as tests may have it too", async () => {
    const page = (await target("web"))!;
    assert.match(page, /href="repos\/acme\/web-shop"/);
    assert.match(page, /href="tests\?q=web">Tests with these words/);
  });

  it("keeps the words and the time zone where it leads to the tests", async () => {
    const { headers } = await acme.get("/search?q=pays&tz=Asia/Tokyo");
    const { searchParams } = new URL(headers.get("location")!, "http://x");
    assert.deepEqual([...searchParams], [["tz", "Asia/Tokyo"], ["q", "pays"]]);
  });

  it("lists what several have", async () => {
    const page = parseHtml((await target("#8"))!);
    const links = page.all("tbody")[0]!.all("th").map((one) => one.all("a")[0]!.attributes.href);
    assert.deepEqual(links, [
      `repos/acme/mobile-shop/builds/${ids.three}`,
      `repos/acme/web-shop/builds/${ids.two}`,
    ]);
    assert.match((await target("shop"))!, /acme\/mobile-.*acme\/web-/s);
  });

  it("searches the tests for all else, and shows the repositories without a word", async () => {
    assert.equal(await target("pays twice"), "tests?q=pays+twice");
    assert.equal(await target("<b>"), "tests?q=%3Cb%3E");
    assert.equal(await target("\0"), "tests?q=%00");
    assert.equal(await target(" "), "repos");
  });

  it("finds nothing of another organization", async () => {
    for (const q of ["aaaaaaa1", "#7", "web-shop"]) {
      assert.equal(await target(q, other), `tests?q=${encodeURIComponent(q)}`);
    }
  });
});
