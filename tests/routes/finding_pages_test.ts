import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { findRepository } from "../../db/admin/repositories.ts";
import { type FoundTest, searchTests } from "../../db/read/search_tests.ts";
import { describeWithDatabase } from "../database.ts";
import { createFixture, DAY, type Fixture, flaky, idOf, NOW, quarantine } from "./fixture.ts";
import { type Html, parseHtml } from "./html.ts";

describeWithDatabase("the pages to find tests", (database) => {
  let acme: Fixture;
  let quietId: string;
  let twiceId: string;

  before(async () => {
    acme = await createFixture(database(), { name: "acme" });
    const shop = await acme.addRepository("acme", "shop");
    const web = await acme.addRepository("acme", "web");
    await acme.upload(shop, [...flaky("pays"), ...flaky("pays twice"), { name: "Quiet 100%" }], {
      tags: ["owner:@acme/money", "nightly"],
    });
    await acme.upload(web, [...flaky("shows", { file: "shows.ts" }), { name: "quiet_too" }], {
      tags: ["owner:@Acme/Money"],
    });
    await acme.upload(web, [{ name: "nobody's" }], { tags: ["owner:ada"], commitOid: "c222222" });
    quietId = idOf(shop, { name: "Quiet 100%" });
    twiceId = idOf(shop, { name: "pays twice" });
    await quarantine(database(), twiceId, {
      quarantineReason: "slow bank",
      quarantineExpiresAt: NOW + 3 * DAY,
      quarantineEnvironment: "Windows*",
    });
    await quarantine(database(), idOf(web, { name: "nobody's" }), { quarantineOwner: "eve" });
    const globex = await createFixture(database(), { name: "globex" });
    const foreign = await globex.addRepository("acme", "shop");
    await globex.upload(foreign, flaky("quiet foreign test"), { tags: ["owner:spy"] });
  });

  async function read(path: string, status = 200): Promise<Html> {
    const response = await acme.get(path);
    assert.equal(response.status, status, path);
    return parseHtml(await response.text());
  }

  /** The rows of the table whose caption begins with a text; names without their small print. */
  function rows(page: Html, caption: string): string[][] {
    const table = page.all(".scroll").find(({ attributes }) =>
      attributes["aria-label"]!.startsWith(caption)
    );
    return (table?.all("tbody").flatMap((body) => body.all("tr")) ?? []).map((row) =>
      row.all().filter(({ name }) => name === "th" || name === "td").map((cell) =>
        (cell.all("a")[0] ?? cell).text.trim()
      )
    );
  }

  it("list every test by its name, healthy ones too, with its state", async () => {
    const found = rows(await read("/tests?q=QUIET"), "Tests");
    assert.deepEqual(found, [["Quiet 100%", "acme/shop", ""], ["quiet_too", "acme/web", ""]]);
    const states = rows(await read("/tests?q=pays"), "Tests");
    assert.match(states[0]![2]!, /^flaky\s*50 %/);
    assert.match(states[1]![2]!, /^quarantined in Windows\* only/);
    const all = await read("/tests");
    assert.match(all.text, /6 tests/);
  });

  it("are read in batches, each after the last test of the one before", async () => {
    const repositories = [];
    for (const name of ["shop", "web"]) {
      repositories.push(
        (await findRepository(database().sql, {
          organizationId: acme.organization.organizationId,
          owner: "acme",
          name,
        }))!,
      );
    }
    const found: string[] = [];
    let last: FoundTest | null = null;
    do {
      const query = { repositories, words: [], last, limit: 2 };
      const { tests }: { tests: FoundTest[] } = await searchTests(database().sql, query);
      found.push(...tests.map(({ name }) => name));
      last = tests.at(-1) ?? null;
    } while (last !== null);
    assert.deepEqual(found, ["Quiet 100%", "nobody's", "pays", "pays twice", "quiet_too", "shows"]);
  });

  it("find words in any field, all of them, and take them literally", async () => {
    const names = async (query: string) =>
      rows(await read(`/tests?${query}`), "Tests").map(([name]) => name);
    assert.deepEqual(await names("q=shows.ts+SHOW"), ["shows"]);
    assert.deepEqual(await names("q=100%25"), ["Quiet 100%"]);
    assert.deepEqual(await names("q=t_too"), ["quiet_too"]);
    assert.deepEqual(await names("q=quiet+pays"), []);
    assert.deepEqual(await names("q=%00"), []);
    assert.deepEqual(await names("q=quiet&repository=web"), ["quiet_too"]);
  });

  it("lead from the id of a test to its page", async () => {
    const response = await acme.get(`/tests?q=${quietId.toUpperCase()}`);
    assert.deepEqual([response.status, response.headers.get("location")], [
      302,
      `tests/${quietId}`,
    ]);
    assert.equal((await acme.get(`/tests?q=${"0".repeat(24)}`)).status, 200);
  });

  it("keep the form when a search is too long", async () => {
    const page = await read(`/tests?q=${"a+".repeat(10)}a`, 400);
    assert.match(page.text, /expected at most 10 words/);
    assert.equal(page.all(".filters")[0]!.all("input")[0]!.attributes["aria-invalid"], "true");
  });

  it("list owners, those whose tests failed most by chance first", async () => {
    const found = rows(await read("/owners"), "Owners");
    assert.deepEqual(found, [
      ["@Acme/Money", "3", "2", "1", "5"],
      ["ada", "0", "0", "1", "1"],
      ["eve", "0", "0", "1", "0"],
    ]);
  });

  it("are whole lists as CSV and newline-delimited JSON, with the same filters", async () => {
    const read = async (path: string) => {
      const response = await acme.get(path);
      assert.equal(response.status, 200, path);
      return await response.text();
    };
    assert.equal(
      await read("/owners.csv"),
      "owner,disruption_count,flaky_test_count,quarantined_test_count,test_count\r\n" +
        "'@Acme/Money,3,2,1,5\r\nada,0,0,1,1\r\neve,0,0,1,0\r\n",
    );
    const tests = (await read("/tests.ndjson?q=pays&limit=1")).trim().split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      tests.map((test) => [
        test.name,
        test.repository,
        test.is_quarantined,
        test.disruptiveness_ratio,
        test.quarantine_environment,
      ]),
      [
        ["pays", "acme/shop", false, 0.5, null],
        ["pays twice", "acme/shop", true, 0.5, "Windows*"],
      ],
    );
    assert.match(
      await read("/tests.csv?q=100%25"),
      /^id,name,suite,class,file,repository,is_quarantined,disruptiveness_ratio,quarantine_environment\r\n.*,Quiet 100%,/,
    );
    const wrong = await acme.get(`/tests.csv?q=${"a+".repeat(10)}a`);
    assert.equal(wrong.status, 400);
    assert.deepEqual(Object.keys((await wrong.json()).errors), ["q"]);
    const page = parseHtml(await read("/tests?q=quiet&after="));
    const links = page.all("a").filter(({ text }) => text === "CSV");
    assert.deepEqual(links.map(({ attributes }) => attributes.href), ["tests.csv?q=quiet"]);
  });

  it("show what an owner has: flaky, its cost, quarantined, ending soon", async () => {
    const page = await read("/owners/%40acme%2Fmoney");
    const figures = page.all("dd");
    assert.deepEqual(figures.map(({ text }) => /^\d+/.exec(text.trim())?.[0]), [
      "5",
      "2",
      "3",
      // Milliseconds of the failed attempts in both repositories.
      "3",
      "1",
    ]);
    assert.match(page.text, /Quarantined ?1 1 ends within 7 days/);
    assert.deepEqual(rows(page, "Flaky").map(([name]) => name).sort(), ["pays", "shows"]);
    const [entry] = rows(page, "Quarantined");
    assert.deepEqual(entry!.slice(0, 3), ["pays twice", "acme/shop", "slow bank"]);
    assert.match(page.all("main")[0]!.text, /pays twice .* in Windows\* only/);
    assert.match((await read("/owners/eve")).text, /nobody's/);
  });

  it("take the name of an owner with slashes as it is written", async () => {
    for (const path of ["/owners/@acme/money", "/owners/@acme/money/", "/owners/@acme%2FMoney"]) {
      const page = await read(path);
      assert.equal(page.all("h1")[0]!.text.toLowerCase(), "@acme/money");
      assert.deepEqual(rows(page, "Flaky").map(([name]) => name).sort(), ["pays", "shows"]);
      const [test] = page.all("a").filter(({ text }) => text === "pays");
      const { pathname } = new URL(test!.attributes.href!, `http://x${path}`);
      assert.match(pathname, /^\/tests\/[0-9a-f]{24}$/);
    }
    // A page of its own: the list of owners.
    assert.equal((await read("/owners/")).all("h1")[0]!.text, "Owners");
    assert.match((await read("/owners/%2F")).text, /No test has this owner/);
  });

  it("are those of quarantine entries, which the inventory shows with place, reason and end", async () => {
    const { text } = await read("/flaky-tests");
    assert.match(text, /Quarantined .*, in Windows\* only: slow bank\. End: 2[0-9] Sep/);
    assert.match(text, /Owner: eve; end: never\./);
  });

  it("say on the page of a test to which environments its quarantine is limited", async () => {
    const { text } = (await read(`/tests/${twiceId}`)).all("main")[0]!;
    assert.match(text, /Quarantined.* in Windows\* only, until/);
    assert.match(text, /Quarantined .*, in Windows\* only: slow bank/);
    assert.match(text, /added.*, in Windows\* only: slow bank/);
  });

  it("are reached from the owners of a test", async () => {
    const page = await read("/flaky-tests?quarantine=false");
    const links = page.all("a").filter(({ text }) => text.startsWith("@acme"));
    assert.ok(links.some(({ attributes }) => attributes.href === "owners/%40acme%2Fmoney"));
  });

  it("are reached from the tests of a repository that cost the most builds", async () => {
    const page = await read("/repos/acme/shop");
    const [table] = page.all(".scroll").filter(({ attributes }) =>
      attributes["aria-label"] === "Tests that cost the most builds"
    );
    const tags = table!.all("tbody")[0]!.all(".tag");
    assert.deepEqual(tags.map(({ text }) => text).sort(), [
      "@acme/money",
      "@acme/money",
      "quarantined in Windows* only",
    ]);
    assert.ok(
      tags.some((tag) => tag.all("a")[0]?.attributes.href === "../../owners/%40acme%2Fmoney"),
    );
  });

  it("do not show another organization or an unknown owner", async () => {
    for (const path of ["/owners/spy", "/owners/nobody", "/tests?q=foreign"]) {
      const page = await read(path);
      assert.doesNotMatch(page.text, /quiet foreign test/);
    }
    const { text } = await read("/owners/spy");
    assert.match(text, /No test has this owner/);
    assert.doesNotMatch(text, /None of them is flaky/);
  });
});
