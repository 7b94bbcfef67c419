/** Pages show what the API says: random histories are read both ways. */
import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import type { TestResult } from "../../lib/report/result.ts";
import { describeWithDatabase } from "../database.ts";
import { createFixture, DAY, type Fixture, idOf, NOW, quarantine } from "./fixture.ts";
import { type Html, parseHtml } from "./html.ts";
import { createRandom, type Random } from "./random_numbers.ts";

const SEED = 20_261_122;
const UPLOADS = 60;
const BRANCHES = ["main", "feature/a", null];
const MESSAGES = ["timed out after 31 ms", "timed out after 77 ms", "expected 1, found 2", ""];

// deno-lint-ignore no-explicit-any -- read as a client does
type Json = any;

describeWithDatabase("the numbers on pages", (database) => {
  let acme: Fixture;
  let shop: Repository;

  before(async () => {
    acme = await createFixture(database(), { name: "acme" });
    shop = await acme.addRepository("acme", "shop");
    const api = await acme.addRepository("acme", "api");
    const random = createRandom(SEED, 1);
    for (let number = 0; number < UPLOADS; number++) {
      const repository = random.chance(0.7) ? shop : api;
      const build = random.below(40);
      await acme.upload(repository, results(random), {
        commitOid: `c0ffee${random.below(12)}`,
        branch: random.one(BRANCHES),
        buildUrl: random.chance(0.2) ? "" : `https://ci.example.org/${repository.name}/${build}`,
        recordedAt: NOW - random.below(30 * DAY),
        tags: random.chance(0.3) ? ["nightly"] : [],
        coverage: random.chance(0.2) ? { coveredLineCount: random.below(50), lineCount: 50 } : null,
      });
    }
    for (const name of ["test 1", "test 4"]) {
      await quarantine(database(), idOf(shop, { name }), { quarantinedAt: NOW - DAY });
    }
  });

  function results(random: Random): Partial<TestResult>[] {
    return Array.from({ length: 1 + random.below(9) }, () => {
      const conclusion = random.one(
        ["passing", "passing", "passing", "failure", "error", "skipped"] as const,
      );
      const name = `test ${random.below(9)}`;
      if (conclusion !== "failure" && conclusion !== "error") return { name, conclusion };
      const message = random.one(MESSAGES);
      return { name, conclusion, message, body: `${message}\n  at line ${random.below(3)}` };
    });
  }

  async function json(path: string): Promise<Json> {
    const response = await acme.get(path);
    assert.equal(response.status, 200, path);
    return await response.json();
  }

  async function read(path: string): Promise<Html> {
    const response = await acme.get(path);
    assert.equal(response.status, 200, path);
    return parseHtml(await response.text());
  }

  /** The percentage on a badge, `–` without one. */
  async function badge(kind: "flaky" | "coverage", repository: string): Promise<string> {
    const svg = await (await acme.get(`/api/v1/${kind}/badges?repository=${repository}`)).text();
    return />(\d[\d.]*%)</.exec(svg)?.[1]?.replace("%", " %") ?? "–";
  }

  /** The cells of a table with this caption, its small print left out. */
  function rows(page: Html, caption: string): string[][] {
    const region = page.all(".scroll").find(({ attributes }) =>
      attributes["aria-label"] === caption
    );
    return (region?.all("tbody")[0]?.all("tr") ?? []).map((row) =>
      row.all().filter(({ name }) => name === "th" || name === "td").map(plain)
    );
  }

  function plain(cell: Html): string {
    return cell.all("small").reduce((text, small) => text.replace(small.text, ""), cell.text)
      .trim();
  }

  /** Key figures by their names. */
  function facts(page: Html): Record<string, string> {
    const [list] = [".facts", ".fact-line"].flatMap((kind) => page.all(kind));
    const values = list!.all("dd").map(plain);
    return Object.fromEntries(list!.all("dt").map(({ text }, index) => [text, values[index]!]));
  }

  const percent = (share: number | null) =>
    share === null ? "–" : `${Math.round(share * 1000) / 10} %`;

  for (const days of [0, 3, 9, 20]) {
    it(`are those of the API ${days} days later`, async () => {
      acme.clock.now = NOW + days * DAY;
      await compareRepositories();
      for (
        const query of [
          "quarantine=false",
          "quarantine=false&sort=recency",
          "repository=shop",
          "quarantine=false&branch=main&q=test",
          "quarantine=false&q=tags:nightly&limit=2",
        ]
      ) await compareInventory(query);
      await compareRepository();
      const { tests } = await json("/api/v1/flaky/tests?quarantine=false");
      const ids = [...tests.map(({ id }: Json) => id), idOf(shop, { name: "test 4" })];
      for (const id of ids) await compareTest(id);
      const { submissions } = await json("/api/repos/acme/shop/submissions?limit=100");
      for (const submission of submissions.slice(0, 12)) {
        await compareBuild(submission);
      }
      acme.clock.now = NOW;
    });
  }

  async function compareRepositories() {
    const page = await read("/repos");
    const shown = ["Repositories", "Repositories without a build"].flatMap((caption) =>
      rows(page, caption)
    );
    const { repositories } = await json("/api/me/repositories");
    assert.equal(shown.length, repositories.length);
    for (const { full_name: name } of repositories) {
      const row = shown.find(([first]) => first === name)!;
      const list = `/api/v1/flaky/tests?repository=${name}`;
      // Nothing was run twice: the badge says 0 % there.
      const isUnknown = row[1] === "–" && row[3] === "by history";
      assert.deepEqual([isUnknown ? "0 %" : row[1], isUnknown ? "0" : row[3], row[9], row[10]], [
        await badge("flaky", name),
        String((await json(`${list}&quarantine=false`)).count),
        String((await json(list)).count),
        await badge("coverage", name),
      ]);
    }
  }

  async function compareInventory(query: string) {
    // The page has an order of its own unless one is chosen.
    const page = await read(`/flaky-tests?sort=disruptivenessRatio&${query}`.replace(
      /sort=\w+&(.*sort=)/,
      "$1",
    ));
    const include =
      "include=disruptiveness_ratio,disruption_count,nondeterministic_negative_result_count";
    const { count, tests, metadata } = await json(`/api/v1/flaky/tests?${query}&${include}`);
    assert.match(page.text, new RegExp(` ${count} tests?\\b`), query);
    const cells = rows(page, "Tests").map(([name, , , ratio, failures]) => [
      name!.replace("nightly", "").replace(
        /and [\d,]+ more that fails? (?:with it|the same way).*/s,
        "",
      ).trim(),
      ratio,
      failures,
    ]);
    // Tests that fail together are one row, named like the first of them.
    const shown = new Set(
      page.all("tbody").flatMap((body) => body.all("tr")).map((row) =>
        /tests\/(\w+)/.exec(row.all("th")[0]!.all("a")[0]!.attributes.href!)![1]
      ),
    );
    const isGrouped = / in \d+ rows?[,;]/.test(page.text);
    const whole = await json(
      `/api/v1/flaky/tests?${query.replace("&limit=2", "")}&limit=100&${include}`,
    );
    const listed = isGrouped ? whole.tests : tests;
    const expected = listed.filter(({ id }: Json) => shown.has(id)).map((test: Json) => [
      test.name,
      percent(test.disruptiveness_ratio),
      String(test.nondeterministic_negative_result_count),
    ]);
    assert.deepEqual(cells, expected, query);
    const next = page.all("a").find(({ text }) => text === "Next page");
    const cursor = next
      ? new URL(next.attributes.href!, "http://x/").searchParams.get("after")
      : null;
    if (!isGrouped) assert.equal(cursor, metadata.after);
    for (const { name } of query.includes("limit") ? [] : tests) {
      assert.ok(page.text.includes(name), `${query}: ${name}`);
    }
  }

  async function compareRepository() {
    const page = await read("/repos/acme/shop");
    const shown = facts(page);
    const unknown = /nothing was run twice/.test(page.text) ? "0 %" : shown.Flakiness;
    assert.equal(unknown, await badge("flaky", "shop"));
    assert.equal(shown.Coverage, await badge("coverage", "shop"));
    const { tests } = await json("/api/repos/acme/shop/tests?limit=100");
    const flakyTests: Json[] = await Promise.all(tests.map(async ({ id, name }: Json) => {
      const runs = (await allRuns(id)).filter(({ is_disruption }) => is_disruption);
      const builds = new Set(
        runs.map(({ build_url, submission_id }) => build_url || submission_id),
      );
      return { id, name, builds, failures: runs.length };
    }));
    const { groups } = await json("/api/repos/acme/shop/groups?limit=100");
    const costs = groups.flatMap((group: Json) => {
      const ids = new Set(group.tests.map(({ id }: Json) => id));
      const own = flakyTests.filter(({ id, failures }) => ids.has(id) && failures > 0);
      if (own.length === 0) return [];
      const builds = own.reduce((all, one) => all.union(one.builds), new Set());
      const [first] = own.sort((a, b) => b.builds.size - a.builds.size || (a.id < b.id ? -1 : 1));
      const least = own.map(({ id }) => id).sort()[0];
      const failures = own.reduce((sum, one) => sum + one.failures, 0);
      return [[first!.name, builds.size, failures, least]];
    });
    costs.sort((a: Json, b: Json) => b[1] - a[1] || b[2] - a[2] || (a[3] < b[3] ? -1 : 1));
    assert.deepEqual(
      rows(page, "Tests that cost the most builds").map(([name, builds, , failures]) => [
        name!.replace(/quarantined|and \d+ more that.*/s, "").trim(),
        Number(builds),
        Number(failures),
      ]),
      costs.map(([name, builds, failures]: Json) => [name, builds, failures]).slice(0, 5),
    );
    const { failures } = await json("/api/repos/acme/shop/failures");
    assert.deepEqual(
      rows(page, "Causes that hit several tests").map((row) => row.slice(1, 3)),
      failures.filter(({ test_count }: Json) => test_count > 1)
        .map(({ test_count, count }: Json) => [String(test_count), String(count)]),
    );
    const first = new Date((Math.floor(acme.clock.now / DAY) - 13) * DAY * 1000).toISOString();
    const q = `first-seen:>=${first.slice(0, 10)}`;
    const added = [];
    for (const view of ["true", "false"]) {
      const list = `/api/v1/flaky/tests?repository=shop&quarantine=${view}&q=${q}`;
      added.push(...(await json(list)).tests.map(({ name }: Json) => name));
    }
    const newNames = rows(page, "New flaky tests").map(([name]) => name);
    assert.deepEqual(newNames.sort(), added.sort());
  }

  async function allRuns(id: string): Promise<Json[]> {
    const all = [];
    for (let after = "";;) {
      const page = await json(`/api/tests/${id}/runs?limit=100&after=${encodeURIComponent(after)}`);
      all.push(...page.runs);
      if (page.metadata.after === null) return all;
      after = page.metadata.after;
    }
  }

  async function compareTest(id: string) {
    const page = await read(`/tests/${id}`);
    const test = await json(`/api/tests/${id}`);
    const shown = facts(page);
    const unknown = /nothing was run twice/.test(page.text)
      ? "0 %"
      : shown["Flaky failures in 14 days"];
    assert.equal(unknown, percent(test.disruptiveness_ratio));
    const runs = await allRuns(id);
    const negative = (run: Json) => ["failure", "error"].includes(run.conclusion);
    const outcomes = runs.slice(0, 100).map((run: Json) =>
      negative(run)
        ? run.is_disruption ? "flaky" : "failed"
        : run.conclusion === "passing"
        ? "passed"
        : run.conclusion
    );
    const [strip] = page.all(".strip");
    const drawn = strip?.all("a").map((mark) => mark.all("title")[0]!.text.split(/[ ,]/)[0]) ?? [];
    assert.deepEqual(drawn, outcomes.toReversed());
    const byBranch = rows(page, "Results by branch").map((row) => row.slice(0, 3).join());
    const counted = runs.filter((run: Json) => run.conclusion === "passing" || negative(run));
    const expected = [...Map.groupBy(runs, (run: Json) => run.branch)].map(([branch]) => {
      const own = counted.filter((run: Json) => run.branch === branch);
      return [branch || "unknown", own.length, own.filter(negative).length].join();
    });
    assert.deepEqual(byBranch.sort(), expected.sort());
    const { failures } = await json(`/api/tests/${id}/failures`);
    const causes = page.all(".cause");
    assert.deepEqual(
      causes.map((cause) => /(\d+) failures?, (\d+) flaky/.exec(cause.text)?.slice(1).map(Number)),
      failures.slice(0, 10).map((one: Json) => [one.count, one.disruption_count]),
    );
    assert.deepEqual(
      causes.flatMap((cause) => cause.all("pre").map(({ text }) => text)),
      failures.slice(0, 10).map(({ body }: Json) => body.replaceAll(/\s+/g, " ").trim()),
    );
  }

  async function compareBuild(submission: Json) {
    const page = await read(`/repos/acme/shop/builds/${submission.id}`);
    const path = `/api/repos/acme/shop/submissions/${submission.id}/build`;
    const { submissions: parts } = await json(path);
    const names = new Set<string>();
    for (const { id } of parts) {
      const path = `/api/repos/acme/shop/submissions/${id}/tests?status=failed&limit=100`;
      for (const test of (await json(path)).tests) names.add(test.name);
    }
    const shown = page.all(".cause").map((cause) => cause.all("bdi")[0]!.text);
    assert.deepEqual(shown.sort(), [...names].sort());
    const results = parts.reduce((sum: number, part: Json) => sum + part.test_result_count, 0);
    assert.equal(facts(page).Results, String(results));
  }
});
