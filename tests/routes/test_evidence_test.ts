import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import type { Upload } from "../../db/write/store_submission.ts";
import { describeWithDatabase } from "../database.ts";
import { bodyOf, createShop, DAY, type Fixture, flaky, idOf, NOW } from "./fixture.ts";

const ROUTE = "/api/tests/:id/evidence";

/** A page without its head. */
const mainOf = (page: string) => page.slice(page.indexOf("<main"));

/** A commit of the base branch. */
const commitAt = (index: number) => `c${index.toString(16).padStart(39, "0")}`;

describeWithDatabase("the evidence for a test", (database) => {
  let fixture: Fixture;
  let shop: Repository;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    let seconds = 0;
    const upload = (sign: string, more: Partial<Upload> = {}) => {
      const failure = { name: "a", conclusion: "failure" as const, message: "boom" };
      const results = {
        ".": [{ name: "a" }],
        F: [failure],
        r: [failure, { name: "a" }],
        s: [{ name: "a", conclusion: "skipped" as const }],
        "?": [{ name: "a", conclusion: "unknown" as const }],
        "-": [{ name: "b" }],
      }[sign]!;
      const recordedAt = NOW - 5_000 + seconds++;
      return fixture.upload(shop, results, { branch: "main", recordedAt, ...more });
    };
    for (const [index, sign] of [..."............s?-FFFF"].entries()) {
      await upload(sign, { commitOid: commitAt(index), environment: "Linux" });
    }
    for (const index of [0, 1, 2]) {
      await upload(".", { commitOid: commitAt(index), environment: "Windows" });
    }
    await upload("F", { commitOid: "dddddddd", branch: "topic", environment: "Linux" });
  });

  const get = async (query = "", name = "a") =>
    await bodyOf(await fixture.get(`/api/tests/${idOf(shop, { name })}/evidence${query}`), ROUTE);

  it("is of the runs on the base branch, in the environment with the worst state", async () => {
    const found = await get();
    assert.equal(found.state, "broken");
    assert.equal(found.environment, "Linux");
    assert.deepEqual([found.runs, found.failures, found.rate], [4, 4, 1]);
    assert.ok(found.rate_low > 0.4 && found.rate_low < found.rate_high);
    assert.deepEqual(
      found.segments.map(({ runs, failures, rate }: { [name: string]: number }) => [
        runs,
        failures,
        rate,
      ]),
      [[12, 0, 0], [4, 4, 1]],
    );
    assert.deepEqual(found.segments[1].from, {
      commit_oid: commitAt(15),
      tree_oid: "",
      recorded_at: "2026-09-21T12:50:15Z",
    });
    // The last run of the range may be a later one: the test may have failed by chance before.
    assert.ok(found.since.from.commit_oid < commitAt(15));
    assert.ok(found.since.to.commit_oid >= commitAt(15));
    assert.ok(found.since.changes >= 1);
    assert.equal(found.calm.passes, 0);
  });

  it("is of one environment when it is asked for", async () => {
    const found = await get("?environment=Windows");
    assert.deepEqual([found.state, found.environment, found.runs], ["new", "Windows", 3]);
    assert.deepEqual([found.since, found.calm], [null, null]);
    const none = await get("?environment=none");
    assert.deepEqual([none.state, none.runs, none.rate], ["new", 0, null]);
    assert.equal(none.environment, "none");
    const neither = await get("?environment=Plan9,none*");
    assert.equal(neither.environment, "Plan9,none*");
  });

  it("counts from a commit, also an abbreviated one or one without a run of the test", async () => {
    const whole = await get(`?since=${commitAt(4)}&environment=Linux`);
    assert.deepEqual([whole.calm.passes, whole.calm.by_chance], [8, null]);
    const windows = await get(`?since=${commitAt(1).toUpperCase()}&environment=Windows`);
    assert.equal(windows.calm.passes, 2);
    assert.ok(windows.calm.by_chance > 0 && windows.calm.by_chance < 1);
    assert.ok(windows.calm.passes_needed > 2);
    const other = await get(`?since=${commitAt(14)}`);
    assert.deepEqual([other.calm.passes, other.calm.by_chance], [0, null]);
  });

  it("is not found for a commit without a run on the base branch", async () => {
    const path = `/api/tests/${idOf(shop, { name: "a" })}/evidence`;
    for (const commit of ["eeeeeeee", "dddddddd"]) {
      assert.equal((await fixture.get(`${path}?since=${commit}`)).status, 404, commit);
    }
    assert.equal((await fixture.get(`${path}?since=HEAD`)).status, 400);
  });

  it("is of no commit where an abbreviated one fits several", async () => {
    const error = "commit c000000 is abbreviated and fits several: give its whole id";
    const path = `/tests/${idOf(shop, { name: "a" })}`;
    const refused = await fixture.get(`/api${path}/evidence?since=C000000`);
    assert.equal(refused.status, 400);
    assert.deepEqual(await refused.json(), { errors: { since: [error] } });
    const corrected = await fixture.get(`${path}?since=c000000`);
    assert.equal(corrected.status, 400);
    const shown = mainOf(await corrected.text());
    assert.match(shown, new RegExp(`value="c000000"[^>]*aria-invalid[^]*${error}`));
    assert.match(shown, /<b class="state broken">Broken<\/b>/, "the rest of the page is there");
    // One commit, whose id some reports have abbreviated.
    const repository = await fixture.addRepository("acme", "abbreviated");
    for (const [index, commitOid] of ["abcdef1", "abcdef1" + "0".repeat(33)].entries()) {
      const more = { branch: "main", commitOid, recordedAt: NOW - 50 + index };
      await fixture.upload(repository, [{ name: "a" }], more);
    }
    const query = `${idOf(repository, { name: "a" })}/evidence?since=abcdef1`;
    const found = await bodyOf(await fixture.get(`/api/tests/${query}`), ROUTE);
    assert.equal(found.calm.passes, 2);
  });

  it("says that a test does not run any more", async () => {
    const repository = await fixture.addRepository("acme", "gone");
    for (const index of Array(40).keys()) {
      const failed = { conclusion: "failure" as const, message: "boom" };
      const leaves = [{ name: "leaves", ...index === 3 && failed }];
      await fixture.upload(repository, [{ name: "stays" }, ...index < 20 ? leaves : []], {
        branch: "main",
        commitOid: commitAt(index),
        recordedAt: NOW - 5_000 + index,
      });
    }
    const stoppedOf = async (name: string) => {
      const path = `/api/tests/${idOf(repository, { name })}/evidence?since=${commitAt(5)}`;
      const { calm, stopped } = await bodyOf(await fixture.get(path), ROUTE);
      return [calm.passes, stopped];
    };
    const stopped = { last_run_at: "2026-09-21T12:50:19Z", job_runs: 20 };
    assert.deepEqual(await stoppedOf("leaves"), [15, stopped]);
    assert.deepEqual(await stoppedOf("stays"), [35, null]);
  });

  it("calls a test that fails now and then neither failing still nor calm", async () => {
    const repository = await fixture.addRepository("acme", "once");
    for (const index of Array(120).keys()) {
      const failed = { conclusion: "failure" as const, message: "boom" };
      await fixture.upload(repository, [{ name: "w", ...index === 100 && failed }], {
        branch: "main",
        commitOid: commitAt(index),
        recordedAt: NOW - 5_000 + index,
      });
    }
    const shown = mainOf(
      await (await fixture.get(`/tests/${idOf(repository, { name: "w" })}`)).text(),
    );
    assert.match(shown, /fails in 0\.83 % of runs on main[^]*<b>Last failure<\/b> on main/);
    assert.doesNotMatch(shown, /Still failing/);
    assert.match(shown, /19 passes since the last failure; a test that fails as often/);
    assert.match(await page(), /<b>Still failing<\/b>: last on main/);
  });

  it("says of which environment the calm is, and where the test failed later", async () => {
    const repository = await fixture.addRepository("acme", "two-environments");
    for (const index of Array(120).keys()) {
      for (const [environment, failing] of [["linux", [4, 20]], ["macos", [30, 116]]] as const) {
        if (environment === "macos" && index % 2 === 1) continue;
        const failed = (failing as readonly number[]).includes(index) &&
          { conclusion: "failure" as const, message: "boom" };
        await fixture.upload(repository, [{ name: "w", ...failed }], {
          branch: "main",
          environment,
          commitOid: commitAt(index),
          recordedAt: NOW - 5_000 + index,
        });
      }
    }
    const shown = mainOf(
      await (await fixture.get(`/tests/${idOf(repository, { name: "w" })}`)).text(),
    );
    assert.match(shown, /runs on main \([^)]*\) in\s+<b>linux<\/b>/);
    assert.match(shown, /In <b>linux<\/b>: 99 passes since the last failure/);
    assert.match(shown, /<b>Last failure<\/b> on main <time[^]*?<\/time> in\s+<b>macos<\/b>\./);
    assert.equal(shown.match(/Last failure/g)!.length, 1);
  });

  it("says that a broken test still fails, also where it failed once elsewhere later", async () => {
    const repository = await fixture.addRepository("acme", "broken-elsewhere");
    const failed = { name: "w", conclusion: "failure" as const, message: "boom" };
    const upload = (environment: string, index: number, isFailed: boolean) =>
      fixture.upload(repository, [isFailed ? failed : { name: "w" }], {
        branch: "main",
        environment,
        commitOid: commitAt(index),
        recordedAt: NOW - 5_000 + index,
      });
    for (const index of Array(30).keys()) {
      await upload("linux", index, index >= 15);
      await upload("macos", index, false);
    }
    await upload("macos", 31, true);
    const shown = mainOf(
      await (await fixture.get(`/tests/${idOf(repository, { name: "w" })}`)).text(),
    );
    assert.match(shown, /<b>Still failing<\/b>: last on main/);
  });

  it("does not say that a test still fails once the base branch is inactive", async () => {
    for (const [name, days] of [["inactive", 31], ["quiet", 29]] as const) {
      const repository = await fixture.addRepository("acme", name);
      for (const index of Array(16).keys()) {
        const failed = index > 11 && { conclusion: "failure" as const, message: "boom" };
        await fixture.upload(repository, [{ name: "w", ...failed }], {
          branch: "main",
          commitOid: commitAt(index),
          recordedAt: NOW - days * DAY - 16 + index,
        });
      }
      const shown = mainOf(
        await (await fixture.get(`/tests/${idOf(repository, { name: "w" })}`)).text(),
      );
      assert.match(shown, />Broken</);
      const isInactive = name === "inactive";
      assert.equal(shown.includes("<b>Inactive</b>: no run on main since <time"), isInactive, name);
      assert.equal(shown.includes("Still failing"), !isInactive, name);
    }
  });

  it("says that earlier code failed again after the passes of later code", async () => {
    const repository = await fixture.addRepository("acme", "again");
    const failed = { name: "w", conclusion: "failure" as const, message: "boom" };
    const upload = (commit: number, isFailed: boolean, recordedAt: number) =>
      fixture.upload(repository, [isFailed ? failed : { name: "w" }], {
        branch: "main",
        commitOid: commitAt(commit),
        recordedAt: NOW - 5_000 + recordedAt,
      });
    for (const index of Array(40).keys()) await upload(index, index === 1, index);
    const shown = async () =>
      mainOf(await (await fixture.get(`/tests/${idOf(repository, { name: "w" })}`)).text());
    assert.doesNotMatch(await shown(), /earlier code/);
    await upload(2, true, 60);
    assert.match(await shown(), /<b>Last failure<\/b> on main [^]*, at earlier code\./);
  });

  const page = async (query = "") =>
    mainOf(await (await fixture.get(`/tests/${idOf(shop, { name: "a" })}${query}`)).text());

  it("is in the first lines of the page of the test", async () => {
    const shown = await page();
    assert.match(
      shown,
      /<b class="state broken">Broken<\/b>: fails in 100 % of runs on main \(4 of 4, 95 %: 54 to 99\) in\s+<b>Linux<\/b> since 21 Sep, one of \d+ changes; before in 0 of 12\./,
    );
    assert.ok(shown.indexOf("Broken") < shown.indexOf("runs in 14 days"));
    assert.doesNotMatch(shown, /The cause may lie/);
  });

  it("keeps the commit that is meant as the fix in the form, with what its runs say", async () => {
    const failed = await page(`?since=${commitAt(4)}&days=30`);
    assert.match(failed, new RegExp(`name="since" value="${commitAt(4)}"`));
    assert.match(failed, /<input type="hidden" name="days" value="30">/);
    assert.match(
      failed,
      /role="status">failed again: 8 passes since c000000, and 4 failures \(in Linux\)\./,
    );
    const unknown = await page("?since=eeeeeeee");
    assert.match(unknown, /role="status">No run of <code>eeeeeeee<\/code> on main is stored/);
    assert.match(unknown, /no run of this commit on main is stored/);
    const wrong = await fixture.get(`/tests/${idOf(shop, { name: "a" })}?since=HEAD`);
    assert.equal(wrong.status, 400);
    const corrected = mainOf(await wrong.text());
    assert.match(corrected, /value="HEAD"[^>]*aria-invalid[^]*invalid commit &quot;HEAD&quot;/);
    assert.match(corrected, /<b class="state broken">Broken<\/b>/, "the rest of the page is there");
  });

  it("says where a flaky test fails, and is silent about what may be chance", async () => {
    const repository = await fixture.addRepository("acme", "where");
    for (const index of Array(40).keys()) {
      const isFailed = index % 8 === 0;
      const result = { name: "w", ...isFailed && { conclusion: "failure" as const } };
      await fixture.upload(repository, [result], {
        branch: "main",
        recordedAt: NOW - 50_000 + index,
        commitOid: commitAt(index),
        runner: index % 4 === 0 ? "r1" : "r2",
        job: ["unit", "e2e", "lint"][index % 3]!,
      });
    }
    const shown = await (await fixture.get(`/tests/${idOf(repository, { name: "w" })}`)).text();
    assert.match(
      shown,
      /<li>only on the runner <b>r1<\/b>: in 5 of 10 runs, elsewhere in none of 30<\/li>/,
    );
    // 2 of 14 in one job, 1 or 2 in the others.
    assert.doesNotMatch(shown, /in the job/);
  });

  it("says of a test that is broken in one job since when it has not passed there", async () => {
    const repository = await fixture.addRepository("acme", "jobs");
    for (const index of Array(40).keys()) {
      const isFailed = index % 2 === 0 && index >= 20;
      const result = { name: "w", ...isFailed && { conclusion: "failure" as const } };
      await fixture.upload(repository, [result], {
        branch: "main",
        recordedAt: NOW - 50_000 + index,
        commitOid: commitAt(index),
        job: index % 2 === 0 ? "windows" : "linux",
      });
    }
    const shown = await (await fixture.get(`/tests/${idOf(repository, { name: "w" })}`)).text();
    assert.match(
      shown,
      /<li>only in the job <b>windows<\/b>: in 10 of 20 runs, in all of the last 10; elsewhere in none of 20<\/li>/,
    );
  });

  it("says that a test is flaky on other branches only", async () => {
    const repository = await fixture.addRepository("acme", "elsewhere");
    for (const index of Array(12).keys()) {
      const recordedAt = NOW - 50_000 + index;
      const commitOid = commitAt(index);
      await fixture.upload(repository, [{ name: "w" }], { branch: "main", recordedAt, commitOid });
    }
    await fixture.upload(repository, flaky("w"), { branch: "fix", commitOid: "abcdef3" });
    const shown = await (await fixture.get(`/tests/${idOf(repository, { name: "w" })}`)).text();
    assert.match(
      shown,
      /<b class="state flaky">Flaky<\/b> on branches other than main: passed in all 12 runs on main/,
    );
    assert.match(shown, /14 runs in 14 days, on all branches/);
    assert.match(shown, /1 of 14 results on all branches/);
  });

  it("does not blame other branches when the base branch was flaky in an outage, or the branch is unknown", async () => {
    const repository = await fixture.addRepository("acme", "outage");
    const names = Array.from({ length: 30 }, (_, index) => `t${index}`);
    const passes = names.map((name) => ({ name }));
    const failures = names.map((name) => ({
      name,
      conclusion: "failure" as const,
      message: "connection refused",
    }));
    for (const index of Array(12).keys()) {
      const more = { branch: "main", recordedAt: NOW - 50_000 + index, commitOid: commitAt(index) };
      await fixture.upload(repository, passes, more);
    }
    for (const branch of ["fix", "other"]) {
      await fixture.upload(repository, failures, { branch, commitOid: "abcdef1" });
    }
    await fixture.upload(repository, failures, { branch: "main", commitOid: "abcdef2" });
    await fixture.upload(repository, passes, { branch: "main", commitOid: "abcdef2" });
    const stateOf = async (name: string) => {
      const page = await (await fixture.get(`/tests/${idOf(repository, { name })}`)).text();
      return /<p><b class="state[^]*?<\/p>/.exec(page)![0];
    };
    assert.match(await stateOf("t1"), /Flaky<\/b>: passed in all 13 runs on main/);

    for (const index of Array(12).keys()) {
      const more = { branch: "main", recordedAt: NOW - 50_000 + index, commitOid: commitAt(index) };
      await fixture.upload(repository, [{ name: "u" }], more);
    }
    await fixture.upload(repository, flaky("u"), { branch: null, commitOid: "abcdef3" });
    assert.match(await stateOf("u"), /Flaky<\/b>: passed in all 12 runs on main/);
  });

  it("names the commit, author and pull request at which it was flaky for the first time", async () => {
    const first = {
      commitOid: "abcdef1",
      branch: "fix",
      author: "Ada",
      pullNumber: 12,
      pullTitle: "Faster carts",
    };
    await fixture.upload(shop, flaky("new"), { ...first, recordedAt: NOW - DAY });
    await fixture.upload(shop, flaky("new"), { commitOid: "abcdef2" });
    const path = `/api/tests/${idOf(shop, { name: "new" })}/evidence`;
    const { first_disruption } = await bodyOf(await fixture.get(path), ROUTE);
    const { recorded_at: _, build_url: __, ...facts } = first_disruption;
    assert.deepEqual(facts, {
      commit_oid: "abcdef1",
      branch: "fix",
      author: "Ada",
      pull_request: 12,
      pull_request_title: "Faster carts",
    });
    const page = await (await fixture.get(`/tests/${idOf(shop, { name: "new" })}`)).text();
    assert.match(page, /by Ada on <bdi>fix<[^]*#12[^]*Faster carts/);
  });
});
