import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { findRepository } from "../../db/admin/repositories.ts";
import { silentLog } from "../silent_log.ts";
import { WINDOW_SECONDS } from "../../lib/base/time.ts";
import { makeToken } from "../../lib/base/token.ts";
import { createApp, routes } from "../../routes/mod.ts";
import { describeWithDatabase } from "../database.ts";
import { StatementRecorder } from "../db/statements/recorder.ts";
import { type ContractFixture, createContractFixture } from "./contract_fixture.ts";
import { flaky, NOW, request } from "./fixture.ts";

const recorder = new StatementRecorder();

/**
 * Statements of the first request of a process, those of transactions included. They are what a cold
 * request costs.
 */
const COLD: [route: string, query: string, statements: number][] = [
  ["/api/me/organizations", "", 1],
  ["/api/me/repositories", "", 6],
  ["/api/repos/:owner/:name/submissions", "", 6],
  ["/api/repos/:owner/:name/submissions", "?limit=2", 6],
  ["/api/repos/:owner/:name/submissions/:id/tests", "", 13],
  ["/api/repos/:owner/:name/submissions/:id/build", "", 12],
  ["/api/repos/:owner/:name/failures", "", 9],
  ["/api/repos/:owner/:name/durations", "", 9],
  ["/api/repos/:owner/:name/slow-tests", "", 16],
  ["/api/repos/:owner/:name/states", "", 10],
  ["/api/repos/:owner/:name/groups", "", 9],
  ["/api/repos/:owner/:name/durations", "?by=test", 10],
  ["/api/repos/:owner/:name/verdicts", "?tests=0123456789abc", 19],
  ["/api/repos/:owner/:name/conclusions", "", 7],
  ["/api/tests/:id/runs", "", 10],
  ["/api/tests/:id/evidence", "", 12],
  ["/api/tests/:id/failures", "", 10],
  ["/api/repos/:owner/:name/tests", "", 11],
  ["/api/repos/:owner/:name/tests", "?branch=main,release/*", 11],
  ["/api/tests/:id", "", 13],
  ["/api/tests/:id/results", "", 6],
  ["/api/v1/flaky/tests", "", 11],
  ["/api/v1/flaky/tests", "?repository=shop&quarantine=false", 11],
  ["/api/v1/flaky/tests", "?repository=shop&include=tags,time_consumed", 11],
  ["/api/v1/flaky/badges", "?repository=shop", 6],
  ["/api/v1/coverage/badges", "?repository=shop", 6],
];

describeWithDatabase("a request", (database) => {
  let contract: ContractFixture;

  before(async () => {
    contract = await createContractFixture(database());
  });

  /** A path that matches the pattern of a route. */
  const pathOf = (route: string) =>
    route.replace(":owner", "acme").replace(":name", "shop")
      .replace("submissions/:id", `submissions/${contract.submissionId}`)
      .replace(":id", contract.testId);

  /** Sends requests to new apps with empty caches. */
  function newProcess(token = contract.fixture.token) {
    const app = createApp({
      sql: database().sql,
      now: () => NOW,
      windowSeconds: WINDOW_SECONDS,
      log: silentLog,
    });
    return async (path: string, status: number, headers: Record<string, string> = {}) => {
      const authorization = `Bearer ${token}`;
      let etag: string | null = null;
      const sent = await recorder.during(async () => {
        const response = await app(request(path, { authorization, ...headers }));
        assert.equal(response.status, status, path);
        etag = response.headers.get("etag");
        await response.body?.cancel();
      });
      return { count: sent.length, etag: etag ?? "", texts: sent.map(({ text }) => text) };
    };
  }

  it("of every data endpoint is counted here", () => {
    const expected = routes.filter(({ resource }) => resource).map(({ path }) => path);
    assert.deepEqual(new Set(COLD.map(([route]) => route)), new Set(expected));
  });

  for (const [route, query, statements] of COLD) {
    it(`for ${route}${query} is ${statements} statements when cold, and one from then on`, async () => {
      const ask = newProcess();
      const path = pathOf(route) + query;
      const cold = await ask(path, 200);
      assert.equal(cold.count, statements, `${cold.count} statements:\n${cold.texts.join("\n")}`);
      assert.equal((await ask(path, 200)).count, 1);
      assert.equal((await ask(path, 304, { "if-none-match": cold.etag })).count, 1);
    });
  }

  it("is one statement for every search and page of a list that was loaded", async () => {
    const ask = newProcess();
    for (const list of ["/api/repos/acme/shop/tests", "/api/v1/flaky/tests"]) {
      await ask(list, 200);
      for (const query of ["q=Ünit+1", "q=ok", "limit=3", "sort=recency"]) {
        assert.equal((await ask(`${list}?${query}`, 200)).count, 1, query);
      }
    }
  });

  it("loads what an upload changed, once for concurrent requests", async () => {
    const app = createApp({
      sql: database().sql,
      now: () => NOW,
      windowSeconds: WINDOW_SECONDS,
      log: silentLog,
    });
    const { organization, token, upload } = contract.fixture;
    const ask = async (path: string) => {
      const response = await app(request(path, { authorization: `Bearer ${token}` }));
      await response.body?.cancel();
    };
    const path = "/api/repos/acme/shop/tests";
    await ask(path);
    const shop = await findRepository(database().sql, {
      ...organization,
      owner: "acme",
      name: "shop",
    });
    await upload(shop!, flaky("another"), { commitOid: "another" });
    const sent = await recorder.during(() =>
      Promise.all(["", "?limit=1", "?sort=recency", "?q=a", "?q=b"].map((q) => ask(path + q)))
    );
    const texts = sent.map(({ text }) => text);
    const counting = texts.filter((text) => text.includes("from negative_result"));
    assert.equal(counting.length, 2, texts.join("\n"));
    assert.ok(counting.some((text) => text.includes("u.data_version > ")), counting.join("\n"));
  });

  it("is one statement for the token check, and for an unknown token", async () => {
    assert.equal((await newProcess()("/api", 204)).count, 1);
    const stranger = newProcess(makeToken("api_token").plain);
    for (const [route] of COLD) assert.equal((await stranger(pathOf(route), 401)).count, 1);
    assert.equal((await newProcess(makeToken("legacy").plain)("/api", 401)).count, 1);
  });

  it("is one statement when nothing is found, or a parameter is invalid", async () => {
    const ask = newProcess();
    assert.equal((await ask("/api/repos/acme/none/tests", 404)).count, 1);
    assert.equal((await ask(`/api/tests/${"0".repeat(24)}/results`, 404)).count, 1);
    assert.equal((await ask("/api/v1/flaky/badges?repository=none", 404)).count, 1);
    assert.equal((await ask("/nowhere", 404)).count, 1);
  });

  it("is 0 without a well-formed token, or where none is required", async () => {
    assert.equal((await newProcess()("/health", 200)).count, 0);
    for (const token of ["", "tk_123", "nonsense"]) {
      assert.equal((await newProcess(token)("/api", 401)).count, 0);
    }
  });
}, { onStatement: recorder.onStatement });
