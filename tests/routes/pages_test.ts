import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { describeWithDatabase } from "../database.ts";
import { HOSTILE } from "../lib/html/hostile.ts";
import {
  createFixture,
  DAY,
  type Fixture,
  flaky,
  idOf,
  NOW,
  quarantine,
  request,
} from "./fixture.ts";
import { assertHarmless, type Html, parseHtml } from "./html.ts";

/** More than one line of each table, some of everything that a report can say. */
const TEXTS = HOSTILE.map(([text]) => text.replaceAll("\0", ""));

/** Reads a page, which must be harmless. */
async function readPage(fixture: Fixture, path: string, status = 200): Promise<Html> {
  const response = await fixture.get(path);
  assert.equal(response.status, status, path);
  assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
  const page = parseHtml(await response.text());
  assertHarmless(page);
  return page;
}

/** The addresses of all links, as a browser resolves them. */
function links(page: Html, path: string): string[] {
  return page.all("a").filter(({ attributes }) => !attributes.href!.startsWith("#"))
    .map(({ attributes }) => new URL(attributes.href!, `http://127.0.0.1${path}`))
    .filter(({ host }) => host === "127.0.0.1")
    .map(({ pathname, search }) => pathname + search);
}

/** Reads every page that links lead to from the list of repositories. */
async function readAll(fixture: Fixture): Promise<Set<string>> {
  const seen = new Set(["/repos"]);
  for (const path of seen) {
    if (path === "/docs" || path.startsWith("/docs/files/")) continue;
    const [, format] = /\.(csv|ndjson)(?:\?|$)/.exec(path) ?? [];
    if (format) {
      const response = await fixture.get(path);
      assert.equal(response.status, 200, path);
      assert.match(response.headers.get("content-type")!, new RegExp(format));
      await response.text();
      continue;
    }
    const page = await readPage(fixture, path);
    for (const link of links(page, path)) seen.add(link);
  }
  return seen;
}

describeWithDatabase("the pages", (database) => {
  let acme: Fixture;
  let empty: Fixture;
  let testId: string;
  let submissionId: string;

  before(async () => {
    acme = await createFixture(database(), { name: "acme" });
    empty = await createFixture(database(), { name: "empty" });
    const shop = await acme.addRepository("acme", "shop");
    const stored = await acme.upload(shop, [...flaky("pays"), { name: "quiet" }], {
      branch: "main",
      buildUrl: "https://ci.example.org/1",
      notes: ["b.xml: an empty file: left out"],
    });
    submissionId = stored.submissionId;
    testId = idOf(shop, { name: "pays" });
    await acme.addRepository("group/team", "shop");
    await acme.addRepository("group/team", "none");
  });

  const read = (path: string, status = 200, fixture = acme) => readPage(fixture, path, status);

  it("lead from the root to every other page, and each link works", async () => {
    const redirect = await acme.get("/");
    assert.deepEqual([redirect.status, redirect.headers.get("location")], [302, "repos"]);
    const seen = await readAll(acme);
    const kinds = new Set([...seen].map((path) => path.replace(/[.?].*/, "").split("/")[1]));
    const expected = ["docs", "flaky-tests", "owners", "repos", "tests"];
    assert.deepEqual([...kinds].sort(), expected);
    assert.ok(seen.has(`/tests/${testId}`));
    assert.ok(seen.has(`/repos/acme/shop/builds/${submissionId}`));
    assert.ok(seen.size > 20, `${seen.size} pages`);
  });

  it("show the line that quarantines a test, or releases it, with its own address", async () => {
    const page = await read(`/tests/${testId}`);
    assert.match(page.text, new RegExp(`-d test=${testId} -d expires=14d`));
    assert.match(page.text, /"\$UPLOAD_URL\/quarantine\/acme\/shop"/);
  });

  it("have the same links below a path with a slash at its end", async () => {
    const plain = links(await read("/repos/acme/shop"), "/repos/acme/shop");
    assert.deepEqual(links(await read("/repos/acme/shop/"), "/repos/acme/shop/"), plain);
  });

  it("find a repository by its name, and lead to the list if there are several", async () => {
    for (const [name, location] of [["NONE", "repos/group%2Fteam/none"], ["shop", "repos"]]) {
      const { status, headers } = await acme.get(`/repos/${name}`);
      assert.deepEqual([status, headers.get("location")], [302, `../${location}`]);
    }
  });

  it("say how to sign in", async () => {
    for (const path of ["/", "/repos", "/flaky-tests", `/tests/${testId}`]) {
      const response = await acme.app(request(path));
      assert.equal(response.status, 401);
      assert.match(response.headers.get("www-authenticate") ?? "", /^Basic realm="/);
      const page = parseHtml(await response.text());
      assert.match(
        page.all("main")[0]!.text,
        /^Sign in ?Reload .* password, .*\. .* token create .*\.$/,
      );
      assert.deepEqual(page.all("main")[0]!.all("a"), []);
    }
    const wrong = `Basic ${btoa(`any:${acme.token.slice(0, -1)}`)}`;
    const refused = await acme.app(request("/repos", { authorization: wrong }));
    assert.equal(refused.status, 401);
    assert.match(parseHtml(await refused.text()).text, /The token was not accepted: it is unknown/);
    const basic = `Basic ${btoa(`any:${acme.token}`)}`;
    assert.equal((await acme.app(request("/repos", { authorization: basic }))).status, 200);
  });

  it("do not show data of another organization", async () => {
    for (const path of ["/repos/acme/shop", "/repos/shop", `/tests/${testId}`]) {
      const page = await read(path, 404, empty);
      assert.match(page.text, /Not found/);
    }
    assert.doesNotMatch((await read("/repos", 200, empty)).text, /shop/);
  });

  it("name the next step where there is nothing to show", async () => {
    for (const path of ["/repos", "/tests", "/flaky-tests", "/flaky-tests?quarantine=false"]) {
      assert.match(
        (await read(path, 200, empty)).text,
        /Nothing has been uploaded.*curl --retry 5 --fail-with-body .*\/upload\/OWNER\/NAME\?commit=/,
        path,
      );
    }
    assert.match(
      (await read("/repos/group%2Fteam/none")).text,
      /\/upload\/group\/team\/none\?commit=/,
    );
    assert.match((await read("/flaky-tests?q=nothing")).text, /Remove a word/);
  });

  it("name wrong parameters and unknown resources", async () => {
    const page = await read("/flaky-tests?q=tags:&limit=0&sort=x", 400);
    assert.equal(page.all(".error").length, 3);
    for (
      const path of [
        "/repos/nix",
        "/repos/acme/nix",
        "/tests/x",
        `/tests/${"0".repeat(24)}`,
        "/flaky-tests?repository=nix",
        "/repos/acme/%ff",
      ]
    ) {
      const response = await acme.get(path);
      assert.equal(response.status, 404, path);
      await response.body?.cancel();
    }
  });

  it("show of a build the latest attempt of each test, in whichever upload it was", async () => {
    const again = await acme.addRepository("acme", "again");
    const failed = (name: string) => ({ name, conclusion: "failure" as const, message: "broke" });
    const buildUrl = "https://ci.example.org/again";
    const upload = (results: Parameters<typeof acme.upload>[1], secondsAgo: number) =>
      acme.upload(again, results, { buildUrl, recordedAt: NOW - secondsAgo });
    await upload([failed("fixed"), failed("broken"), failed("skipped later")], 300);
    await upload(
      [{ name: "fixed" }, failed("broken"), { name: "skipped later", conclusion: "skipped" }],
      200,
    );
    const { submissionId } = await upload(
      [failed("then skipped"), { name: "then skipped", conclusion: "skipped" }],
      100,
    );
    const page = await read(`/repos/acme/again/builds/${submissionId}`);
    const [failures, retried] = page.text.split("Passed after a retry");
    assert.match(failures!, /3 of 4 tests failed: 3 are probably yours\./);
    for (const name of ["broken", "skipped later", "then skipped"]) {
      assert.ok(failures!.includes(name), name);
      assert.ok(!retried!.includes(name), name);
    }
    assert.ok(retried!.includes("fixed") && !failures!.includes("fixed"));
  });

  it("show builds that were recorded up to 24 hours ahead, and failures without a message", async () => {
    const ahead = await acme.addRepository("acme", "ahead");
    const failures = ["one", "two"].map((name) => ({ name, conclusion: "failure" as const }));
    await acme.upload(ahead, failures, { recordedAt: NOW + DAY - 60 });
    const page = await read("/repos/acme/ahead");
    assert.match(page.text, /Builds by day[^]*22 Sep: 1 failed, 0 flaky/);
    assert.match(page.text, /Builds by day\s+\d+ builds? since \d+ \w+/);
    assert.doesNotMatch(page.text, /Without a message/);
    await acme.upload(ahead, failures, { recordedAt: NOW - 40 * DAY, commitOid: "abcdef1" });
    // They count for the week that ends today.
    assert.match(
      (await read("/repos/acme/ahead?days=90")).text,
      /Builds by week[^]*15 Sep: 1 failed/,
    );
  });

  it("say since which day a test is flaky for the first time", async () => {
    const weeks = await acme.addRepository("acme", "weeks");
    await acme.upload(weeks, flaky("a week ago"), { recordedAt: NOW - 7 * DAY + 60 });
    await acme.upload(weeks, flaky("earlier"), {
      recordedAt: NOW - 16 * DAY,
      commitOid: "abcdef1",
    });
    const page = await read("/repos/acme/weeks");
    const list = page.text.slice(page.text.indexOf("New flaky tests since 8 Sep"));
    assert.match(list, /a week ago/);
    assert.doesNotMatch(list.slice(0, list.indexOf("Builds by day")), /earlier/);
  });

  it("say what was left out of a build, and whether its change is probably the cause", async () => {
    const page = await read(`/repos/acme/shop/builds/${submissionId}`);
    assert.match(page.text, /Notes on the uploads\s*b\.xml: an empty file: left out/);
    assert.match(page.text, /tests? failed: /);
  });

  it("count all failures of a build, and show the first of them", async () => {
    const many = await acme.addRepository("acme", "many");
    const { submissionId } = await acme.upload(
      many,
      Array.from({ length: 250 }, (_, index) => (
        { name: `test ${index}`, conclusion: "failure" as const, message: `broke ${index}` }
      )),
    );
    const page = await read(`/repos/acme/many/builds/${submissionId}`);
    assert.match(page.text, /250 new/);
    assert.equal(page.all(".cause").length, 100);
    assert.match(page.text, /And 150 more tests\./);
  });

  it("keep the form of a wrong filter, with the message at its field", async () => {
    const wrong: [query: string, status: number, field: string, message: RegExp][] = [
      ["q=last-seen:tomorrow&branch=main", 400, "q", /term 1/],
      ["repository=acme/none&branch=main", 404, "repository", /no such repository/],
      ["repository=%20&branch=main", 404, "repository", /no such repository/],
    ];
    for (const [query, status, field, message] of wrong) {
      const page = await read(`/flaky-tests?quarantine=false&${query}`, status);
      const input = page.all("input").find(({ attributes }) => attributes.id === field)!;
      assert.equal(input.attributes["aria-invalid"], "true", query);
      const given = new URLSearchParams(query);
      assert.equal(input.attributes.value, given.get(field));
      const described = input.attributes["aria-describedby"];
      const shown = page.all(".error").find(({ attributes }) => attributes.id === described);
      assert.match(shown!.text, message);
      const branch = page.all("input").find(({ attributes }) => attributes.id === "branch")!;
      assert.equal(branch.attributes.value, "main");
      // The other list is asked for with what is right.
      const views = page.all(".views")[0]!.all("a").map(({ text, attributes }) => [
        text,
        attributes["aria-current"],
        new URL(attributes.href!, "http://x/").searchParams.has(field),
      ]);
      assert.deepEqual(views, [["Flaky", "page", false], ["Quarantined", undefined, false]]);
    }
    const limit = await read("/flaky-tests?limit=0", 400);
    assert.match(limit.text, /limit: invalid limit "0"/);
  });

  it("show in the navigation where one is, even if a parameter is wrong", async () => {
    const places: [path: string, status: number, section: string][] = [
      ["/flaky-tests?quarantine=false&sort=zz", 400, "Flaky tests"],
      ["/flaky-tests?days=5", 400, "Flaky tests"],
      ["/repos?sort=zz", 400, "Repositories"],
      ["/repos/acme/shop/builds?outcome=zz", 400, "Repositories"],
      ["/tests?repository=acme/nope", 404, "Tests"],
    ];
    for (const [path, status, section] of places) {
      const page = await read(path, status);
      const current = page.all("nav")[0]!.all("a").filter(({ attributes }) =>
        attributes["aria-current"]
      );
      assert.deepEqual(current.map(({ text }) => text), [section], path);
    }
  });

  it("lead from addresses of the earlier service to the repository", async () => {
    for (
      const path of [
        "/coverage?repository=acme/shop",
        "/coverage?repository=SHOP&repository_id=1",
      ]
    ) {
      const response = await acme.get(path);
      assert.equal(response.status, 302, path);
      const location = new URL(response.headers.get("location")!, `http://x${path}`);
      assert.equal(location.pathname, "/repos/acme/shop", path);
    }
    assert.equal((await acme.get("/coverage?repository=missing")).status, 404);
  });

  it("answer a mistyped address with a page, and no question for the token", async () => {
    const authorization = `Basic ${btoa(`:${acme.token}`)}`;
    const browser = { authorization, accept: "text/html,*/*" };
    const page = await acme.get("/repositories", browser);
    assert.equal(page.status, 404);
    assert.match(await page.text(), /<h1>Not found<\/h1>/);
    // Other clients sign in as they do for the API.
    const client = await acme.get("/repositories", { authorization });
    assert.equal(client.status, 401);
    const unknown = await acme.get("/repositories", { authorization: "", accept: "text/html" });
    assert.deepEqual([unknown.status, unknown.headers.get("www-authenticate")], [401, "Bearer"]);
    // With a token that is no longer valid it asks for another one.
    const revoked = { authorization: `Basic ${btoa(":revoked")}`, accept: "text/html" };
    const asked = await acme.get("/repositories", revoked);
    assert.equal(asked.status, 401);
    assert.match(asked.headers.get("www-authenticate")!, /^Basic realm=/);
  });

  it("say what is unknown about a build, and do not count a failed upload", async () => {
    const odd = await acme.addRepository("acme", "odd");
    const failures = ["a", "b"].map((name) => ({ name, conclusion: "failure" as const }));
    const { submissionId } = await acme.upload(odd, failures, { buildUrl: "job <7>" });
    const build = await read(`/repos/acme/odd/builds/${submissionId}`);
    assert.match(build.text, /CI run\s*job <7>/);
    const failedId = "6ab1".padEnd(24, "0");
    await database().sql`
      insert into submission (repository_id, submission_id, recorded_at, uploaded_at, status, key,
        commit_oid, data_version)
      values (${odd.repositoryId}, decode(${failedId}, 'hex'),
        to_timestamp(${NOW}), to_timestamp(${NOW}), 'failed', 'k', 'c', 1)`;
    const repository = await read("/repos/acme/odd");
    assert.match(repository.text, /upload failed/);
    // Failures without a text have no cause that could be shared.
    assert.doesNotMatch(repository.text, /Without a message/);
    const failed = await read(`/repos/acme/odd/builds/${failedId}`);
    assert.match(failed.text, /could not be read/);
    assert.doesNotMatch(failed.text, /second attempt/);
    const half = await acme.addRepository("acme", "half");
    await acme.upload(half, failures, { buildUrl: "job 8" });
    await database().sql`
      insert into submission (repository_id, submission_id, recorded_at, uploaded_at, status, key,
        commit_oid, build_url, data_version)
      values (${half.repositoryId}, decode(${failedId}, 'hex'),
        to_timestamp(${NOW}), to_timestamp(${NOW}), 'failed', 'k', 'c', 'job 8', 1)`;
    for (const path of ["/repos/acme/half", "/repos/acme/half/builds"]) {
      assert.match((await read(path)).text, /2 failed\s*, upload failed/, path);
    }
  });

  it("revalidate with entity tags, and change with the day", async () => {
    for (const path of ["/repos", "/repos/acme/shop", "/flaky-tests", `/tests/${testId}`]) {
      const etag = (await acme.get(path)).headers.get("etag")!;
      assert.equal((await acme.get(path, { "if-none-match": etag })).status, 304);
      acme.clock.now += 24 * 3600;
      const tomorrow = await acme.get(path, { "if-none-match": etag });
      acme.clock.now = NOW;
      assert.equal(tomorrow.status, 200, path);
      await tomorrow.body?.cancel();
    }
  });

  it("are at most 60 kB compressed, style included", async () => {
    for (const path of ["/repos", "/repos/acme/shop", "/flaky-tests", `/tests/${testId}`]) {
      const response = await acme.get(path, { "accept-encoding": "gzip" });
      const bytes = new Uint8Array(await response.arrayBuffer());
      assert.equal(response.headers.get("content-encoding"), "gzip");
      assert.ok(bytes.length < 60_000 && gunzipSync(bytes).length > 8_000, `${bytes.length} bytes`);
    }
  });
});

// How texts are escaped does not depend on the database, and their pages are hundreds.
describeWithDatabase("the pages of hostile texts", (database) => {
  let acme: Fixture;
  let hostile: Repository;

  before(async () => {
    acme = await createFixture(database(), { name: "hostile" });
    hostile = await acme.addRepository("acme", "hostile <b>");
    for (const [index, text] of TEXTS.entries()) {
      await acme.upload(
        hostile,
        [text, TEXTS[(index + 1) % TEXTS.length]!].flatMap((name) =>
          flaky(name, { suite: text, class: text, file: `${text}.py`, body: text })
        ).map((result) => result.message ? { ...result, message: text } : result),
        {
          branch: text,
          tags: [text.replaceAll(/[\s,]/g, "-")],
          buildUrl: index % 2 === 0 ? "javascript:alert(1)" : "https://ci.example.org/?<b>",
          commitOid: text,
          recordedAt: NOW - 100 - index,
          notes: [text],
        },
      );
    }
    const first = { name: TEXTS[0]!, suite: TEXTS[0]!, class: TEXTS[0]!, file: `${TEXTS[0]!}.py` };
    await quarantine(database(), idOf(hostile, first), { quarantinedBy: TEXTS[1]! });
  });

  const read = (path: string) => readPage(acme, path);

  it("are harmless, and each link works", async () => {
    const seen = await readAll(acme);
    assert.ok(seen.size > 100, `${seen.size} pages`);
  });

  it("show the line that quarantines a test with an address that can be pasted", async () => {
    const hostileId = idOf(hostile, {
      name: TEXTS[0]!,
      suite: TEXTS[0]!,
      class: TEXTS[0]!,
      file: `${TEXTS[0]!}.py`,
    });
    const { text } = await read(`/tests/${hostileId}`);
    assert.match(text, new RegExp(`-X DELETE -G .*/acme/hostile%20%3Cb%3E/${hostileId}"`, "s"));
  });

  it("show hostile texts as text", async () => {
    const repository = `/repos/acme/${encodeURIComponent("hostile <b>")}`;
    const page = await read(repository);
    const shown = page.text;
    for (
      const text of [
        "<script>alert(1)</script>",
        "invoice[U+202E]fdp.exe",
        "[U+001B]]0;title[U+0007]",
      ]
    ) {
      assert.ok(shown.includes(text), text);
    }
    const external = page.all("a").map(({ attributes }) => attributes.href!)
      .filter((href) => /^[a-z]+:/.test(href));
    assert.deepEqual(external, []);
    for (const link of links(page, repository).filter((path) => path.startsWith("/tests/"))) {
      await read(link);
    }
  });
});
