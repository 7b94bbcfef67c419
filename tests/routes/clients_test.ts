import assert from "node:assert/strict";
import { after, before, describe, it } from "@std/testing/bdd";
import { formatTimestamp } from "../../lib/base/time.ts";
import type { TestResult } from "../../lib/report/result.ts";
import { describeWithDatabase } from "../database.ts";
import {
  type OrganizationReport,
  readOrganization,
  type RepositoryReport,
  REQUESTS_AT_ONCE,
  SUBMISSIONS,
} from "./earlier_client.ts";
import { createFixture, type Fixture, idOf, NOW } from "./fixture.ts";

const RUNS = 12;
const BROKEN_RUN = 3;
const BROKEN_TESTS = 130;
const SHOP = { owner: "acme", name: "shop" };
const URL_OF_SHOP = "https://github.com/acme/shop";

const FLAKY = { suite: "cart", class: "Cart", name: "adds an item", file: "cart_test.ts" };

/** An upload to acme/shop; number 0 is the latest. */
interface Run {
  commitOid: string;
  treeOid: string | null;
  branch: string | null;
  buildUrl: string;
  recordedAt: number;
  results: Partial<TestResult>[];
}

/** In every other run a test is retried; in one run many tests have one cause. */
const UPLOADS: Run[] = Array.from({ length: RUNS }, (_, run) => ({
  commitOid: (run + 1).toString(16).padStart(7, "c"),
  treeOid: run === 1 ? "ab".repeat(20) : null,
  branch: run === 2 ? "release/2" : run === 4 ? null : "main",
  buildUrl: `https://ci.example.org/runs/${run}`,
  recordedAt: NOW - 3_600 * (run + 1),
  results: [
    { name: "quiet" },
    { name: "later", conclusion: "skipped" },
    ...run % 2 === 1 ? [] : [{
      ...FLAKY,
      conclusion: "failure" as const,
      durationMicroseconds: 30_000_000,
      message: `not visible after ${run}00 ms`,
      body: `Error: not visible after ${run}00 ms\n    at cart_test.ts:${run}\n`,
    }],
    { ...FLAKY, durationMicroseconds: 2_000 * (run + 1) },
    ...run !== BROKEN_RUN ? [] : Array.from({ length: BROKEN_TESTS }, (_, test) => ({
      suite: "mail",
      name: `mail ${String(test).padStart(3, "0")}`,
      conclusion: "error" as const,
      message: `connect ECONNREFUSED 10.0.0.${test}:25`,
      body: `connect ECONNREFUSED 10.0.0.${test}:25\n    at smtp.ts:7`,
    })),
  ],
}));

describeWithDatabase("clients over the network", (database) => {
  let fixture: Fixture;
  let server: Deno.HttpServer<Deno.NetAddr>;
  let baseUrl = "";
  const submissionIds: string[] = [];
  let flakyId = "";
  let report: OrganizationReport;
  let shop: RepositoryReport;
  let running = 0;
  let mostRunning = 0;
  const paths: string[] = [];

  before(async () => {
    fixture = await createFixture(database(), { name: "Acme" });
    const other = await createFixture(database(), { name: "other" });
    await other.upload(await other.addRepository("acme", "hidden"), [{}]);
    const repository = await fixture.addRepository(SHOP.owner, SHOP.name, 41);
    flakyId = idOf(repository, FLAKY);
    // Oldest first, as CI uploads them.
    for (const { results, ...upload } of UPLOADS.toReversed()) {
      const { submissionId } = await fixture.upload(repository, results, {
        ...upload,
        repositoryUrl: URL_OF_SHOP,
        tags: ["nightly", "owner:@acme/cart"],
        coverage: { coveredLineCount: 3, lineCount: 4 },
      });
      submissionIds.unshift(submissionId);
    }
    await fixture.upload(await fixture.addRepository("group/sub", "api"), [{ name: "only" }]);
    await fixture.addRepository("acme", "empty");

    server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
      const { pathname } = new URL(request.url);
      paths.push(pathname);
      const counted = /\/submissions\/\w+\/tests$/.test(pathname);
      if (counted) mostRunning = Math.max(mostRunning, ++running);
      const response = await fixture.app(request);
      if (counted) running--;
      return response;
    });
    baseUrl = `http://127.0.0.1:${server.addr.port}`;
    report = await readOrganization(baseUrl, fixture.token);
    shop = report.repositories.find(({ full_name }) => full_name === "acme/shop")!;
  });
  after(async () => {
    await server.shutdown();
  });

  describe("the newest client of the earlier service", () => {
    it("finds the organization and its repositories", () => {
      assert.equal(paths[0], "/api/me/organizations");
      assert.equal(report.organization.name, "Acme");
      assert.equal(report.organization.slug, "acme");
      assert.match(report.organization.id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      assert.deepEqual(
        report.repositories.map(({ id, full_name, url }) => [id, full_name, url]),
        [["2", "acme/empty", ""], ["41", "acme/shop", URL_OF_SHOP], ["1", "group/sub/api", ""]],
      );
    });

    it("shows the latest submissions as they were uploaded", () => {
      assert.deepEqual(
        shop.submissions.map(({ failed: _, ...submission }) => submission),
        UPLOADS.slice(0, SUBMISSIONS).map((upload, run) => ({
          id: submissionIds[run],
          key: `acme/shop/${submissionIds[run]}`,
          build_url: upload.buildUrl,
          commit_oid: upload.commitOid,
          tree_oid: upload.treeOid ?? "",
          branch: upload.branch ?? "",
          environment: "",
          job: "",
          shard: "",
          attempt: "",
          runner: "",
          pull_number: null,
          pull_title: "",
          author: "",
          exit_code: null,
          failed_without_test: false,
          recorded_at: formatTimestamp(upload.recordedAt),
          status: "processed",
          test_result_count: upload.results.length,
          ran_test_count: run === BROKEN_RUN ? 2 + BROKEN_TESTS : 2,
          skipped_test_count: 1,
          notes: [],
        })),
      );
    });

    it("shows every failed attempt of each, with six requests at a time", () => {
      assert.ok(mostRunning > 1 && mostRunning <= REQUESTS_AT_ONCE, `${mostRunning} requests`);
      for (const [run, { failed }] of shop.submissions.entries()) {
        const { results, recordedAt } = UPLOADS[run]!;
        const expected = results
          .filter(({ conclusion }) => conclusion === "failure" || conclusion === "error")
          .map((result) => ({
            name: result.name,
            suite: result.suite,
            class: result.class ?? "Class",
            file: result.file ?? "test.ts",
            conclusion: result.conclusion,
            duration_us: result.durationMicroseconds ?? 1_000,
            message: result.message,
            body: result.body,
            ran_at: formatTimestamp(recordedAt),
            run_count: 1,
            is_disruption: result.name === FLAKY.name,
          }));
        const names = Object.keys(expected[0] ?? {});
        const shown = failed.map((attempt: Record<string, unknown>) =>
          Object.fromEntries(names.map((name) => [name, attempt[name]]))
        );
        assert.deepEqual(shown, expected, `run ${run}`);
      }
    });

    it("shows the flaky tests and their history", () => {
      const failing = UPLOADS.filter((_, run) => run % 2 === 0);
      const failures = failing.map(({ results }) =>
        results.find(({ conclusion }) => conclusion === "failure")!
      );
      const [test, ...rest] = shop.tests;
      assert.deepEqual(rest, []);
      assert.deepEqual(
        [test.id, test.name, test.suite, test.class, test.file],
        [flakyId, FLAKY.name, FLAKY.suite, FLAKY.class, FLAKY.file],
      );
      assert.deepEqual(test.tags, ["nightly", "owner:@acme/cart"]);
      assert.equal(test.nondeterministic_negative_result_count, failing.length);
      assert.equal(test.disruptiveness_ratio, 0.333);
      assert.equal(test.pass_rate, 0.666);
      // 6 failures of 30 s, and passes of 2, 4, ... 24 ms.
      assert.equal(test.avg_duration_ms, 10_008.7);
      const firstAt = formatTimestamp(failing.at(-1)!.recordedAt);
      assert.equal(test.nondeterminism_first_recorded_at, firstAt);
      assert.deepEqual(test.recent_nondeterministic_negative_result, {
        recorded_at: formatTimestamp(failing[0]!.recordedAt),
        build_url: failing[0]!.buildUrl,
        message: failures[0]!.message,
      });
      assert.deepEqual(
        test.history.map(({ build_url, message }: Record<string, string>) => [build_url, message]),
        failing.map(({ buildUrl }, index) => [buildUrl, failures[index]!.message]),
      );
      assert.deepEqual(
        [test.details.id, test.details.repository, test.details.repository_id],
        [flakyId, "acme/shop", 41],
      );
      assert.equal(test.details.is_quarantined, false);
    });

    it("shows all runs of a flaky test, and its failures by cause", () => {
      const [test] = shop.tests;
      assert.deepEqual(
        test.runs.map((run: Record<string, unknown>) => [
          run.submission_id,
          run.conclusion,
          run.run_count,
          run.is_disruption,
          run.branch,
          run.tree_oid,
          run.body,
        ]),
        UPLOADS.flatMap(({ results, branch, treeOid }, run) => {
          const attempts = results.filter(({ name }) => name === FLAKY.name);
          const build = [branch ?? "", treeOid ?? ""];
          return attempts.map(({ conclusion, body }, index) => [
            submissionIds[run],
            conclusion ?? "passing",
            index + 1,
            conclusion === "failure",
            ...build,
            body ?? null,
          ]).reverse();
        }),
      );
      const failing = UPLOADS.filter((_, run) => run % 2 === 0);
      const [group, ...rest] = test.failures;
      assert.deepEqual(rest, []);
      const { fingerprint, ...shown } = group;
      assert.match(fingerprint, /^[0-9a-f]{16}$/);
      const latest = failing[0]!.results.find(({ conclusion }) => conclusion === "failure")!;
      assert.deepEqual(shown, {
        message: latest.message,
        body: latest.body,
        count: failing.length,
        disruption_count: failing.length,
        first_recorded_at: formatTimestamp(failing.at(-1)!.recordedAt),
        last_recorded_at: formatTimestamp(failing[0]!.recordedAt),
        branches: ["main", "release/2"],
        latest_build_url: failing[0]!.buildUrl,
        latest_commit_oid: failing[0]!.commitOid,
      });
    });

    it("reads the percentages from the badges", () => {
      assert.deepEqual(
        report.repositories.map(({ flakiness, coverage }) => [flakiness, coverage]),
        [[null, null], [50, 75], [0, null]],
      );
    });

    it("gets a 404 for the id of another organization", async () => {
      const response = await fixture.get(
        "/api/me/repositories?organization_id=00000000-0000-4000-8000-000000000000",
      );
      assert.equal(response.status, 404);
      await response.body?.cancel();
    });
  });
});
