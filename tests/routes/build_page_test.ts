import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import type { TestResult } from "../../lib/report/result.ts";
import { describeWithDatabase } from "../database.ts";
import { parseHtml } from "./html.ts";
import { createShop, DAY, type Fixture, idOf, NOW, quarantine } from "./fixture.ts";

describeWithDatabase("the page of a build", (database) => {
  let fixture: Fixture;
  let shop: Repository;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    // Known for "the stock is empty".
    await fixture.upload(shop, flakyBy("the stock is empty", "a"), { recordedAt: NOW - DAY });
    await quarantine(database(), idOf(shop, { name: "a" }));
  });

  /** A failure with this message, and a pass. */
  function flakyBy(message: string, name: string): Partial<TestResult>[] {
    return [{ name, conclusion: "failure", message, body: message }, { name }];
  }

  async function textOf(commitOid: string, results: Partial<TestResult>[]): Promise<string> {
    const { submissionId } = await fixture.upload(shop, results, { commitOid });
    const page = await fixture.get(`/repos/acme/shop/builds/${submissionId}`);
    return parseHtml(await page.text()).text;
  }

  const failed = (message: string, more: Partial<TestResult> = {}): Partial<TestResult> => ({
    name: "a",
    conclusion: "failure",
    message,
    ...more,
  });

  it("says that a quarantined test failed for a known cause, or for a new one as the gate does", async () => {
    const known = await textOf("aaaaaa1", [failed("the stock is empty")]);
    assert.match(known, /1 test failed: it is/);
    assert.match(known, /1 quarantined: the gate excuses it/);
    for (
      const [commitOid, ...results] of [
        ["aaaaaa2", failed("total is wrong")],
        ["aaaaaa3", failed("the stock is empty", { otherMessages: ["total is wrong"] })],
        ["aaaaaa4", failed("total is wrong"), failed("the stock is empty")],
      ] as const
    ) {
      const text = await textOf(commitOid, [...results]);
      assert.match(text, /1 quarantined, new cause: .* the gate does not excuse it/, commitOid);
    }
    // Some plugins report an attempt without a text: another has the cause.
    const silent = await textOf("aaaaaa5", [failed(""), failed("the stock is empty")]);
    assert.match(silent, /1 quarantined: the gate excuses it/);
  });

  it("counts a quarantine that is limited to environments in these only", async () => {
    await fixture.upload(shop, flakyBy("the cart is empty", "limited"), { recordedAt: NOW - DAY });
    const id = idOf(shop, { name: "limited" });
    await quarantine(database(), id, { quarantineEnvironment: "Windows*" });
    const failure = failed("the cart is empty", { name: "limited" });
    const verdictIn = async (environment: string) => {
      const { submissionId } = await fixture.upload(shop, [failure], {
        commitOid: `ab${environment.length}0000`,
        environment,
      });
      const page = await fixture.get(`/repos/acme/shop/builds/${submissionId}`);
      const { tests } = await (await fixture.get(
        `/api/repos/acme/shop/verdicts?tests=${id}&run_environment=${environment}`,
      )).json();
      const [shown] = /1 (?:quarantined|flaky):/.exec(parseHtml(await page.text()).text) ?? [];
      return [shown, tests[0].verdict];
    };
    assert.deepEqual(await verdictIn("Windows-X64"), ["1 quarantined:", "quarantined"]);
    assert.deepEqual(await verdictIn("Linux-X64"), ["1 flaky:", "flaky"]);
  });

  it("says that the gate excuses a failure only if it does in each environment", async () => {
    await fixture.upload(shop, flakyBy("the cart is full", "partly"), { recordedAt: NOW - DAY });
    const id = idOf(shop, { name: "partly" });
    await quarantine(database(), id, { quarantineEnvironment: "Windows*" });
    const failure = failed("the cart is full", { name: "partly" });
    const environments = ["Windows-X64", "Linux-X64"];
    for (const order of [environments, environments.toReversed()]) {
      let shown = "";
      const build = { commitOid: "acacac1", buildUrl: `https://ci.example/${order[0]}` };
      for (const [no, environment] of order.entries()) {
        const recordedAt = NOW - 100 + no;
        const upload = await fixture.upload(shop, [failure], { ...build, environment, recordedAt });
        shown = upload.submissionId;
      }
      const page = await fixture.get(`/repos/acme/shop/builds/${shown}`);
      assert.match(parseHtml(await page.text()).text, /1 flaky:/, order[0]);
      const { failed_in, submissions } = await (await fixture.get(
        `/api/repos/acme/shop/submissions/${shown}/build`,
      )).json();
      const { environment } = submissions.find(({ id }: { id: string }) => id === failed_in[0]);
      assert.equal(environment, "Linux-X64");
    }
  });

  it("gives the reason for the verdict in the closed row of a failure, with a link to the test", async () => {
    const { submissionId } = await fixture.upload(shop, [
      failed("first", { name: "c" }),
      failed("second", { name: "d" }),
    ], { commitOid: "aaaaaa6" });
    const page = parseHtml(
      await (await fixture.get(`/repos/acme/shop/builds/${submissionId}`)).text(),
    );
    const rows = page.all(".cause");
    assert.equal(rows.length, 2);
    for (const row of rows) {
      const [reason] = row.all(".reason");
      assert.match(reason!.text, /(yours|unclear): (no upload names its branch|failed in)/);
      assert.equal(row.all("details")[0]!.all(".reason").length, 0);
      assert.match(row.all("a")[0]!.attributes.href!, /tests\/[0-9a-f]{24}$/);
    }
  });

  it("shows a heading with the line that it announces, as the page of the test does", async () => {
    const body = "Error: Not equal:\n  expected: 3\n  actual: 4";
    const failure = failed("Error: Not equal:", { name: "h", body });
    const { submissionId } = await fixture.upload(shop, [failure], { commitOid: "aaaaaa9" });
    for (
      const path of [
        `/repos/acme/shop/builds/${submissionId}`,
        `/tests/${idOf(shop, { name: "h" })}`,
      ]
    ) {
      const page = parseHtml(await (await fixture.get(path)).text());
      assert.deepEqual(
        page.all(".message").map(({ text }) => text),
        ["Error: Not equal: expected: 3"],
        path,
      );
    }
  });

  it("says why there are more results than tests that ran", async () => {
    const results = [...flakyBy("busy", "e"), { name: "f" }];
    const skipped = [{ name: "g", conclusion: "skipped" as const }];
    assert.match(
      await textOf("aaaaaa7", [...results, ...skipped]),
      /Results ?4 in 1 upload, 1 skipped, 1 further attempt/,
    );
    const unknown = { name: "h", conclusion: "unknown" as const };
    assert.match(
      await textOf("aaaaaa9", [...results, unknown]),
      /Results ?4 in 1 upload, 1 of unknown outcome, 1 further attempt/,
    );
    assert.match(await textOf("aaaaaa8", [{ name: "f" }]), /Results ?1 in 1 upload(?!,)/);
  });

  it("says that a flaky test that is probably the change's fault did not fail in the compared runs", async () => {
    const repository = await fixture.addRepository("acme", "branches");
    for (const index of Array(20).keys()) {
      await fixture.upload(repository, [{ name: "b" }], {
        branch: "main",
        commitOid: `b${String(index).padStart(6, "0")}`,
        recordedAt: NOW - 5 * DAY + index,
      });
    }
    await fixture.upload(repository, flakyBy("late", "b"), {
      branch: "fix",
      commitOid: "bbbbbb1",
      recordedAt: NOW - DAY,
    });
    const { submissionId } = await fixture.upload(repository, [failed("late", { name: "b" })], {
      branch: "fix",
      commitOid: "bbbbbb2",
    });
    const path = `/repos/acme/branches/builds/${submissionId}`;
    const { text } = parseHtml(await (await fixture.get(path)).text());
    assert.match(
      text,
      /flaky failed and passed on the same code in the last 14 days, but in none of the 20 runs on main that this one is compared with probably yours: never failed in 20 runs on main/,
    );
    assert.match(text, /The gate counts them as:\s+1 flaky: /);
  });

  it("does not say that a test was not flaky on main when it was in another job", async () => {
    const repository = await fixture.addRepository("acme", "legs");
    const on = (job: string, index: number) => ({
      branch: "main",
      job,
      environment: job,
      commitOid: `c${String(index).padStart(6, "0")}`,
      recordedAt: NOW - DAY + index,
    });
    for (const index of Array(20).keys()) {
      await fixture.upload(repository, [{ name: "l" }], on("linux", index));
    }
    await fixture.upload(repository, flakyBy("late", "l"), on("windows", 21));
    const { submissionId } = await fixture.upload(
      repository,
      [failed("late", { name: "l" })],
      { ...on("linux", 21), recordedAt: NOW - DAY + 22 },
    );
    const path = `/repos/acme/legs/builds/${submissionId}`;
    const { text } = parseHtml(await (await fixture.get(path)).text());
    assert.match(text, /never failed in 20 runs on main/);
    assert.match(
      text,
      /flaky failed and passed on the same code in the last 14 days, but in none of the 20 runs on main that this one is compared with/,
    );
  });

  it("says that a job ended red without a failed test, as lists of builds do", async () => {
    const repository = await fixture.addRepository("acme", "crashes");
    const more = { exitCode: 134, job: "unit", buildUrl: "https://ci.example/crash" };
    const { submissionId } = await fixture.upload(repository, [{ name: "b" }], more);
    const read = async (path: string) => parseHtml(await (await fixture.get(path)).text()).text;
    const page = await read(`/repos/acme/crashes/builds/${submissionId}`);
    assert.match(page, /Ended red without a failed test: exit code 134 of unit/);
    assert.doesNotMatch(page, /nothing to fix/);
    const overview = await read("/repos/acme/crashes");
    assert.match(overview, /red without a failed test/);
    assert.match(overview, /: 1 failed, 0 flaky, 0 passed/);
    const builds = "/repos/acme/crashes/builds";
    assert.match(await read(`${builds}?outcome=failed`), /red without a failed test/);
    assert.doesNotMatch(await read(`${builds}?outcome=passed`), /red without/);
    const { submissions: [submission] } = await (await fixture.get(
      "/api/repos/acme/crashes/submissions",
    )).json();
    assert.deepEqual([submission.exit_code, submission.failed_without_test], [134, true]);
  });

  it("does not say that there is nothing to fix of a command that failed, after a retry that passed", async () => {
    const repository = await fixture.addRepository("acme", "thresholds");
    const more = {
      exitCode: 1,
      job: "unit",
      buildUrl: "https://ci.example/threshold",
      attempt: "1",
    };
    const retried = [{ name: "b", conclusion: "failure" as const }, { name: "b" }];
    const read = async (id: string) =>
      parseHtml(await (await fixture.get(`/repos/acme/thresholds/builds/${id}`)).text()).text;
    const { submissionId } = await fixture.upload(repository, retried, more);
    assert.match(await read(submissionId), /No test failed at its last attempt, but exit code 1/);
    await fixture.upload(repository, [{ name: "b" }], { ...more, attempt: "2", exitCode: 0 });
    assert.doesNotMatch(await read(submissionId), /but exit code/);
  });

  it("says of a build without a test that ran that none ran, as lists of builds do", async () => {
    const repository = await fixture.addRepository("acme", "skips");
    const skipped = [{ name: "b", conclusion: "skipped" as const }];
    await fixture.upload(repository, skipped, {
      job: "unit",
      buildUrl: "https://ci.example/skips",
    });
    const read = async (path: string) => parseHtml(await (await fixture.get(path)).text()).text;
    for (const path of ["/repos/acme/skips", "/repos/acme/skips/builds"]) {
      const list = await read(path);
      assert.match(list, /no test ran/, path);
    }
    assert.doesNotMatch(await read("/repos/acme/skips/builds?outcome=passed"), /no test ran/);
  });

  it("says that a test process ended without a report, however few tests that are", async () => {
    const repository = await fixture.addRepository("acme", "processes");
    const many = Array.from({ length: 40 }, (_, index) => ({ name: `t${index}`, file: "many.ts" }));
    const job = { job: "unit", branch: "main" };
    for (const days of [4, 3, 2]) {
      await fixture.upload(repository, [...many, { name: "b", file: "pay.ts" }], {
        ...job,
        recordedAt: NOW - days * DAY,
      });
    }
    const { submissionId } = await fixture.upload(repository, many, { ...job, branch: "fix" });
    const path = `/repos/acme/processes/builds/${submissionId}`;
    const { text } = parseHtml(await (await fixture.get(path)).text());
    assert.match(
      text,
      /Not whole: 1 test process ended without a report, unlike the last 3 runs on the base branch: pay\.ts/,
    );
    assert.doesNotMatch(text, /nothing to fix/);
  });

  it("shows the pull request, the author and the job as CI said", async () => {
    await database().sql`
      update repository set url = 'https://github.com/acme/shop'
      where repository_id = ${shop.repositoryId}`;
    const { submissionId } = await fixture.upload(shop, [{ name: "b" }], {
      branch: "fork-er:main",
      pullNumber: 12,
      pullTitle: "Faster <carts>",
      author: "Ada Lovelace",
      environment: "Linux-X64",
      job: "unit",
      workflow: "CI",
      shard: "2/4",
      attempt: "3",
      runner: "ubuntu-4",
    });
    const response = await fixture.get(`/repos/acme/shop/builds/${submissionId}`);
    const text = await response.text();
    assert.match(text, /<a[^>]* href="https:\/\/github.com\/acme\/shop\/pull\/12"[^>]*>#12<\/a>/);
    const shown = parseHtml(text).text.replaceAll(/\s/g, "");
    for (
      const part of [
        "fork-er:main·pull/12",
        "#12Faster<carts>",
        "byAdaLovelace",
        "Jobunit",
        "WorkflowCI",
        "Shard2/4",
        "Attempt3",
        "Runnerubuntu-4",
      ]
    ) assert.ok(shown.includes(part), `${part}: ${shown}`);
  });

  it("is found by its CI run or key, as soon as it is stored", async () => {
    const buildUrl = "https://ci.example/7?a=b&c=d";
    const { submissionId } = await fixture.upload(shop, [{ name: "b" }], { buildUrl, key: "7.gz" });
    for (const query of [`url=${encodeURIComponent(buildUrl)}`, "key=7.gz"]) {
      const found = await fixture.get(`/repos/acme/shop/build?${query}`);
      assert.equal(found.status, 302, query);
      assert.match(found.headers.get("location")!, new RegExp(`builds/${submissionId}$`));
    }
    for (const query of ["", "?url=", "?key=%00", "?url=https://ci.example/8"]) {
      const missing = await fixture.get(`/repos/acme/shop/build${query}`);
      assert.equal(missing.status, 200, query);
      assert.match(parseHtml(await missing.text()).text, /This build is not stored/);
    }
    assert.equal((await fixture.get("/repos/acme/other/build?key=7.gz")).status, 404);
  });
});
