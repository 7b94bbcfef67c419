import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import type { TestResult } from "../../lib/report/result.ts";
import { countBrokenTests } from "../../db/read/broken_tests.ts";
import { describeWithDatabase } from "../database.ts";
import { StatementRecorder } from "../db/statements/recorder.ts";
import { commandLine } from "../lib/cli/run_in_process.ts";
import {
  bodyOf,
  createShop,
  DAY,
  type Fixture,
  flaky,
  idOf,
  NOW,
  quarantine,
  release,
} from "./fixture.ts";
import { type Html, parseHtml } from "./html.ts";

const recorder = new StatementRecorder();

const ROUTE = "/api/repos/:owner/:name/states";

/** A commit of the base branch. */
const commitAt = (index: number) => `c${index.toString(16).padStart(39, "0")}`;

/** Outcomes by test, one sign for each run on main, oldest first: none of them runs the same code again. */
const HISTORIES = {
  broken: "............FFFF",
  brokenSoon: "..............FF",
  flaky: "..F....F.....F..",
  healthy: "................",
  young: "            ....",
};

describeWithDatabase("the states of tests", (database) => {
  const cli = commandLine(database, { now: () => NOW });
  let fixture: Fixture;
  let shop: Repository;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    for (const index of HISTORIES.broken.split("").keys()) {
      const results = Object.entries(HISTORIES).flatMap(([name, { [index]: sign }]) =>
        sign === " " ? [] : [{ name, ...sign === "F" && { conclusion: "failure" as const } }]
      );
      await fixture.upload(shop, results, {
        branch: "main",
        commitOid: commitAt(index),
        recordedAt: NOW - 5_000 + index,
      });
    }
  });

  const get = async (query = "") =>
    await bodyOf(await fixture.get(`/api/repos/acme/shop/states${query}`), ROUTE);
  const names = ({ tests }: { tests: { name: string }[] }) => tests.map(({ name }) => name);

  it("are broken and flaky unless others are asked for, broken ones first", async () => {
    const found = await get();
    assert.deepEqual(names(found), ["broken", "brokenSoon", "flaky"]);
    assert.equal(found.count, 3);
    const [broken, soon, flaky] = found.tests;
    assert.equal(broken.id, idOf(shop, { name: "broken" }));
    assert.deepEqual([broken.state, broken.rate], ["broken", 1]);
    assert.equal(broken.since.to.commit_oid > commitAt(11), true);
    // Two failed runs are no breakage.
    assert.equal(soon.state, "flaky");
    assert.deepEqual([flaky.state, flaky.rate, flaky.since], ["flaky", 3 / 16, null]);
  });

  it("are selected by name, and are a list like others", async () => {
    assert.deepEqual(names(await get("?state=healthy")), ["healthy"]);
    assert.deepEqual(names(await get("?state=new,%20broken")), ["broken", "young"]);
    const page = await get("?state=broken,flaky&limit=1");
    assert.deepEqual([names(page), page.count], [["broken"], 3]);
    const next = await get(`?limit=1&after=${page.metadata.after}`);
    assert.deepEqual(names(next), ["brokenSoon"]);
    assert.equal((await fixture.get("/api/repos/acme/shop/states?state=bad")).status, 400);
    assert.equal((await fixture.get("/api/repos/acme/none/states")).status, 404);
  });

  it("are labelled on the page of the repository if they are quarantined", async () => {
    const read = async () => parseHtml(await (await fixture.get("/repos/acme/shop")).text());
    const rowOf = (page: Html, name: string) =>
      page.all("tr").find((row) => row.text.includes(name) && row.text.includes("%"))!.text;
    assert.doesNotMatch(rowOf(await read(), "broken"), /quarantined/);
    const id = idOf(shop, { name: "broken" });
    await quarantine(database(), id);
    assert.match(rowOf(await read(), "broken"), /^broken .* quarantined /);
    await release(database(), id);
    await quarantine(database(), id, { quarantineEnvironment: "Windows*" });
    assert.match(rowOf(await read(), "broken"), /^broken .* quarantined in Windows\* only /);
    assert.doesNotMatch(rowOf(await read(), "brokenSoon"), /quarantined/);
    await release(database(), id);
  });

  it("are on the page of the repository, broken first, and nowhere 0 % without a repetition", async () => {
    const page = await (await fixture.get("/repos/acme/shop")).text();
    const main = page.slice(page.indexOf("<main"));
    assert.match(main, /<h2 id="broken">Broken on main<\/h2>/);
    // Also true of tests that ran again, and passed each time.
    assert.match(main, /None of them failed and passed on the same code in the last 14 days/);
    assert.match(main, /Tests that fail now and then on main/);
    assert.ok(
      main.indexOf("Broken on main") < main.indexOf("Tests that fail now and then on main"),
    );
    // A phone has no columns for them.
    assert.match(main, /title="brokenSoon">[^]*?<small class="narrow">2 of 2 since /);
    assert.match(main, /<dt>Flakiness<\/dt><dd>– <small>nothing was run twice/);
    assert.doesNotMatch(main, /flaky 0 %|\b0 %</);
    const list = await (await fixture.get("/repos")).text();
    assert.doesNotMatch(list, /Builds with a flaky failure by week[^<]*0 %/);
    assert.match(list, /title="nothing was run twice">–/);
    assert.match(list, /<a href="[^"]*sort=broken"><span title="[^"]*">Broken<\/span><\/a>/);
    assert.match(list, /<dt>Broken tests<\/dt><dd>1</);
    const csv = await (await fixture.get("/repos.csv")).text();
    assert.match(csv, /broken_test_count/);
  });

  it("are listed on the terminal and in the digest", async () => {
    const { code, stdout } = await cli("flaky --states --repo acme/shop");
    assert.equal(code, 0);
    assert.deepEqual(
      stdout.trim().split("\n").map((line) => line.split("\t").slice(1, 5)),
      [
        ["acme/shop", "broken", "4", "4"],
        ["acme/shop", "flaky", "2", "2"],
        ["acme/shop", "flaky", "3", "16"],
      ],
    );
    // A narrow terminal has room for names, which an id would take.
    const { stdout: narrow } = await cli("flaky --states --repo acme/shop", { columns: 40 });
    assert.match(narrow, /STATE +FAILED +TEST\nbroken +4 of 4 +broken\n/);
    const { stdout: json } = await cli("flaky --states --repo acme/shop --json");
    assert.deepEqual(JSON.parse(json), (await get()).tests);
    const { stdout: digest } = await cli("digest");
    assert.match(
      digest,
      /## Broken now \(1\)[^]*> broken[^]*: failed in 4 of 4 runs since 2026-09-21/,
    );
    assert.match(digest, /## Fail now and then \(2\)/);
    assert.match(digest, /nothing of 16 builds in 14 days was run twice/);
  });

  it("also have tests that stopped running, which have a list of their own on pages and in the digest", async () => {
    const repository = await fixture.addRepository("acme", "stopped");
    for (const index of Array(60).keys()) {
      const failed = { conclusion: "failure" as const };
      const results = [
        { name: "stays" },
        ...index < 30 ? [{ name: "leaves", ...index % 9 === 0 && failed }] : [],
        ...index < 41 ? [{ name: "soon", ...index % 9 === 0 && failed }] : [],
      ];
      await fixture.upload(repository, results, {
        branch: "main",
        job: "unit",
        commitOid: commitAt(index),
        recordedAt: NOW - 9_000 + index,
      });
    }
    const page = await (await fixture.get("/repos/acme/stopped")).text();
    const [others, stopped] = page.slice(page.indexOf('id="intermittent"')).split('id="stopped"');
    assert.match(stopped!, />leaves<[^]*not calm: 2 of \d+ passes/);
    assert.ok(!stopped!.split("</table>")[0]!.includes(">soon<"));
    assert.ok(others!.includes(">soon<") && !others!.includes(">leaves<"));
    const pageOf = async (name: string) =>
      await (await fixture.get(`/tests/${idOf(repository, { name })}`)).text();
    assert.match(
      await pageOf("leaves"),
      /class="band said [^]*<b>Stopped running<\/b>: last on main [^]*; its job has run 30 times without it since\.[^]*<\/section>/,
    );
    assert.doesNotMatch(await pageOf("soon"), /Stopped running/);
    const path = "/api/repos/acme/stopped/states";
    assert.deepEqual(names(await bodyOf(await fixture.get(path), ROUTE)), ["soon", "leaves"]);
    const { stdout } = await cli("flaky --states --repo acme/stopped");
    assert.deepEqual(
      stdout.trim().split("\n").map((line) => line.split("\t").at(-2)),
      ["soon", "leaves"],
    );
    const { stdout: digest } = await cli("digest --repo acme/stopped");
    assert.match(digest, /## Fail now and then \(1\)[^]*## Stopped running \(1\)/);
  });

  it("stopped running by the job of their last run alone, on the page and in the digest", async () => {
    const repository = await fixture.addRepository("acme", "nightly");
    const upload = async (index: number, job: string, withTest: boolean) => {
      const flakyOnce = index === 0 ? flaky("leaves") : [{ name: "leaves" }];
      await fixture.upload(repository, [...withTest ? flakyOnce : [], { name: "stays" }], {
        branch: "main",
        job,
        commitOid: commitAt(index),
        recordedAt: NOW - 9_000 + index,
      });
    };
    for (const index of Array(30).keys()) {
      const withTest = index < 5;
      await upload(2 * index, "ci", withTest);
      // Its list with the test is younger than 20 runs of its job.
      if (index === 0 || index === 25) await upload(2 * index + 1, "nightly", withTest);
    }
    const page = await (await fixture.get("/repos/acme/nightly")).text();
    const { stdout } = await cli("digest --repo acme/nightly --format json");
    const [{ stopped }] = JSON.parse(stdout).groups;
    assert.deepEqual(stopped.map(({ name }: { name: string }) => name), ["leaves"]);
    assert.match(page, /id="stopped"[^]*>leaves</);
  });

  /** State and environment by the evidence for a test, and its state in the list. */
  const stateOf = async (repository: Repository, name: string) => {
    const path =
      `/api/repos/acme/${repository.name}/states?state=broken,flaky,healthy,new&limit=100`;
    const { tests } = await bodyOf(await fixture.get(path), ROUTE);
    const listed = tests.find((test: { name: string }) => test.name === name)?.state;
    const { state, environment } = await bodyOf(
      await fixture.get(`/api/tests/${idOf(repository, { name })}/evidence`),
      "/api/tests/:id/evidence",
    );
    assert.equal(listed, state);
    return [state, environment];
  };
  const brokenCount = async (name: string) => {
    const csv = await (await fixture.get(`/repos.csv?q=acme/${name}`)).text();
    const [head = "", row = ""] = csv.split("\r\n").map((line) => line.split(","));
    return Number(row[head.indexOf("broken_test_count")]);
  };
  const isFailed = (failed: boolean) => failed ? { conclusion: "failure" as const } : {};

  it("of a broken test that stopped running are broken in every list, which say that it stopped", async () => {
    const repository = await fixture.addRepository("acme", "broken-stopped");
    for (const index of Array(60).keys()) {
      await fixture.upload(repository, [
        { name: "stays", ...isFailed(index > 55) },
        ...index < 30 ? [{ name: "leaves", ...isFailed(index > 20) }] : [],
      ], {
        branch: "main",
        job: "unit",
        commitOid: commitAt(index),
        recordedAt: NOW - 9_000 + index,
      });
    }
    assert.deepEqual(await stateOf(repository, "leaves"), ["broken", ""]);
    assert.equal(await brokenCount("broken-stopped"), 2);
    const page = await (await fixture.get("/repos/acme/broken-stopped")).text();
    const broken = page.slice(page.indexOf('id="broken"')).split("</table>")[0]!;
    // What still runs comes first.
    assert.match(broken, />stays<[^]*>leaves<[^]*stopped running/);
    assert.doesNotMatch(broken, /stopped running[^]*>leaves</);
    assert.match(page, /id="stopped"[^]*>leaves</);
    const { stdout: digest } = await cli("digest --repo acme/broken-stopped");
    assert.match(digest, /2 tests are broken/);
    assert.match(
      digest,
      /## Broken now \(2\)[^]*> leaves[^]*; stopped running, last run 2026-09-21/,
    );
    const { stdout } = await cli("flaky --states --repo acme/broken-stopped");
    assert.match(stdout, /leaves/);
  });

  it("are of a test that is broken in one job alone with its last runs there, in every list", async () => {
    const repository = await fixture.addRepository("acme", "one-job");
    for (const index of Array(40).keys()) {
      await fixture.upload(
        repository,
        [{ name: "w", ...isFailed(index % 2 === 0 && index > 15) }],
        {
          branch: "main",
          job: index % 2 === 0 ? "windows" : "linux",
          commitOid: commitAt(index),
          recordedAt: NOW - 9_000 + index,
        },
      );
    }
    const failing = { job: "windows", runs: 12 };
    const { tests: [test] } = await bodyOf(
      await fixture.get("/api/repos/acme/one-job/states"),
      ROUTE,
    );
    assert.deepEqual(test.failing_runs, failing);
    const path = `/api/tests/${idOf(repository, { name: "w" })}/evidence`;
    const evidence = await bodyOf(await fixture.get(path), "/api/tests/:id/evidence");
    assert.deepEqual(evidence.failing_runs, failing);
    const said = "All of its last 12 runs in the job windows failed";
    assert.match(
      await (await fixture.get("/repos/acme/one-job")).text(),
      new RegExp(`id="broken"[^]*<small class="narrow">\\d+ of \\d+ ${said}; since`),
    );
    const { stdout } = await cli("digest --repo acme/one-job");
    assert.match(stdout, new RegExp(`Broken now \\(1\\)[^]*> w[^]*: ${said}`));
    const narrow = await cli("flaky --states --repo acme/one-job", { columns: 40 });
    assert.match(narrow.stdout, /^broken +last 12 +w$/m);
  });

  it("are of no broken or flaky test once the base branch is inactive: it has not run for 30 days", async () => {
    const { fixture } = await createShop(database(), "inactive");
    const repository = await fixture.addRepository("acme", "paused");
    for (const index of Array(16).keys()) {
      await fixture.upload(repository, [
        { name: "breaks", ...isFailed(index > 11) },
        { name: "wavers", ...isFailed(index % 5 === 0) },
      ], {
        branch: "main",
        commitOid: commitAt(index),
        recordedAt: NOW - 30 * DAY + index,
      });
    }
    // Another branch goes on.
    await fixture.upload(repository, [{ name: "breaks" }], {
      branch: "other",
      recordedAt: NOW - 5 * DAY,
    });
    const run = commandLine(database, { now: () => fixture.clock.now });
    const found = async () => {
      const states = await fixture.get("/api/repos/acme/paused/states");
      const page = await (await fixture.get("/repos/acme/paused")).text();
      const csv = await (await fixture.get("/repos.csv")).text();
      const [head, ...rows] = csv.trim().split("\r\n").map((line) => line.split(","));
      const digest = JSON.parse((await run("digest --org inactive --json")).stdout);
      const { stdout } = await run("flaky --states --org inactive");
      return {
        states: names(await bodyOf(states, ROUTE)),
        page: [...page.matchAll(/<h2 id="(broken|intermittent)"/g)].map(([, id]) => id),
        isInactive: /<b>Inactive<\/b>: no run on main since <time/.test(page),
        repos: rows.find(([name]) => name === "acme/paused")!.at(
          head!.indexOf("broken_test_count"),
        ),
        digest: [digest.totals.broken_tests, digest.totals.flaky_without_reruns],
        flaky: stdout.trim().split("\n").filter((line) => line.includes("paused")).length,
      };
    };
    assert.deepEqual(await found(), {
      states: ["breaks", "wavers"],
      page: ["broken", "intermittent"],
      isInactive: false,
      repos: "1",
      digest: [1, 1],
      flaky: 2,
    });
    fixture.clock.now += DAY;
    assert.deepEqual(await found(), {
      states: [],
      page: [],
      isInactive: true,
      repos: "0",
      digest: [0, 0],
      flaky: 0,
    });
    const all = await fixture.get("/api/repos/acme/paused/states?state=broken,flaky,healthy,new");
    assert.deepEqual(names(await bodyOf(all, ROUTE)), []);
  });

  it("of a nightly run are not stopped by the runs of each change that share the name of its job", async () => {
    for (const job of ["", "test"]) {
      const repository = await fixture.addRepository("acme", `two-suites${job}`);
      const upload = (index: number, results: Parameters<Fixture["upload"]>[1]) =>
        fixture.upload(repository, results, {
          branch: "main",
          job,
          commitOid: commitAt(index),
          recordedAt: NOW - 9_000 + index,
        });
      for (let night = 0; night < 4; night++) {
        await upload(30 * night, [{ name: "slow", ...isFailed(true) }]);
        await upload(30 * night + 1, [{ name: "rare", ...isFailed(night % 2 === 0) }]);
        for (let index = 2; index < 26; index++) await upload(30 * night + index, [{ name: "u" }]);
      }
      assert.deepEqual(await stateOf(repository, "slow"), ["broken", ""]);
      assert.deepEqual(await stateOf(repository, "rare"), ["flaky", ""]);
      assert.equal(await brokenCount(`two-suites${job}`), 1);
      const page = await (await fixture.get(`/repos/acme/two-suites${job}`)).text();
      assert.doesNotMatch(page, /[Ss]topped running/);
    }
  });

  it("are counted on the list of repositories in a merge queue, and of weekly builds", async () => {
    const queue = await fixture.addRepository("acme", "queue");
    const weekly = await fixture.addRepository("acme", "weekly");
    for (const index of Array(12).keys()) {
      const results = [{ name: "x", ...isFailed(index > 6) }];
      const commitOid = commitAt(index);
      await fixture.upload(queue, results, {
        branch: index > 6 ? `gh-readonly-queue/main/pr-${index}-${commitOid}` : "main",
        commitOid,
        recordedAt: NOW - 9_000 + index,
      });
      const recordedAt = NOW - 7 * DAY * (12 - index);
      await fixture.upload(weekly, results, { branch: "main", commitOid, recordedAt });
    }
    for (const repository of [queue, weekly]) {
      assert.deepEqual(await stateOf(repository, "x"), ["broken", ""]);
      assert.equal(await brokenCount(repository.name), 1, repository.name);
    }
  });

  it("are not of an environment in which the test stopped running while it goes on in another", async () => {
    const uploads = async (name: string, { until, length, everywhere = true }: {
      until: number;
      length: number;
      everywhere?: boolean;
    }) => {
      const repository = await fixture.addRepository("acme", name);
      for (let index = 0; index < length; index++) {
        const upload = {
          branch: "main",
          job: "unit",
          commitOid: commitAt(index),
          recordedAt: NOW - 9_000 + 2 * index + 1,
        };
        const other = { name: "other" };
        if (index < until) {
          const test = { name: "x", ...isFailed(index >= until - 5) };
          await fixture.upload(repository, [test, other], {
            ...upload,
            environment: "node-16",
            recordedAt: upload.recordedAt - 1,
          });
        }
        const results = everywhere ? [{ name: "x" }, other] : [other];
        await fixture.upload(repository, results, { ...upload, environment: "node-20" });
      }
      return repository;
    };
    const retired = await uploads("retired", { until: 12, length: 31 });
    assert.deepEqual(await stateOf(retired, "x"), ["healthy", "node-20"]);
    assert.equal(await brokenCount("retired"), 0);
    const page = await (await fixture.get(`/tests/${idOf(retired, { name: "x" })}`)).text();
    assert.match(page, /Stopped running in <b>node-16<\/b>/);
    assert.doesNotMatch(page, /Still failing/);
    const asked = await fixture.get(
      `/api/tests/${idOf(retired, { name: "x" })}/evidence?environment=node-16`,
    );
    assert.equal((await asked.json()).state, "broken");
    // One run fewer is no proof.
    const lately = await uploads("lately", { until: 12, length: 30 });
    assert.deepEqual(await stateOf(lately, "x"), ["broken", "node-16"]);
    // Nothing else has runs of it.
    const alone = await uploads("alone", { until: 12, length: 60, everywhere: false });
    assert.deepEqual(await stateOf(alone, "x"), ["broken", "node-16"]);
  });

  it("of a test that is disruptive are flaky without a run on the base branch, too", async () => {
    const repository = await fixture.addRepository("acme", "pull-requests");
    await fixture.upload(repository, [...flaky("again"), { name: "passes" }], { branch: "topic" });
    await database().sql`
      update repository set default_branch = 'main'
      where repository_id = ${repository.repositoryId}`;
    assert.deepEqual(await stateOf(repository, "again"), ["flaky", ""]);
  });

  it("are counted on the list of repositories even if a job uploads twice, or in shards", async () => {
    const repository = await fixture.addRepository("acme", "parts");
    for (const index of Array(14).keys()) {
      const conclusion = index > 10 ? "failure" as const : "passing" as const;
      const buildUrl = `https://ci.example.com/parts/${index}`;
      const build = { branch: "main", job: "all", commitOid: commitAt(index), buildUrl };
      const at = NOW - 9_000 + 10 * index;
      for (const shard of [0, 1, 2]) {
        // Each build distributes the tests among its shards again, and has new ones that fail.
        const names = [`new ${index} ${shard}`, ...shard === index % 3 ? ["unit"] : []];
        await fixture.upload(repository, names.map((name) => ({ name, conclusion })), {
          ...build,
          shard: `${1 + shard}/3`,
          recordedAt: at + shard,
        });
      }
      await fixture.upload(repository, [{ name: "other" }], { ...build, recordedAt: at + 3 });
      await fixture.upload(repository, [{ name: "third" }], { ...build, recordedAt: at + 4 });
    }
    const path = "/api/repos/acme/parts/states?state=broken";
    assert.deepEqual(names(await bodyOf(await fixture.get(path), ROUTE)), ["unit"]);
    const csv = await (await fixture.get("/repos.csv?q=acme/parts")).text();
    const [head = "", row = ""] = csv.split("\r\n").map((line) => line.split(","));
    assert.equal(row[head.indexOf("broken_test_count")], "1");
  });

  it("of a test that is flaky in one of two environments are of that one, in the list and in the evidence", async () => {
    const places = await fixture.addRepository("acme", "places");
    for (let index = 0; index < 30; index++) {
      const upload = {
        branch: "main",
        commitOid: commitAt(index),
        recordedAt: NOW - 9_000 + index,
      };
      await fixture.upload(places, [{ name: "x" }], { ...upload, environment: "linux" });
      if (index > 25) continue;
      const results = index === 7 ? flaky("x") : [{ name: "x" }];
      await fixture.upload(places, results, { ...upload, environment: "windows" });
    }
    const { tests: [test] } = await bodyOf(
      await fixture.get("/api/repos/acme/places/states?state=flaky"),
      ROUTE,
    );
    const evidence = async (query: string) => {
      const path = `/api/tests/${test.id}/evidence${query}`;
      const { environment, state, runs, failures } = await bodyOf(
        await fixture.get(path),
        "/api/tests/:id/evidence",
      );
      return [environment, state, runs, failures];
    };
    assert.deepEqual(await evidence(""), ["windows", "flaky", 26, 1]);
    assert.deepEqual(await evidence("?environment=linux"), ["linux", "healthy", 30, 0]);
    assert.deepEqual([test.state, test.rate], ["flaky", 1 / 26]);
  });

  it("of a hook that fails now and then are not broken: its passes are in no report", async () => {
    const repository = await fixture.addRepository("acme", "hooks");
    const hook = {
      name: '"before all" hook',
      class: "Cart",
      file: "",
      conclusion: "failure" as const,
    };
    const test = { name: "adds", class: "Cart", file: "" };
    for (let index = 0; index < 24; index++) {
      await fixture.upload(repository, index % 8 === 0 ? [hook] : [test], {
        branch: "main",
        commitOid: commitAt(index),
        buildUrl: `https://ci.example.com/hooks/${index}`,
        recordedAt: NOW - 9_000 + index,
      });
    }
    const { tests } = await bodyOf(await fixture.get("/api/repos/acme/hooks/states"), ROUTE);
    const [found] = tests;
    assert.deepEqual([tests.length, found.state, found.rate], [1, "flaky", 3 / 24]);
    const evidence = await (await fixture.get(`/api/tests/${found.id}/evidence`)).json();
    assert.deepEqual([evidence.state, evidence.rate], ["flaky", 3 / 24]);
    const csv = await (await fixture.get("/repos.csv?q=acme/hooks")).text();
    const [head = "", row = ""] = csv.split("\r\n").map((line) => line.split(","));
    assert.equal(row[head.indexOf("broken_test_count")], "0");
  });

  it("of a hook that is reported as passed once count its other passes too, as its evidence does", async () => {
    const repository = await fixture.addRepository("acme", "hook-passes");
    const hook = { name: '"before all" hook', class: "Cart", file: "" };
    const failed = { ...hook, conclusion: "failure" as const };
    const test = { name: "adds", class: "Cart", file: "" };
    for (let index = 0; index < 24; index++) {
      const results = index === 4 ? [hook, test] : index % 8 === 0 ? [failed] : [test];
      await fixture.upload(repository, results, {
        branch: "main",
        commitOid: commitAt(index),
        buildUrl: `https://ci.example.com/hook-passes/${index}`,
        recordedAt: NOW - 9_000 + index,
      });
    }
    const { tests } = await bodyOf(await fixture.get("/api/repos/acme/hook-passes/states"), ROUTE);
    const [found] = tests;
    assert.deepEqual([tests.length, found.state, found.rate], [1, "flaky", 3 / 24]);
    const evidence = await (await fixture.get(`/api/tests/${found.id}/evidence`)).json();
    assert.deepEqual([evidence.state, evidence.rate], ["flaky", 3 / 24]);
  });

  it("leave flaky disruptive tests out with without_reruns, and no broken one", async () => {
    const repository = await fixture.addRepository("acme", "twice");
    await fixture.upload(repository, flaky("again"), { branch: "main", recordedAt: NOW - DAY });
    const path = "/api/repos/acme/twice/states";
    assert.deepEqual(names(await bodyOf(await fixture.get(path), ROUTE)), ["again"]);
    const withoutReruns = async () =>
      names(await bodyOf(await fixture.get(`${path}?without_reruns=true`), ROUTE));
    assert.deepEqual(await withoutReruns(), []);
    const page = await (await fixture.get("/repos/acme/twice")).text();
    assert.match(page, /<dt>Flakiness<\/dt><dd>100 %/);
    // Its state is none that other lists have, so it comes before what they say.
    await fixture.upload(repository, [{ name: "rare", conclusion: "failure" }], {
      branch: "main",
      commitOid: commitAt(1),
    });
    const withRare = await (await fixture.get("/repos/acme/twice")).text();
    assert.ok(withRare.indexOf('id="intermittent"') < withRare.indexOf("cost the most builds"));
    assert.match(withRare, />rare<[^]*?since it was added/);
    assert.deepEqual(await withoutReruns(), ["rare"]);
    for (const index of [1, 2, 3]) {
      await fixture.upload(repository, [{ name: "again", conclusion: "failure" }], {
        branch: "main",
        commitOid: commitAt(index),
        recordedAt: NOW - 5_000 + index,
      });
    }
    assert.deepEqual(await withoutReruns(), ["again", "rare"]);
  });

  it("are counted on the list of repositories though the latest builds skip the test, or other jobs ran since", async () => {
    const repository = await fixture.addRepository("acme", "skipped");
    let index = 0;
    const upload = async (results: Partial<TestResult>[], job: string) => {
      await fixture.upload(repository, results, {
        ...{ branch: "main", job, environment: "linux", commitOid: commitAt(++index) },
        recordedAt: NOW - 9_000 + index,
      });
    };
    const skipped = { name: "skipped", conclusion: "skipped" as const };
    for (const failed of [...Array(12).fill(false), ...Array(4).fill(true)]) {
      await upload([{ name: "skipped", ...isFailed(failed) }, { name: "flaky" }], "unit");
      await upload([{ name: "nightly", ...isFailed(failed) }], "nightly");
    }
    for (const number of Array(24).keys()) {
      await upload([skipped, { name: "flaky", ...isFailed(number % 3 === 0) }], "unit");
    }
    for (const _ of Array(300)) await upload([{ name: "passes" }], "other");
    const path = "/api/repos/acme/skipped/states?state=broken";
    const { tests } = await bodyOf(await fixture.get(path), ROUTE);
    assert.deepEqual(tests.map(({ name }: { name: string }) => name).sort(), [
      "nightly",
      "skipped",
    ]);
    assert.equal(await brokenCount("skipped"), 2);
    await upload([{ name: "nightly" }], "nightly");
    assert.equal(await brokenCount("skipped"), 1);
    await upload([{ name: "skipped" }, { name: "flaky" }], "unit");
    assert.equal(await brokenCount("skipped"), 0);
  });

  it("are counted though code from before was run again, and passed", async () => {
    const repository = await fixture.addRepository("acme", "ran-again");
    for (const [index, code] of [...Array(17).keys(), 11].entries()) {
      await fixture.upload(repository, [{ name: "broken", ...isFailed(code > 11) }], {
        branch: "main",
        job: "unit",
        commitOid: commitAt(code),
        recordedAt: NOW - 9_000 + index,
      });
    }
    assert.deepEqual(await stateOf(repository, "broken"), ["broken", ""]);
    assert.equal(await brokenCount("ran-again"), 1);
  });

  it("are counted by as many statements for ten repositories as for two", async () => {
    const repositories: Repository[] = [];
    for (const place of Array(10).keys()) {
      const repository = await fixture.addRepository("acme", `many-${place}`);
      repositories.push(repository);
      for (const index of [1, 2, 3]) {
        await fixture.upload(repository, [{ name: "never passed", conclusion: "failure" }], {
          branch: "main",
          commitOid: commitAt(index),
          recordedAt: NOW - 5_000 + index,
        });
      }
    }
    const statementsOf = async (own: Repository[]) => {
      const sent = await recorder.during(async () => {
        const counts = await countBrokenTests(database().sql, {
          repositoryIds: own.map(({ repositoryId }) => repositoryId),
          now: NOW,
        });
        assert.deepEqual([...counts.values()], own.map(() => 1));
      });
      return sent.length;
    };
    assert.equal(await statementsOf(repositories), await statementsOf(repositories.slice(0, 2)));
  });

  it("are counted alike however many histories are read together, and in long ones one by one", async () => {
    const others: Repository[] = [];
    for (const name of ["one", "two"]) {
      const repository = await fixture.addRepository("other", name);
      others.push(repository);
      for (let index = 0; index < 4; index++) {
        await fixture.upload(repository, [{ conclusion: "failure" }], {
          branch: "main",
          commitOid: commitAt(index),
          recordedAt: NOW - 5_000 + index,
        });
      }
    }
    const repositoryIds = [shop, ...others].map(({ repositoryId }) => repositoryId);
    for (const [runsTogether, runsPerStatement] of [[1, 2], [5, 6], [17, 18], [1_000, 20_000]]) {
      const query = { repositoryIds, now: NOW };
      const limits = { runsTogether: runsTogether!, runsPerStatement: runsPerStatement! };
      const counts = await countBrokenTests(database().sql, { ...query, ...limits });
      assert.deepEqual([...counts].sort(), repositoryIds.map((id) => [id, 1]), `${runsTogether}`);
    }
  });

  // The last one: without another organization, the commands above need no name of theirs.
  it("are listed by their failure rate over all repositories, and counted", async () => {
    const other = await createShop(database(), "several");
    for (
      const [name, histories] of [
        ["a", { rare: "F...............", gone: "FF              " }],
        ["b", { often: "F.F.F.F.F.F.F.F." }],
      ] as const
    ) {
      const repository = await other.fixture.addRepository("acme", name);
      for (let index = 0; index < 24; index++) {
        const results = Object.entries(histories).flatMap(([name, signs]) => {
          const sign = signs[index] ?? (name === "gone" ? " " : ".");
          return sign === " "
            ? []
            : [{ name, ...sign === "F" && { conclusion: "failure" as const } }];
        });
        await other.fixture.upload(repository, results, {
          branch: "main",
          job: "unit",
          commitOid: commitAt(index),
          recordedAt: NOW - 5_000 + index,
        });
      }
    }
    const namesOf = (stdout: string) =>
      stdout.trim().split("\n").map((line) => line.split("\t").at(-2));
    const list = "flaky --states --org several";
    // What its job does not run any more comes last, as in the list of one repository.
    assert.deepEqual(namesOf((await cli(list)).stdout), ["often", "rare", "gone"]);
    const { stdout, stderr } = await cli(`${list} --limit 1`);
    assert.deepEqual(namesOf(stdout), ["often"]);
    const said = "broken or flaky on the base branch: 3, 1 shown (--limit)";
    assert.equal(stderr, `${said}; --json has more\n`);
    const terminal = await cli(`${list} --limit 1`, { columns: 80 });
    assert.equal(terminal.stderr, `\n${said}; --json has more\n`);
    assert.equal((await cli(`${list} --limit 1 --json`)).stderr, "");
    assert.equal((await cli(list)).stderr, "");
    // As other lists of tests.
    const slow = await cli("slow --org several --limit 1");
    assert.match(slow.stderr, /1 shown \(--limit\)/);
  });
}, { onStatement: recorder.onStatement });
