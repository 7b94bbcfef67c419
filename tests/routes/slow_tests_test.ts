import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { describeWithDatabase } from "../database.ts";
import { commandLine } from "../lib/cli/run_in_process.ts";
import { createShop, DAY, type Fixture, idOf, NOW } from "./fixture.ts";

const RUNS = 24;

describeWithDatabase("slow tests", (database) => {
  let fixture: Fixture;
  let shopFixture: Awaited<ReturnType<typeof createShop>>;
  let id: (name: string) => string;

  before(async () => {
    const created = await createShop(database());
    shopFixture = created;
    fixture = created.fixture;
    id = (name) => idOf(created.shop, { name });
    for (let run = 0; run < RUNS; run++) {
      // The machine of every third run is twice as slow.
      const speed = run % 3 === 0 ? 2 : 1;
      const steady = Array.from(
        { length: 12 },
        (_, test) => ({ name: `steady ${test}`, seconds: 1 }),
      );
      const tests = [
        ...steady,
        { name: "long", seconds: 60 },
        { name: "became slower", seconds: run < 12 ? 4 : 8 },
      ];
      await fixture.upload(
        created.shop,
        tests.map(({ name, seconds }) => ({
          name,
          durationMicroseconds: seconds * speed * 1_000_000,
        })),
        {
          recordedAt: NOW - 6 * DAY + run * DAY / 4,
          commitOid: `c${String(run).padStart(6, "0")}`,
          branch: run < RUNS - 1 ? "main" : "topic",
        },
      );
    }
  });

  async function list(query: string) {
    const response = await fixture.get(`/api/repos/acme/shop/slow-tests${query}`);
    assert.equal(response.status, 200);
    return await response.json();
  }

  it("come with their share of all time, the largest first", async () => {
    const { count, tests, metadata } = await list("?limit=2");
    assert.equal(count, 14);
    assert.deepEqual(tests.map((test: { name: string }) => test.name), ["long", "became slower"]);
    const { median_us, p90_us, runs, total_us, share, slower } = tests[0];
    // 8 of 24 runs took twice as long.
    const total = 60 * (24 + 8);
    const all = total + 12 * (24 + 8) + 4 * (12 + 4) + 8 * (12 + 4);
    assert.deepEqual({ median_us, p90_us, runs, total_us, share, slower }, {
      median_us: 60_000_000,
      p90_us: 120_000_000,
      runs: 20,
      total_us: total * 1_000_000,
      share: Math.floor(1000 * total / all) / 1000,
      slower: null,
    });
    assert.notEqual(metadata.after, null);
  });

  it("that became slower are found with the commits between", async () => {
    const { count, tests: [test] } = await list("?sort=slower");
    assert.equal(count, 1);
    assert.equal(test.id, id("became slower"));
    assert.deepEqual(test.slower, {
      before_us: 4_000_000,
      after_us: 8_000_000,
      since: new Date((NOW - 3 * DAY) * 1000).toISOString().replace(".000", ""),
      last_fast_commit_oid: "c000011",
      first_slow_commit_oid: "c000012",
    });
  });

  it("are those of a branch on request", async () => {
    assert.equal((await list("?sort=slower&branch=topic")).count, 0);
    const { tests: [test] } = await list("?branch=topic&sort=median&limit=1");
    assert.deepEqual([test.name, test.runs], ["long", 1]);
  });

  it("are listed by the command", async () => {
    const cli = commandLine(database, { now: () => NOW });
    const json = await cli("slow --org acme --repo acme/shop --sort slower --json");
    assert.deepEqual(JSON.parse(json.stdout), (await list("?sort=slower")).tests);
    const plain = await cli("slow --org acme --limit 1");
    assert.deepEqual(plain.stdout.split("\t").slice(0, 4), [
      id("long"),
      "acme/shop",
      "60000000",
      "120000000",
    ]);
  });

  it("are a table on a terminal, in which names have room", async () => {
    const cli = commandLine(database, { now: () => NOW });
    const narrow = await cli("slow --org acme --limit 2", { columns: 80 });
    assert.equal(
      narrow.stdout,
      "MEDIAN   SHARE  SLOWER  TEST           ID\n" +
        `   1 m  76.9 %          long           ${id("long")}\n` +
        `   8 s   7.7 %  +4 s    became slower  ${id("became slower")}\n`,
    );
    const usual = await cli("slow --org acme", { columns: 80 });
    assert.equal(usual.stdout.trimEnd().split("\n").length, 6, usual.stdout);
    assert.match(
      usual.stderr,
      /^\n14 tests in the last 14 days, 5 shown, which take 88\.5 % of the time \(--limit\);/,
    );
    assert.match(
      narrow.stderr,
      /^\n14 tests in the last 14 days, 2 shown \(--limit\); --json has more\n$/,
    );
    const slower = await cli("slow --org acme --sort slower", { columns: 100 });
    assert.match(slower.stdout, /4 s to 8 s +c000011\.\.c000012 +became slower/);
    assert.match(
      slower.stderr,
      /^\n1 test that became slower in the last 14 days; --json has more\n$/,
    );
    const none = await cli("slow --org acme --sort slower --branch topic", { columns: 80 });
    assert.equal(none.stdout, "");
    assert.match(
      none.stderr,
      /^no test became slower in the last 14 days \(at least 20 runs on 3 days/,
    );
  });

  it("say on the page of a test how long it takes", async () => {
    const html = await (await fixture.get(`/tests/${id("long")}`)).text();
    assert.match(html, /Duration by week/);
    assert.match(html, /1 m, at the 90th percentile 2 m, of the latest 20 runs/);
  });

  it("have a page", async () => {
    const response = await fixture.get("/repos/acme/shop/slow-tests?sort=slower");
    assert.equal(response.status, 200);
    const html = await response.text();
    assert.match(html, /became slower/);
    assert.match(html, /4 s → 8 s/);
    assert.match(html, /c000011/);
    assert.doesNotMatch(html, /steady 3/);
  });

  it("have medians by week of the branch that the page is about", async () => {
    const { shop } = shopFixture;
    // Before the window, in which the other figures are.
    const upload = { recordedAt: NOW - 20 * DAY, commitOid: "d000000", branch: "old" };
    await fixture.upload(shop, [{ name: "long", durationMicroseconds: 13_000_000 }], upload);
    const read = async (query: string) =>
      await (await fixture.get(`/repos/acme/shop/slow-tests?${query}`)).text();
    assert.match(await read("sort=median"), /oldest first: none, none, none, 13 s, none, /);
    assert.match(await read("sort=median"), /<small>13 s → 1 m<\/small>/);
    assert.doesNotMatch(await read("sort=median&branch=main"), /13 s/);
  });

  it("are counted as they are printed outside of a terminal", async () => {
    const many = await fixture.addRepository("acme", "many");
    const tests = Array.from({ length: 30 }, (_, number) => ({
      name: `case ${number}`,
      durationMicroseconds: number === 0 ? 6_000_000 : 10_000,
    }));
    await fixture.upload(many, tests);
    const cli = commandLine(database, { now: () => NOW });
    const { stdout, stderr } = await cli("slow --org acme --repo acme/many");
    assert.equal(stdout.trimEnd().split("\n").length, 25);
    assert.equal(stderr, "30 tests in the last 14 days, 25 shown (--limit); --json has more\n");
  });

  it("of several repositories are one list", async () => {
    const web = await fixture.addRepository("acme", "web");
    await fixture.upload(web, [{ name: "longest", durationMicroseconds: 90_000_000 }]);
    const cli = commandLine(database, { now: () => NOW });
    const { stdout } = await cli("slow --org acme --sort median --limit 2 --json");
    const tests: { name: string; repository: string }[] = JSON.parse(stdout);
    assert.deepEqual(tests.map(({ name, repository }) => [name, repository]), [
      ["longest", "acme/web"],
      ["long", "acme/shop"],
    ]);
  });
});
