import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { describeWithDatabase } from "../database.ts";
import { StatementRecorder } from "../db/statements/recorder.ts";
import { createShop, type Fixture, idOf, NOW, quarantine, release } from "./fixture.ts";
import { parseHtml } from "./html.ts";

const recorder = new StatementRecorder();

describeWithDatabase("tests that fail together in the list of flaky tests", (database) => {
  let fixture: Fixture;

  before(async () => {
    let shop;
    ({ fixture, shop } = await createShop(database()));
    const other = await fixture.addRepository("acme", "web");
    const fail = (message: string, ...names: string[]) =>
      names.flatMap((name) => [
        { name, conclusion: "failure" as const, message, body: message },
        { name },
      ]);
    await fixture.upload(shop, [
      ...fail("database is away", "reads", "writes", "deletes"),
      ...fail("expected 1, found 2", "adds"),
    ], { recordedAt: NOW - 100 });
    for (const place of [1, 2, 3]) {
      await fixture.upload(shop, [{ name: "reads" }], { recordedAt: NOW - 80 + place });
    }
    // Another repository has another fault, whatever its message.
    await fixture.upload(other, fail("database is away", "logs in"), { recordedAt: NOW - 90 });
  });

  it("are found among the builds of submissions with failures, not among all", async () => {
    recorder.take();
    await fixture.get("/flaky-tests?quarantine=false&days=14");
    const [builds] = recorder.take().filter(({ text }) =>
      text.includes(" as build from submission")
    );
    const rows = await database().sql.unsafe(builds!.text, [...builds!.parameters] as string[]);
    assert.equal(rows.length, 2);
  });

  it("are one row, which names the others when it is opened", async () => {
    const page = parseHtml(await (await fixture.get("/flaky-tests?quarantine=false")).text());
    assert.match(page.text, /5 tests in 3 rows; figures of the last 14 days/);
    const rows = page.all("tbody").flatMap((body) => body.all("tr"));
    assert.equal(rows.length, 3);
    const [together] = rows.filter(({ text }) => /and 2 more that fail the same way/.test(text));
    assert.equal(together!.all("details").length, 1);
    // The builds are those of all tests of a row, the failures those of the first.
    assert.match(together!.text, /1together/);
    for (const name of ["reads", "writes", "deletes"]) assert.match(together!.text, RegExp(name));
  });

  it("have the commands that quarantine all of them, if no one may act on the page", async () => {
    const list = parseHtml(await (await fixture.get("/flaky-tests?quarantine=false")).text());
    const [link] = list.all("a").filter(({ text }) => text === "Quarantine all 3");
    const path = `/${link!.attributes.href}`;
    const page = parseHtml(await (await fixture.get(path)).text());
    assert.equal(page.all("tbody").flatMap((body) => body.all("tr")).length, 1);
    assert.match(page.text, /3 tests in 1 row/);
    const [overHttp, onServer] = page.all("pre").map(({ text }) => text);
    assert.match(overHttp!, /^for test in \\ ([0-9a-f]{24} ){3}do curl /);
    assert.match(overHttp!, /-d "test=\$test" .*"\$UPLOAD_URL\/quarantine\/acme\/shop" done$/);
    assert.match(onServer!, / do test-analytics quarantine add "\$test" .* done$/);
    const none = await fixture.get("/flaky-tests?quarantine=false&together=x");
    assert.match(await none.text(), /Nothing matches/);
  });

  it("count as one row for the pages of the list", async () => {
    const read = async (query: string) =>
      parseHtml(await (await fixture.get(`/flaky-tests?quarantine=false&${query}`)).text());
    const first = await read("limit=2");
    assert.equal(first.all("tbody").flatMap((body) => body.all("tr")).length, 2);
    const next = first.all("a").find(({ text }) => /next/i.test(text))!;
    const after = new URL(next.attributes["href"]!, "http://x").searchParams.get("after");
    const second = await read(`limit=2&after=${after}`);
    assert.equal(second.all("tbody").flatMap((body) => body.all("tr")).length, 1);
  });

  it("fail with each other only if they failed in the same runs", async () => {
    const shop = await fixture.addRepository("acme", "timeouts");
    const fail = (name: string, message: string) => [
      { name, conclusion: "failure" as const, message, body: message },
      { name },
    ];
    const timeout = "timed out after 5000 ms";
    for (
      const [place, results] of [
        ...["login", "search", "upload"].map((name) => fail(name, timeout)),
        ...[1, 2, 3].map((
          no,
        ) => [...fail("reads", `no row ${no}`), ...fail("writes", `row ${no}`)]),
      ].entries()
    ) {
      const commitOid = `e${place}`.padEnd(7, "0");
      await fixture.upload(shop, results, { commitOid, recordedAt: NOW - 500 + place });
    }
    const summaries = async (path: string) =>
      parseHtml(await (await fixture.get(path)).text()).all("summary")
        .flatMap(({ text }) => /and \d more .*/.exec(text)?.[0] ?? []);
    const words = ["and 1 more that fails with it", "and 2 more that fail the same way"];
    const list = "/flaky-tests?quarantine=false&repository=acme/timeouts";
    assert.deepEqual((await summaries(list)).sort(), words);
    // Of those that cost the most builds, and of what to repair first.
    const own = await summaries("/repos/acme/timeouts");
    assert.deepEqual(own.sort(), [words[0], words[0], words[1], words[1]]);
  });

  it("show the quarantine entry of the first, and that the others have other ones", async () => {
    const shop = await fixture.addRepository("acme", "entries");
    const names = ["q1", "q2"];
    const failing = names.flatMap((name) => [
      { name, conclusion: "failure" as const, message: "away" },
      { name },
    ]);
    for (const place of [0, 1, 2]) {
      await fixture.upload(shop, failing, {
        commitOid: `d${place}`.padEnd(7, "0"),
        recordedAt: NOW - 90 + place,
      });
    }
    const read = async () =>
      parseHtml(
        await (await fixture.get("/flaky-tests?quarantine=true&repository=acme/entries")).text(),
      ).text;
    for (const name of names) await quarantine(database(), idOf(shop, { name }));
    const same = await read();
    assert.match(same, /and 1 more that fails .*End: never\./s);
    assert.doesNotMatch(same, /other entries/);
    await release(database(), idOf(shop, { name: "q2" }));
    await quarantine(database(), idOf(shop, { name: "q2" }), { quarantineOwner: "eve" });
    assert.match(await read(), /The others have other entries\./);
  });

  it("fail with each other, too, if each of them fails in the same runs as a test that is not shown", async () => {
    const summariesOf = async (name: string, isRetried: boolean, path: string) => {
      const repository = await fixture.addRepository("acme", name);
      const fail = (name: string, withPass = true) => [
        { name, conclusion: "failure" as const, message: `${name} is away` },
        ...withPass ? [{ name }] : [],
      ];
      for (const place of Array(6).keys()) {
        const own = fail(place < 3 ? "shown first" : "shown second");
        await fixture.upload(repository, [...own, ...fail("hidden", isRetried)], {
          commitOid: `f${place}`.padEnd(7, "0"),
          recordedAt: NOW - 500 + place,
        });
      }
      return parseHtml(await (await fixture.get(path)).text()).all("summary")
        .flatMap(({ text }) => /and \d more .*/.exec(text)?.[0] ?? []);
    };
    const list = "/flaky-tests?quarantine=false&repository=acme/one-searched&q=shown";
    assert.deepEqual(await summariesOf("one-searched", true, list), [
      "and 1 more that fails with it",
    ]);
    // Of those that cost the most builds, where one is not flaky, and of what to repair first.
    assert.deepEqual(await summariesOf("one-red", false, "/repos/acme/one-red"), [
      "and 1 more that fails with it",
      "and 2 more that fail with it",
    ]);
  });

  it("are sorted by the builds that they cost, each once, unless another order is chosen", async () => {
    const shop = await fixture.addRepository("acme", "sorted");
    const fail = (name: string, message: string) => [
      { name, conclusion: "failure" as const, message, body: message },
      { name },
    ];
    const upload = (build: number, age: number, ...results: ReturnType<typeof fail>[]) =>
      fixture.upload(shop, results.flat(), {
        commitOid: `e${build}`.padEnd(7, "0"),
        buildUrl: `https://ci.example.org/${build}/`,
        recordedAt: NOW - age,
      });
    await upload(1, 500, fail("often", "one"), fail("with it", "one"));
    await upload(2, 400, fail("often", "one"));
    // Two uploads of one build.
    await upload(3, 300, fail("once", "two"));
    await upload(3, 200, fail("once", "two"));
    const rows = async (query = "") => {
      const path = `/flaky-tests?quarantine=false&repository=acme/sorted${query}`;
      const page = parseHtml(await (await fixture.get(path)).text());
      return page.all("tbody").flatMap((body) => body.all("tr")).map((row) => [
        row.all("bdi")[0]!.text,
        parseInt(row.all("td")[0]!.text),
      ]);
    };
    assert.deepEqual(await rows(), [["often", 2], ["once", 1]]);
    assert.deepEqual(await rows("&sort=recency"), [["once", 1], ["often", 2]]);
  });
}, { onStatement: recorder.onStatement });
