import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { encodeKeysetCursor, encodeOffsetCursor, MAX_OFFSET } from "../../lib/base/cursor.ts";
import { organizationUuid } from "../../lib/base/identity.ts";
import { silentLog } from "../silent_log.ts";
import { WINDOW_SECONDS } from "../../lib/base/time.ts";
import { createApp } from "../../routes/mod.ts";
import { describeWithDatabase } from "../database.ts";
import { Contract, type Operation, seen, type SeenResponse } from "./contract.ts";
import { type ContractFixture, createContractFixture } from "./contract_fixture.ts";
import { assertBadRequest, assertError, NOT_FOUND } from "./fixture.ts";

/** An invalid value of each parameter, and its number of messages. */
const WRONG: Record<string, [value: string, messages: number][]> = {
  limit: [["0", 1], ["-1", 1], ["1.0", 1], ["1e2", 1], ["ten", 1], ["１", 1], [" 1", 1]],
  after: [["%", 1], ["x", 1], [btoa("page:1"), 1], [btoa("offset:-1"), 1], ["b2Zmc2V0OjEw=A", 1]],
  job: [["x".repeat(2_001), 1], [Array.from({ length: 21 }, (_, n) => `b${n}`).join(), 1]],
  by: [["suite", 1], ["File", 1]],
  as_of: [["yesterday", 1], ["2026-02-30T00:00:00Z", 1], ["2026-01-31T08:00:00", 1]],
  sort: [["name", 1], ["Recency", 1], ["recency ", 1]],
  q: [
    ["first-seen:", 1],
    ["last-seen:>2026-02-30", 1],
    ["tags:,", 1],
    ["tags: last-seen:=2026-01-01 ok", 2],
    ["x".repeat(1_001), 1],
  ],
  status: [["fail", 1], ["Failed", 1]],
  conclusion: [["fail", 1], ["all ", 1]],
  branch: [["x".repeat(2_001), 1], [Array.from({ length: 21 }, (_, n) => `b${n}`).join(), 1]],
  environment: [["x".repeat(2_001), 1], [Array.from({ length: 21 }, (_, n) => `e${n}`).join(), 1]],
  base: [["x".repeat(2_001), 1], [Array.from({ length: 21 }, (_, n) => `b${n}`).join(), 1]],
  state: [["fail", 1], ["broken,fail", 1]],
  without_reruns: [["maybe", 1]],
  days: [["x", 1], ["0", 1], ["366", 1]],
  since: [["HEAD", 1], ["9f2c4e", 1], ["\0", 1]],
  tests: [
    ["", 1],
    [",", 1],
    ["x", 1],
    ["0123456789abcdef0123456", 1],
    ["0123456789abc,0123456789abcd", 1],
    [Array(101).fill("0123456789abc").join(), 1],
  ],
  run_test_count: [["x", 1], ["-1", 1]],
  run_failed_test_count: [["x", 1], ["1.5", 1]],
  run_exit_code: [["x", 1], ["1.5", 1]],
  run_causes: [["x", 1], ["9c1d6f02ab37e845*x", 1]],
  repository: [["", 1]],
  run_submission: [["abc", 1]],
  repository_id: [["", 1], ["-1", 1], ["0x1", 1], ["1 ", 1]],
};

/** Parameters that accept any text. */
const NEVER_WRONG = [
  "expected_files",
  "quarantine",
  "quarantined",
  "include",
  "branch_or_pr",
  "run_job",
  "run_workflow",
  "run_environment",
  "run_shard",
  "run_attempt",
  "run_commit",
  "run_tree",
  "run_branch",
  "run_queue_base",
  "run_pull_number",
  "run_build_url",
];

describeWithDatabase("the contract", (database) => {
  const contract = new Contract();
  let there: ContractFixture;
  let authorization: string;

  before(async () => {
    there = await createContractFixture(database());
    authorization = `token ${there.fixture.token}`;
  });

  /** What the path of an operation calls `id`. */
  const idFor = ({ path }: { path: string }) =>
    path.includes("/submissions/") ? there.submissionId : there.testId;

  /** The path of an operation, with existing or unknown values. */
  function pathOf(operation: Operation, { exists = true, more = {} as Record<string, string> }) {
    const parts: Record<string, string> = exists
      ? { owner: "acme", name: "shop", id: idFor(operation) }
      : { owner: "acme", name: "none", id: "0".repeat(24) };
    const query = new URLSearchParams();
    for (const parameter of operation.parameters) {
      const example = parameter.name === "tests" ? there.testId : "shop";
      const value = more[parameter.name] ?? (parameter.required ? example : undefined);
      if (parameter.in === "query" && value !== undefined) query.set(parameter.name, value);
    }
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name) => parts[name] ?? "");
    return query.size > 0 ? `${path}?${query}` : path;
  }

  /** Sends a request, and asserts that the document allows the response. */
  async function send(
    target: string,
    { method = "GET", app = there.fixture.app, headers = { authorization } as HeadersInit } = {},
  ): Promise<SeenResponse> {
    const request = new Request(`http://127.0.0.1${target}`, { method, headers });
    const response = await seen(await app(request));
    contract.check({ method, target }, response);
    return response;
  }

  function broken() {
    const { sql } = database();
    const now = () => {
      throw new Error("the clock has stopped");
    };
    return createApp({ sql, now, windowSeconds: WINDOW_SECONDS, log: silentLog });
  }

  /** A request for each status; `null` where it cannot occur. */
  const provocations: Record<string, (operation: Operation) => Promise<SeenResponse> | null> = {
    200: (operation) => send(pathOf(operation, {})),
    204: (operation) => send(pathOf(operation, {})),
    304: (operation) =>
      send(pathOf(operation, {}), { headers: { authorization, "if-none-match": "*" } }),
    400: (operation) => {
      const wrong = operation.parameters.find(({ name }) => name in WRONG);
      if (!wrong) return null;
      return send(pathOf(operation, { more: { [wrong.name]: WRONG[wrong.name]![0]![0] } }));
    },
    401: (operation) => send(pathOf(operation, {}), { headers: {} }),
    404: (operation) => {
      const more = { repository: "none", organization_id: organizationUuid(0) };
      return send(pathOf(operation, { exists: false, more }));
    },
    405: (operation) => send(pathOf(operation, {}), { method: "POST" }),
    500: (operation) => send(pathOf(operation, {}), { app: broken() }),
  };

  it("documents every response, and every documented response occurs", async () => {
    for (const operation of contract.operations) {
      const happened: string[] = [];
      for (const [status, provoke] of Object.entries(provocations)) {
        // Any response must be documented.
        const response = await provoke(operation);
        if (response?.status === Number(status)) happened.push(status);
      }
      assert.deepEqual(happened, Object.keys(operation.responses).sort(), operation.operationId);
    }
  });

  it("holds for HEAD", async () => {
    for (const operation of contract.operations) {
      const target = pathOf(operation, {});
      const get = await send(target);
      const head = await send(target, { method: "HEAD" });
      assert.equal(head.status, get.status);
      for (const name of ["etag", "content-type", "content-length"]) {
        assert.equal(head.headers.get(name), get.headers.get(name), name);
      }
    }
  });

  it("holds for compressed responses", async () => {
    let compressedCount = 0;
    for (const operation of contract.operations) {
      const headers = { authorization, "accept-encoding": "gzip" };
      const response = await send(pathOf(operation, {}), { headers });
      if (response.headers.get("content-encoding") === "gzip") compressedCount++;
    }
    assert.ok(compressedCount >= 7, String(compressedCount));
  });

  it("has a Link header exactly where there is a next page", async () => {
    for (const { path, parameters } of contract.operations) {
      if (!parameters.some(({ name }) => name === "after")) continue;
      const named = path.replace("{owner}", "acme").replace("{name}", "shop")
        .replace("{id}", idFor({ path }));
      const target = `${named}?quarantine=false&limit=10`;
      let page = await send(target);
      for (let pages = 1; page.headers.get("link") !== null; pages++) {
        assert.ok(pages < 10, `${named} has no last page`);
        const [, next = ""] = /^<(\?.+)>; rel="next"$/.exec(page.headers.get("link")!) ?? [];
        page = await send(named + next);
      }
      assert.equal(page.status, 200);
    }
  });

  it("has a 400 for each invalid value of each parameter, under its name", async () => {
    for (const operation of contract.operations) {
      for (const { name, in: place } of operation.parameters) {
        if (place === "path") continue;
        if (name === "organization_id") continue;
        assert.ok(name in WRONG || NEVER_WRONG.includes(name), `${name} has a wrong value here`);
        for (const [value, count] of WRONG[name] ?? []) {
          const response = await send(pathOf(operation, { more: { [name]: value } }));
          const what = `${operation.operationId} ${name}=${value}`;
          assert.equal(response.status, 400, what);
          const { errors } = JSON.parse(new TextDecoder().decode(response.body));
          assert.deepEqual(Object.keys(errors), [name], what);
          assert.equal(errors[name].length, count, what);
        }
        if (!NEVER_WRONG.includes(name)) continue;
        for (const value of ["", "0", "nonsense,\0", "x".repeat(10_000)]) {
          const response = await send(pathOf(operation, { more: { [name]: value } }));
          assert.equal(response.status, 200, `${operation.operationId} ${name}=${value}`);
        }
      }
    }
  });

  it("has a 400 for cursors of another list or too far away", async () => {
    const submission = encodeURIComponent(encodeKeysetCursor("0".repeat(24)));
    const shop = "/api/repos/acme/shop";
    for (
      const target of [
        `${shop}/submissions?after=${encodeOffsetCursor(1)}`,
        `${shop}/tests?after=${submission}`,
        `/api/v1/flaky/tests?after=${submission}`,
        `/api/v1/flaky/tests?after=${encodeURIComponent(encodeOffsetCursor(MAX_OFFSET + 1))}`,
        `${shop}/tests?after=${encodeURIComponent(encodeOffsetCursor(1e30))}`,
      ]
    ) {
      await assertBadRequest(await there.fixture.get(target), ["after"]);
      await send(target);
    }
    const end = encodeURIComponent(encodeOffsetCursor(MAX_OFFSET));
    const past = await send(`${shop}/tests?after=${end}`);
    assert.equal(past.status, 200);
  });

  it("lists all invalid parameters at once, after the resource was found", async () => {
    const wrong = "limit=0&after=x&sort=x&q=tags:";
    const shop = await there.fixture.get(`/api/repos/acme/shop/tests?${wrong}`);
    await assertBadRequest(shop, ["limit", "after", "sort", "q"]);
    const none = await there.fixture.get(`/api/repos/acme/none/tests?${wrong}`);
    await assertError(none, 404, NOT_FOUND);
    const inventory = await there.fixture.get(
      `/api/v1/flaky/tests?repository=twin&repository_id=x&${wrong}`,
    );
    await assertBadRequest(
      inventory,
      ["repository", "repository_id", "limit", "after", "sort", "q"],
    );
    const missing = await there.fixture.get(`/api/v1/flaky/tests?repository=none&${wrong}`);
    await assertBadRequest(missing, ["limit", "after", "sort", "q"]);
  });

  it("has a 400 for names that fit several repositories or contradict an id", async () => {
    const { repositoryNumber, otherRepositoryNumber, fixture } = there;
    const paths = ["/api/v1/flaky/tests", "/api/v1/flaky/badges", "/api/v1/coverage/badges"];
    for (const path of paths) {
      await assertBadRequest(await fixture.get(`${path}?repository=TWIN`), ["repository"]);
      const target = `${path}?repository=group/sub/twin`;
      assert.equal((await send(target)).status, 200);
    }
    await assertBadRequest(
      await fixture.get(`${paths[0]}?repository=shop&repository_id=${otherRepositoryNumber}`),
      ["repository_id"],
    );
    assert.equal(
      (await send(`${paths[0]}?repository=shop&repository_id=${repositoryNumber}`)).status,
      200,
    );
  });

  it("takes the organization's own organization_id on every data endpoint", async () => {
    const own = organizationUuid(there.fixture.organization.organizationId);
    const taking = contract.operations.filter(({ parameters }) =>
      parameters.some(({ name }) => name === "organization_id")
    );
    assert.deepEqual(
      taking.map(({ path }) => path),
      contract.operations.map(({ path }) => path).filter((path) => path.startsWith("/api/")),
    );
    for (const operation of taking) {
      const bodyWith = async (organization_id: string, status: number) => {
        const response = await send(pathOf(operation, { more: { organization_id } }));
        assert.equal(response.status, status, operation.path);
        return new TextDecoder().decode(response.body);
      };
      const plain = await bodyWith("", 200);
      for (const id of [own, own.toUpperCase()]) assert.equal(await bodyWith(id, 200), plain);
      for (const id of [organizationUuid(0), "1", `${own} `, "\0"]) await bodyWith(id, 404);
    }
  });

  it("checks organization_id after the resource in a path and the other parameters", async () => {
    const other = `organization_id=${organizationUuid(0)}`;
    const { fixture } = there;
    const list = "/api/repos/acme/shop/tests";
    await assertBadRequest(await fixture.get(`${list}?${other}&limit=0`), ["limit"]);
    await assertError(await fixture.get(`${list}?${other}`), 404, NOT_FOUND);
    await assertError(await fixture.get(`/api/repos/acme/none/tests?${other}`), 404, NOT_FOUND);
    // A cached response must not answer for another organization.
    assert.equal((await fixture.get(list)).status, 200);
    await assertError(await fixture.get(`${list}?${other}`), 404, NOT_FOUND);
  });

  it("has a 404 for every unknown resource in a path", async () => {
    for (
      const target of [
        "/api/repos/none/shop/tests",
        "/api/repos/acme/none/submissions",
        "/api/repos/%00/shop/tests",
        "/api/repos/acme/%ff/tests",
        "/api/repos/acme/%ED%A0%80/submissions",
        "/api/tests/xyz/results",
        `/api/tests/${there.testId}0/results`,
        `/api/tests/${"f".repeat(24)}/results`,
        "/api/v1/flaky/tests?repository=none",
        "/api/v1/flaky/tests?repository_id=0",
        "/api/v1/flaky/tests?repository_id=99999999999999999999",
        "/api/v1/flaky/badges?repository=other%2Fshop",
        "/api/v1/coverage/badges?repository=%00",
        "/api/v1",
        "//",
      ]
    ) {
      await assertError(await there.fixture.get(target), 404, NOT_FOUND);
      await send(target);
    }
  });

  it("shows a test with every expansion, flaky, quiet, or not quarantined", async () => {
    const [include = []] = contract.operations.flatMap(({ parameters }) =>
      parameters.filter(({ name }) => name === "include").map(({ schema }) => schema.items?.enum)
    );
    assert.equal(include.length, 17);
    for (const quarantine of ["true", "false"]) {
      const response = await send(
        `/api/v1/flaky/tests?quarantine=${quarantine}&include=${include}`,
      );
      const { tests } = JSON.parse(new TextDecoder().decode(response.body));
      assert.ok(tests.length >= 2);
      for (const test of tests) assert.equal(Object.keys(test).length, 5 + 17 + 2);
    }
    const { results } = await (await there.fixture.get(`/api/tests/${there.quietTestId}/results`))
      .json();
    assert.deepEqual(results, []);
  });
});
