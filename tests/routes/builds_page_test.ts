import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { type BuildRow, loadBuilds } from "../../db/read/builds.ts";
import type { Repository } from "../../db/admin/repositories.ts";
import { describeWithDatabase } from "../database.ts";
import { createFixture, DAY, type Fixture, flaky, idOf, NOW } from "./fixture.ts";
import { type Html, parseHtml } from "./html.ts";

const OID = "24d0c8b000000000000000000000000000000001";
const PATH = "/repos/acme/shop/builds";

describeWithDatabase("the page of builds", (database) => {
  let acme: Fixture;
  let shop: Repository;

  before(async () => {
    acme = await createFixture(database(), { name: "acme" });
    shop = await acme.addRepository("acme", "shop");
    await database().sql`
      update repository set url = 'https://gitlab.com/acme/shop'
      where repository_id = ${shop.repositoryId}`;
    const upload = (
      build: number,
      results: Parameters<Fixture["upload"]>[1],
      more: Parameters<Fixture["upload"]>[2] = {},
    ) =>
      acme.upload(shop, results, {
        buildUrl: `https://ci.example.org/shop/${build}/`,
        recordedAt: NOW - 1_000 + build,
        commitOid: OID.slice(0, -3) + String(100 + build),
        branch: "main",
        ...more,
      });
    await upload(1, [{ name: "a" }], { environment: "Linux-X64" });
    // Two shards, of which one is flaky and one has a failure.
    await upload(2, flaky("b").reverse(), { branch: "refs/merge-requests/77/head" });
    await upload(2, [{ name: "c", conclusion: "failure", message: "x" }], {
      branch: "refs/merge-requests/77/head",
      environment: "Windows-X64",
    });
    await upload(3, flaky("a").reverse(), { branch: "feature/a", pullNumber: 12 });
    await upload(4, [{ name: "a" }], { recordedAt: NOW - 20 * DAY });
  });

  async function read(query = "", status = 200): Promise<Html> {
    const response = await acme.get(PATH + query);
    assert.equal(response.status, status, query);
    return parseHtml(await response.text());
  }

  const rows = (page: Html) => page.all("tbody")[0]?.all("tr") ?? [];
  const names = (page: Html) => rows(page).map((row) => row.all("th")[0]!.text.trim());

  it("shows each build once, newest first, by its name and with its outcome", async () => {
    const page = await read();
    assert.deepEqual(names(page), [
      "feature/a · pull/12 · 24d0c8b · #3",
      "merge-requests/77 · 24d0c8b · #2",
      "main · 24d0c8b · #1",
    ]);
    assert.match(page.text, /3 builds/);
    const outcomes = rows(page).map((row) => row.all("td")[0]!.text.trim());
    assert.deepEqual(outcomes, ["1 flaky", "1 failed, 1 flaky", "passed"]);
  });

  it("shows an upload without a build as failed if a test failed after it had passed", async () => {
    const repository = await acme.addRepository("acme", "alone");
    await acme.upload(repository, flaky("a"), { buildUrl: "", recordedAt: NOW - 10 });
    await acme.upload(repository, flaky("b").reverse(), { buildUrl: "", recordedAt: NOW - 20 });
    const list = async (outcome: string) => {
      const path = `/repos/acme/alone/builds.csv?outcome=${outcome}`;
      return (await (await acme.get(path)).text()).trim().split("\n").length - 1;
    };
    assert.deepEqual([await list("all"), await list("failed"), await list("passed")], [2, 1, 0]);
  });

  it("links to the pull request as CI said", async () => {
    const [first] = rows(await read("?q=%2312"));
    const links = first!.all("a").map(({ text, attributes }) => [text.trim(), attributes.href]);
    assert.deepEqual(links[2], ["#12", "https://gitlab.com/acme/shop/-/merge_requests/12"]);
  });

  it("links to the forge and to the CI service", async () => {
    const [, second] = rows(await read());
    const links = second!.all("a").map(({ text, attributes }) => [text.trim(), attributes.href]);
    assert.deepEqual(links.slice(1), [
      ["commit", `https://gitlab.com/acme/shop/-/commit/${OID.slice(0, -3)}102`],
      ["merge-requests/77", "https://gitlab.com/acme/shop/-/merge_requests/77"],
      ["CI run", "https://ci.example.org/shop/2/"],
    ]);
    const page = await acme.get(new URL(links[0]![1]!, `http://x${PATH}`).pathname);
    assert.equal(page.status, 200);
    const build = parseHtml(await page.text());
    assert.match(build.all("h1")[0]!.text, /Build merge-requests\/77 · 24d0c8b · #2/);
  });

  it("names pull requests like the page of a test", async () => {
    const response = await acme.get(`/tests/${idOf(shop, { name: "b" })}`);
    const [main] = parseHtml(await response.text()).all("main");
    assert.match(
      main!.text,
      /Results by branch, last 14 days\s+BranchResultsFailuresFailed\s*merge-requests\/77/,
    );
    assert.doesNotMatch(main!.text, /refs\//);
  });

  it("selects by branch, environment, outcome and time", async () => {
    const main = "main · 24d0c8b · #1";
    const feature = "feature/a · pull/12 · 24d0c8b · #3";
    for (
      const [query, expected] of [
        ["?branch=feature/*", [feature]],
        ["?environment=Linux*", [main]],
        ["?outcome=passed", [main]],
        ["?outcome=flaky&branch=feature/a", [feature]],
        ["?outcome=failed", ["merge-requests/77 · 24d0c8b · #2"]],
        ["?days=30&branch=main", [main, "main · 24d0c8b · #4"]],
        ["?branch=none", []],
        ["?q=24D0C8B+main", [main]],
        [`?q=${OID.slice(0, -3)}103`, [feature]],
        ["?q=d0c8b", []],
        ["?q=24d", []],
        // A pull request, and a run of CI.
        ["?q=%2377", ["merge-requests/77 · 24d0c8b · #2"]],
        ["?q=3", [feature]],
        ["?q=7", []],
        ["?q=https://ci.example.org/shop/1/&branch=main", [main]],
        ["?q=%25_%00", []],
      ] as const
    ) assert.deepEqual(names(await read(query)), expected, query);
    assert.match((await read("?branch=none")).text, /No build matches/);
  });

  it("shows builds of the range with their earlier submissions", async () => {
    const edge = await acme.addRepository("acme", "edge");
    const since = NOW - 14 * DAY;
    const upload = async (
      branch: string,
      results: Parameters<Fixture["upload"]>[1],
      more: Parameters<Fixture["upload"]>[2] & { recordedAt: number },
    ) =>
      await acme.upload(edge, results, {
        buildUrl: `https://ci.example.org/edge/${branch}`,
        commitOid: OID,
        branch,
        ...more,
      });
    const failed = [{ name: "a", conclusion: "failure", message: "x" }] as const;
    const passed = [{ name: "b" }];
    // In every build but one a job passes in the range. Before it:
    for (const branch of ["unit", "days", "day", "other", "red", "windows"]) {
      await upload(branch, passed, { recordedAt: since + 3_600, job: "e2e", environment: "Linux" });
    }
    // Another job failed, also on another day.
    await upload("unit", [...failed], { recordedAt: since - 3_600, job: "unit" });
    await upload("days", [...failed], { recordedAt: since - 47 * 3_600, job: "unit" });
    // Another commit, within a day and long before.
    const other = { job: "unit", commitOid: OID.replace("1", "2") };
    await upload("day", [...failed], { ...other, recordedAt: since - 3_600 });
    await upload("other", [...failed], { ...other, recordedAt: since - 24 * 3_600 });
    // A command that failed, and not when it was run again.
    const tool = { job: "tool", environment: "Linux" };
    await upload("red", passed, { ...tool, recordedAt: since - 60, attempt: "1", exitCode: 1 });
    await upload("red", passed, { ...tool, recordedAt: since + 60, attempt: "2", exitCode: 0 });
    // Another environment.
    await upload("windows", [...failed], { recordedAt: since - 60, environment: "Windows" });
    // The whole build.
    await upload("before", [...failed], { recordedAt: since - 60 });

    const list = async (query: string) => {
      const response = await acme.get(`/repos/acme/edge/builds.ndjson${query}`);
      const text = (await response.text()).trim();
      return Object.fromEntries(
        text.split("\n").filter(Boolean).map((line) => JSON.parse(line)).map((build) =>
          [build.branch, [build.outcome, build.submission_count]] as const
        ),
      );
    };
    const [red, green] = [{
      unit: ["failed", 2],
      days: ["failed", 2],
      day: ["failed", 2],
      windows: ["failed", 2],
    }, { other: ["passed", 1], red: ["passed", 3] }];
    assert.deepEqual(await list(""), { ...red, ...green });
    assert.deepEqual(await list("?outcome=failed"), red);
    assert.deepEqual(await list("?outcome=passed"), green);
    assert.deepEqual(await list("?environment=Windows"), {});
    assert.deepEqual(Object.keys(await list("?days=7")), []);
    assert.deepEqual((await list("?days=30")).before, ["failed", 1]);
  });

  it("keeps the form when a parameter is wrong", async () => {
    const page = await read(`?branch=${"a,".repeat(3)}b&environment=${"x".repeat(2_001)}`, 400);
    assert.match(page.text, /invalid environment/);
    const [, branch] = page.all(".filters")[0]!.all("input");
    assert.equal(branch!.attributes.value, "a,a,a,b");
    assert.match((await read("?days=3", 400)).text, /expected one of 14, 7, 30, 90(?!,)/);
  });

  it("separates thousands of failures, as of everything else", async () => {
    const large = await acme.addRepository("acme", "large");
    const results = Array.from({ length: 1_000 }, (_, index) => ({
      name: `t${index}`,
      conclusion: "failure" as const,
    }));
    await acme.upload(large, results, { recordedAt: NOW - 100 });
    for (const path of ["/repos/acme/large/builds", "/repos/acme/large"]) {
      const page = parseHtml(await (await acme.get(path)).text());
      assert.match(page.text, /1,000 failed/, path);
    }
  });

  it("leads from the page of the repository, of which everything has one range of time", async () => {
    const read = async (path: string, status = 200) => {
      const response = await acme.get(path);
      assert.equal(response.status, status, path);
      return parseHtml(await response.text());
    };
    const charts = (page: Html) => page.all(".pair").at(-1)!.text;
    const usual = await read("/repos/acme/shop");
    assert.doesNotMatch(charts(usual), /\b1 Sep\b/);
    assert.match(charts(usual), /21 Sep: 1 failed, 1 flaky, 1 passed/);
    assert.match(charts(await read("/repos/acme/shop?days=90")), /\b1 Sep\b/);
    const views = usual.all(".views")[0]!.all("a");
    assert.deepEqual(views.map(({ text, attributes }) => [text, attributes.href]), [
      ["14 days", "../../repos/acme/shop?days=14"],
      ["30 days", "../../repos/acme/shop?days=30"],
      ["90 days", "../../repos/acme/shop?days=90"],
    ]);
    const current = views.filter(({ attributes }) => attributes["aria-current"]);
    assert.deepEqual(current.map(({ text }) => text), ["14 days"]);
    const wrong = await read("/repos/acme/shop?days=8", 400);
    assert.match(wrong.text, /one of 14, 7, 30, 90(?!,)/);

    const old = await acme.addRepository("acme", "old");
    await acme.upload(old, flaky("rare"), { recordedAt: NOW - 20 * DAY });
    const quiet = await read("/repos/acme/old");
    assert.match(quiet.text, /No flaky failure in 0 builds of the last 14 days/);
    assert.match(quiet.text, /No test became flaky in the last 14 days/);
    assert.match(quiet.text, /No upload in the last 14 days/);
    const month = await read("/repos/acme/old?days=30");
    const rows = (caption: string) =>
      month.all(".scroll").filter(({ attributes }) => attributes["aria-label"] === caption)
        .flatMap((table) => table.all("tbody")[0]!.all("tr")).map(({ text }) => text);
    assert.match(rows("Tests that cost the most builds").join(), /rare.*1100 %1/);
    assert.match(rows("New flaky tests").join(), /rare/);
    assert.equal(rows("Recent builds").length, 1);
    // The 14 days of the badge, which no range changes, are named.
    assert.match(month.text, /0 of 0 builds in 14 days/);
    const [all] = month.all("a").filter(({ text }) => text === "All flaky tests");
    assert.match(all!.attributes.href!, /days=30/);
  });

  it("is a whole list as CSV and newline-delimited JSON, with the same filters", async () => {
    const read = async (query: string) => {
      const response = await acme.get(`${PATH}.ndjson${query}`);
      assert.equal(response.status, 200);
      const text = (await response.text()).trim();
      return text === "" ? [] : text.split("\n").map((line) => JSON.parse(line));
    };
    const builds = await read("");
    assert.deepEqual(builds.map(({ name, outcome }) => [name, outcome]), [
      ["feature/a · pull/12 · 24d0c8b · #3", "flaky"],
      ["merge-requests/77 · 24d0c8b · #2", "failed"],
      ["main · 24d0c8b · #1", "passed"],
    ]);
    const [, second] = builds;
    assert.equal(second.environments.join(), "Windows-X64");
    assert.equal(second.pull_request_url, "https://gitlab.com/acme/shop/-/merge_requests/77");
    assert.deepEqual([second.failed_test_count, second.flaky_test_count], [1, 1]);
    assert.equal((await read("?branch=main&days=90")).length, 2);
    assert.deepEqual(await read("?branch=none"), []);
    const csv = await (await acme.get(`${PATH}.csv?outcome=passed`)).text();
    assert.match(csv, /^id,name,outcome,.*\r\n[0-9a-f]{24},main · 24d0c8b · #1,passed,false,0,0,/);
  });

  it("is read in batches, each before the last build of the one before", async () => {
    const { repositoryId } = shop;
    const found: string[] = [];
    let before: string | null = null;
    do {
      const filter = { branches: null, environments: null };
      const query = {
        repositoryId,
        since: 0,
        filter,
        words: [],
        outcome: "all",
        offset: 0,
        limit: 1,
      } as const;
      const { builds }: { builds: BuildRow[] } = await loadBuilds(database().sql, {
        ...query,
        before,
      });
      found.push(...builds.map(({ branch }) => branch));
      before = builds[0]?.submissionId ?? null;
    } while (before !== null);
    assert.deepEqual(found, ["feature/a", "refs/merge-requests/77/head", "main", "main"]);
  });

  it("is paged in both directions, with the parameters kept", async () => {
    const busy = await acme.addRepository("acme", "busy");
    for (let build = 0; build < 101; build++) {
      await acme.upload(busy, [{ name: "a" }], { recordedAt: NOW - 500 + build, branch: "main" });
    }
    let path: string | undefined = "/repos/acme/busy/builds?branch=main&days=7";
    const seen: number[] = [];
    const turn = (page: Html, text: string) =>
      page.all(".pages")[0]!.all("a").find((link) => link.text === text)?.attributes.href;
    let last: Html | undefined;
    while (path !== undefined) {
      const response = await acme.get(path);
      last = parseHtml(await response.text());
      seen.push(rows(last).length);
      const next = turn(last, "Older builds");
      const url: URL | undefined = next === undefined
        ? undefined
        : new URL(next, `http://x${path}`);
      path = url && url.pathname + url.search;
    }
    assert.deepEqual(seen, [50, 50, 1]);

    const list = await (await acme.get("/repos/acme/busy/builds.ndjson")).text();
    const ids = list.trim().split("\n").map((line) => JSON.parse(line).id);
    assert.deepEqual([ids.length, new Set(ids).size], [101, 101]);
    const newer = new URL(turn(last!, "Newer builds")!, "http://x/repos/acme/busy/builds");
    assert.equal(newer.searchParams.get("days"), "7");
    const past = parseHtml(
      await (await acme.get(`/repos/acme/busy/builds?after=${btoa("offset:500")}`)).text(),
    );
    assert.match(past.text, /no older builds/);
  });
});
