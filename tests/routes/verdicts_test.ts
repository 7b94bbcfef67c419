import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import type { Repository } from "../../db/admin/repositories.ts";
import { pruneRepository } from "../../db/write/prune.ts";
import { failureCause, fingerprint } from "../../lib/analysis/failure_groups.ts";
import { shortTestId } from "../../lib/base/identity.ts";
import { MORE_FAILURES, type TestResult } from "../../lib/report/result.ts";
import { describeWithDatabase } from "../database.ts";
import { bodyOf, createShop, DAY, type Fixture, flaky, idOf, NOW, quarantine } from "./fixture.ts";

const VERDICTS = "/api/repos/:owner/:name/verdicts";

describeWithDatabase("verdicts", (database) => {
  let fixture: Fixture;
  let shop: Repository;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    const failed = (name: string) => ({ name, conclusion: "failure" as const, message: "oops" });
    const upload = (commitOid: string, branch: string | null, days: number, names: string[]) =>
      fixture.upload(shop, names.map(failed), {
        commitOid,
        branch,
        recordedAt: NOW - days * DAY,
        buildUrl: `https://ci.example.org/${commitOid}`,
      });
    await upload("aaaaaa1", "main", 2, ["broken", "flaky", "aside"]);
    await upload("aaaaaa2", "main", 1, ["broken"]);
    await upload("aaaaaa3", "release/1", 1, ["released"]);
    await upload("aaaaaa4", null, 1, ["elsewhere"]);
    await upload("aaaaaa5", "main", 15, ["old"]);
    await fixture.upload(shop, [...flaky("flaky"), ...flaky("aside"), { name: "good" }], {
      commitOid: "bbbbbb1",
      branch: "topic",
    });
    await quarantine(database(), idOf(shop, { name: "aside" }));
    await fixture.upload(await fixture.addRepository("acme", "other"), [failed("elsewhere")]);
  });

  /** The verdicts by the name of the test. */
  async function verdicts(names: string[], query = ""): Promise<Record<string, string>> {
    const ids = names.map((name) => idOf(shop, { name })).join(",");
    const { tests } = await bodyOf(
      await fixture.get(`/api/repos/acme/shop/verdicts?tests=${ids}${query}`),
      VERDICTS,
    );
    return Object.fromEntries(
      tests.map(({ name, verdict }: Record<string, string>) => [name, verdict]),
    );
  }

  it("name the owners of the test's file, and of no other", async () => {
    const owned = { name: "owned", conclusion: "failure" as const, message: "oops" };
    await fixture.upload(shop, [owned], {
      commitOid: "ccccccc1",
      tags: ["owner:@acme/web", "nightly", "owner:@acme/core"],
    });
    const ids = ["owned", "broken", "missing"].map((name) => idOf(shop, { name })).join(",");
    const response = await fixture.get(`/api/repos/acme/shop/verdicts?tests=${ids}`);
    const { tests } = await bodyOf(response, VERDICTS);
    const owners = tests.map((test: { owners: string[] }) => test.owners);
    assert.deepEqual(owners, [["@acme/core", "@acme/web"], [], []]);
  });

  it("take the branch of the run and the base branch as they are stored", async () => {
    const repository = await fixture.addRepository("acme", "detached");
    const failed = { name: "a", conclusion: "failure" as const, message: "oops" };
    await fixture.upload(repository, [failed], { commitOid: "ddddddd1", branch: "fix" });
    const cause = fingerprint(failureCause("oops", ""));
    const id = idOf(repository, { name: "a" });
    const get = (base: string, branch: string) =>
      fixture.get(
        `/api/repos/acme/detached/verdicts?tests=${id}:${cause}&base=${base}&run_branch=${branch}`,
      );
    const answer = async (branch: string, base = "main") =>
      (await bodyOf(await get(base, branch), VERDICTS)).tests[0].evidence;
    assert.equal(await answer("HEAD"), await answer(""));
    assert.notEqual(await answer("HEAD"), await answer("other"));
    assert.equal(await answer("origin/fix"), await answer("fix"));
    assert.notEqual(await answer("origin/fix"), await answer("other"));
    assert.equal(await answer("other", "origin/fix"), await answer("other", "fix"));
    assert.notEqual(await answer("other", "origin/fix"), await answer("other"));
    assert.equal((await get("origin/HEAD", "fix")).status, 400);
  });

  it("are the first of quarantined, flaky and known that applies; every test is answered", async () => {
    const names = ["broken", "flaky", "aside", "released", "elsewhere", "old", "good", "missing"];
    assert.deepEqual(await verdicts(names), {
      aside: "quarantined",
      flaky: "flaky",
      broken: "known",
      released: "new",
      elsewhere: "new",
      old: "known",
      good: "new",
      "": "new",
    });
    assert.deepEqual(await verdicts(["released", "broken"], "&base=release/*"), {
      released: "known",
      broken: "new",
    });
    assert.deepEqual(await verdicts(["released", "elsewhere"], "&base=*"), {
      released: "known",
      elsewhere: "new",
    });
    assert.deepEqual(await verdicts(["released", "broken"], "&base=main,release/1"), {
      released: "known",
      broken: "known",
    });
  });

  it("come with the ratio, the latest disruption and the latest failure on the base", async () => {
    const ids = ["flaky", "broken"].map((name) => idOf(shop, { name })).sort();
    const { tests } = await bodyOf(
      await fixture.get(`/api/repos/acme/shop/verdicts?tests=${ids}`),
      VERDICTS,
    );
    assert.deepEqual(tests.map(({ id }: { id: string }) => id), ids);
    const shown = Object.fromEntries(
      tests.map(({ name, ...test }: { name: string }) => [name, test]),
    );
    assert.equal(shown.flaky.disruptiveness_ratio, 0.333);
    assert.equal(shown.flaky.recent_nondeterministic_negative_result.message, "flaky failed");
    assert.equal(shown.broken.disruptiveness_ratio, 0);
    assert.equal(shown.broken.recent_nondeterministic_negative_result, null);
    assert.deepEqual(shown.broken.recent_base_negative_result, {
      recorded_at: "2026-09-20T14:13:20Z",
      build_url: "https://ci.example.org/aaaaaa2",
      message: "oops",
    });
  });

  it("come with the causes of the disruptions that are stored, however old", async () => {
    const other = await fixture.addRepository("acme", "causes");
    const upload = (message: string, days: number, conclusions: ("failure" | "passing")[]) =>
      fixture.upload(
        other,
        conclusions.map((conclusion) => ({ name: "a", conclusion, message })),
        { commitOid: `ccccc${days}0`, recordedAt: NOW - days * DAY, branch: "main" },
      );
    await upload("connection refused", 60, ["failure", "passing"]);
    await upload("timed out after 31 ms", 3, ["failure", "passing"]);
    await upload("timed out after 5 ms", 2, ["failure", "passing"]);
    // Never passed at this code version.
    await upload("expected 1, found 2", 1, ["failure"]);
    const path = `/api/repos/acme/causes/verdicts?tests=${idOf(other, { name: "a" })}`;
    const { tests: [test] } = await bodyOf(await fixture.get(path), VERDICTS);
    const seen = ["connection refused", "timed out after 7 ms"]
      .map((message) => fingerprint(failureCause(message, "")));
    assert.deepEqual(test.causes, seen.sort());
  });

  it("come with all causes of a disruption that failed for several", async () => {
    const other = await fixture.addRepository("acme", "assertions");
    const failing = (otherMessages: string[]): Partial<TestResult> => ({
      name: "a",
      conclusion: "failure",
      message: "total 7 is not 8",
      otherMessages,
    });
    const causesSeen = async () => {
      const path = `/api/repos/acme/assertions/verdicts?tests=${idOf(other, { name: "a" })}`;
      const { tests: [test] } = await bodyOf(await fixture.get(path), VERDICTS);
      return test.causes;
    };
    const causesOf = (...messages: string[]) =>
      messages.map((message) => fingerprint(failureCause(message, ""))).sort();

    const results = [failing(["no receipt", "total 9 is not 8"]), { name: "a" }];
    await fixture.upload(other, results, { commitOid: "ddddd10" });
    assert.deepEqual(await causesSeen(), causesOf("total 1 is not 2", "no receipt"));

    // Of a hundred and more, the rest is not known.
    const words = Array.from({ length: 120 }, (_, index) => "x".repeat(index + 1));
    await fixture.upload(other, [failing([...words, MORE_FAILURES]), { name: "a" }], {
      commitOid: "ddddd20",
    });
    const seen = await causesSeen();
    assert.equal(seen.length, 102);
    assert.ok(!seen.includes(causesOf(MORE_FAILURES)[0]!));
  });

  it("come with the causes by the present rules, and as they were stored by earlier ones", async () => {
    const other = await fixture.addRepository("acme", "upgraded");
    const messages = ["no pod web-7d4b9c", "connection refused"];
    for (const [index, message] of messages.entries()) {
      const failing = { name: "a", conclusion: "failure" as const, message };
      await fixture.upload(other, [failing, { name: "a" }], { commitOid: `eeeee1${index}` });
    }
    await database().sql`
      update negative_result set fingerprint = decode('00112233aabbccdd', 'hex')
      where repository_id = ${other.repositoryId}`;
    const path = `/api/repos/acme/upgraded/verdicts?tests=${idOf(other, { name: "a" })}`;
    const { tests: [test] } = await bodyOf(await fixture.get(path), VERDICTS);
    const present = messages.map((message) => fingerprint(failureCause(message, "")));
    assert.deepEqual(test.causes, ["00112233aabbccdd", ...present].sort());
  });

  it("come with the number of tests that the job has on the base branch", async () => {
    const other = await fixture.addRepository("acme", "jobs");
    const tests = (count: number, skipped = 0) =>
      Array.from({ length: count }, (_, index) => ({
        name: `${index}`,
        conclusion: index < skipped ? "skipped" as const : "passing" as const,
      }));
    const upload = (results: ReturnType<typeof tests>, more = {}) =>
      fixture.upload(other, results, {
        branch: "main",
        job: "unit",
        environment: "Linux-X64",
        shard: "1/2",
        recordedAt: NOW - 90 * DAY,
        ...more,
      });
    const expected = async (query: string) => {
      const ids = idOf(other, { name: "0" });
      const path = `/api/repos/acme/jobs/verdicts?tests=${ids}&${query}`;
      const answer = await bodyOf(await fixture.get(path), VERDICTS);
      return [answer.expected_test_count, answer.base_test_counts, answer.expected_skipped_count];
    };
    const run = "run_job=unit&run_environment=Linux-X64&run_shard=1/2";
    await upload(tests(10, 1));
    await upload(tests(12, 2), { recordedAt: NOW - 3 * DAY });
    await upload(tests(3), { branch: "topic" });
    await upload(tests(3), { job: "lint" });
    await upload(tests(3), { shard: "2/2" });
    await upload(tests(3), { environment: "" });
    assert.deepEqual(await expected(run), [null, [10, 9], null]);
    await upload(tests(11, 1), { recordedAt: NOW - 2 * DAY });
    assert.deepEqual(await expected(run), [10, [10, 10, 9], 1]);
    assert.deepEqual(await expected(`${run}&base=none`), [null, [], null]);
    for (
      const other of [
        "",
        "run_job=&run_environment=Linux-X64",
        "run_job=unit",
        "run_job=%00",
        "run_job=un",
      ]
    ) {
      assert.deepEqual(await expected(other), [null, [], null], other);
    }
    for (let days = 1; days < 9; days++) await upload(tests(20 + days), { recordedAt: NOW - days });
    assert.equal((await expected(run))[1].length, 10);
  });

  it("are other ones once what they look back at is pruned", async () => {
    const other = await fixture.addRepository("acme", "pruned");
    const { repositoryId } = other;
    await fixture.upload(other, flaky("t"), {
      branch: "main",
      job: "unit",
      recordedAt: NOW - 90 * DAY,
    });
    await quarantine(database(), idOf(other, { name: "t" }));
    const path = `/api/repos/acme/pruned/verdicts?tests=${idOf(other, { name: "t" })}&run_job=unit`;
    const shown = async (response: Response) => {
      const { tests, base_test_counts } = await bodyOf(response, VERDICTS);
      return [tests[0].causes.length, base_test_counts];
    };
    const before = await fixture.get(path);
    const tag = before.headers.get("etag")!;
    assert.deepEqual(await shown(before), [1, [1]]);
    await pruneRepository(database().sql, { repositoryId, cutoff: NOW - 30 * DAY });
    const after = await fixture.get(path, { "if-none-match": tag });
    assert.deepEqual(await shown(after), [0, []]);
  });

  it("come with the files that ran in each of the last 3 runs of the job, on request", async () => {
    const other = await fixture.addRepository("acme", "files");
    const run = async (files: string[], more = {}) => {
      const tests = files.map((file, index) => {
        const name = `${index}`;
        if (file.startsWith("Class")) return { name, file: "", class: file, suite: "s" };
        if (file.startsWith("Suite")) return { name, file: "", class: "", suite: file };
        return { name, file, class: "c", suite: "s" };
      });
      await fixture.upload(other, tests, {
        job: "unit",
        branch: "main",
        recordedAt: NOW - 1000 + ++runs,
        commitOid: `f11e00${runs}`,
        buildUrl: `https://ci.example/${runs}`,
        ...more,
      });
    };
    let runs = 0;
    const path = "/api/repos/acme/files/verdicts?tests=0123456789abc&run_job=unit";
    const expected = async (more = "&expected_files=true") =>
      (await bodyOf(await fixture.get(path + more), VERDICTS)).expected_files;
    await run(["a.ts", "b.ts", "ClassA", "SuiteA", "SuiteB"]);
    await run(["a.ts", "b.ts", "ClassA", "SuiteA"]);
    assert.equal(await expected(), null);
    await run(["a.ts", "ClassA", "new.ts", "SuiteA"]);
    await run(["b.ts"], { branch: "other" });
    await run(["b.ts"], { job: "other" });
    const all = [
      { file: "", class: "", suite: "SuiteA" },
      { file: "", class: "ClassA", suite: "" },
      { file: "a.ts", class: "c", suite: "" },
    ];
    assert.deepEqual(await expected(), all);
    assert.equal(await expected(""), null);
    // The upload of this very run says nothing about it.
    await run(["b.ts"], { buildUrl: "https://ci.example/own" });
    const own = `&expected_files=true&run_build_url=${
      encodeURIComponent("https://ci.example/own")
    }`;
    assert.deepEqual(await expected(own), all);
    assert.deepEqual(await expected(), []);
  });

  it("come with the mass failures of the last two hours", async () => {
    const other = await fixture.addRepository("acme", "outages");
    const tests = (failed: number) =>
      Array.from({ length: 20 }, (_, index) => ({
        name: `${index}`,
        conclusion: index < failed ? "failure" as const : "passing" as const,
      }));
    const outage = async () => {
      const path = `/api/repos/acme/outages/verdicts?tests=${idOf(other, { name: "0" })}`;
      const { outage } = await bodyOf(await fixture.get(path), VERDICTS);
      return outage?.runs.map((run: Record<string, unknown>) => [
        run.recorded_at,
        run.build_url,
        run.failed_test_count,
        run.ran_test_count,
      ]) ?? null;
    };
    await fixture.upload(other, tests(4), { recordedAt: NOW - 60 });
    await fixture.upload(other, tests(20), { recordedAt: NOW - 7201 });
    assert.equal(await outage(), null);
    const buildUrl = "https://ci.example/7";
    await fixture.upload(other, tests(5), { recordedAt: NOW - 7200, buildUrl });
    assert.deepEqual(await outage(), [["2026-09-21T12:13:20Z", buildUrl, 5, 20]]);
    fixture.clock.now = NOW + 1;
    assert.equal(await outage(), null);
    fixture.clock.now = NOW;
  });

  it("take the last 13 digits of an id, in any case, but no id of another repository", async () => {
    const identity = { suite: "suite", class: "Class", name: "flaky", file: "test.ts" };
    const short = shortTestId(identity);
    const id = idOf(shop, { name: "flaky" });
    const other = `${"0".repeat(11)}${short}`;
    for (
      const [tests, names] of [
        [short, ["flaky"]],
        [short.toUpperCase(), ["flaky"]],
        [` ${id.toUpperCase()} ,${short},`, ["flaky", "flaky"]],
        [other, [""]],
      ] as const
    ) {
      const query = new URLSearchParams({ tests });
      const body = await bodyOf(
        await fixture.get(`/api/repos/acme/shop/verdicts?${query}`),
        VERDICTS,
      );
      assert.deepEqual(body.tests.map(({ name }: { name: string }) => name), names, tests);
    }
  });

  it("are known while the latest run on the base branch is a failed one", async () => {
    fixture.clock.now = NOW + 13 * DAY + 1;
    assert.deepEqual(await verdicts(["broken"]), { broken: "known" });
    fixture.clock.now = NOW;
  });

  it("say that the run ended red without a failed test, by its exit code or as it is stored", async () => {
    const run = { job: "unit", buildUrl: "https://ci.example.org/crash", attempt: "1" };
    await fixture.upload(shop, [{ name: "good" }], { ...run, exitCode: 134, commitOid: "eeeeee1" });
    const isRed = async (query: Record<string, string>) => {
      const search = new URLSearchParams({ tests: idOf(shop, { name: "good" }), ...query });
      const response = await fixture.get(`/api/repos/acme/shop/verdicts?${search}`);
      return (await bodyOf(response, VERDICTS)).failed_without_test;
    };
    assert.equal(await isRed({ run_exit_code: "134", run_failed_test_count: "0" }), true);
    assert.equal(await isRed({ run_exit_code: "0", run_failed_test_count: "0" }), false);
    assert.equal(await isRed({ run_exit_code: "1", run_failed_test_count: "1" }), false);
    const stored = { run_build_url: run.buildUrl, run_job: run.job, run_attempt: run.attempt };
    assert.equal(await isRed(stored), true);
    assert.equal(await isRed({ ...stored, run_attempt: "2" }), false);
    assert.equal(await isRed({}), false);
  });
});
