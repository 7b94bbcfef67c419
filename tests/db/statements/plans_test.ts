/** Query plans of requests, with a large repository. */
import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import process from "node:process";
import { openTestServer, type TestDatabase } from "../../database.ts";
import { createLargeFixture, OLD_ROWS } from "./large_fixture.ts";
import { PLAN_MODES, type Scan, scansOf } from "./plan.ts";
import { type SentStatement, StatementRecorder } from "./recorder.ts";

const server = process.env.TEST_DATABASE_URL;

/** Tables of which a request may read only the window. */
const WINDOWED = ["submission", "negative_result", "test_list", "coverage_report"];

/** The base branch, and its runs from which evidence is counted: of a year, a bounded number. */
const MEMORY = /s\.branch (like any\(.* order by s\.submission_id desc limit \$|= b\.branch)/s;

/** More rows of any kind than the window of the repository has. */
const MANY_ROWS = 200;

/** A table this small is read faster as a whole. */
const FEW_ROWS = 1_000;

describe("the query plans of requests", { skip: !server }, () => {
  const recorder = new StatementRecorder();
  /** On a cluster the plans are made by the workers, and are not visible here. */
  let database: TestDatabase;
  let statements: SentStatement[];

  before(async () => {
    database = await openTestServer(server!, { onStatement: recorder.onStatement });
    const { fixture, testId, submissionId, repositoryNumber } = await createLargeFixture(database);
    recorder.take();
    for (
      const path of [
        "/api",
        "/api/repos/acme/shop/submissions",
        `/api/repos/acme/shop/submissions?after=${btoa("id:6a".padEnd(27, "f"))}`,
        "/api/repos/acme/shop/submissions?branch=m*",
        "/api/repos/acme/shop/tests",
        "/api/repos/acme/shop/tests?branch=m*,release/*",
        `/api/tests/${testId}/results`,
        `/api/tests/${testId}/runs`,
        `/api/tests/${testId}/runs?conclusion=failed&branch=m*`,
        `/api/tests/${testId}/failures`,
        "/api/repos/acme/shop/failures",
        `/api/repos/acme/shop/verdicts?tests=${testId}`,
        `/api/repos/acme/shop/submissions/${submissionId}/tests`,
        "/api/v1/flaky/tests",
        `/api/v1/flaky/tests?repository_id=${repositoryNumber}&include=time_consumed`,
        "/api/v1/flaky/tests?repository=shop&quarantine=false",
        "/api/v1/flaky/badges?repository=acme/shop",
        "/api/v1/coverage/badges?repository=acme/shop",
      ]
    ) {
      const response = await fixture.get(path);
      assert.ok(response.ok, path);
      await response.body?.cancel();
    }
    const legacy = await fixture.addToken({ legacy: true });
    await fixture.get("/api", { authorization: `Bearer ${legacy}` });
    statements = recorder.take().filter(({ text }) => /^(select|with)\b/.test(text));
  });
  after(() => database?.close());

  async function* plans(): AsyncGenerator<{ label: string; scans: Scan[] }> {
    for (const mode of PLAN_MODES) {
      for (const statement of statements) {
        const scans = await database.sql.begin((tx) => scansOf(tx, statement, mode));
        yield { label: `${mode} of ${statement.text}\n${JSON.stringify(scans)}`, scans };
      }
    }
  }

  it("cover all routes", () => {
    assert.ok(statements.length >= 15, `${statements.length} statements`);
  });

  it("find every row by an index, on the repository or a unique key", async () => {
    if (database.isDistributed) return;
    const found = new Set<string>();
    for await (const { label, scans } of plans()) {
      for (const { table, kind, condition, rowCount } of scans) {
        found.add(table);
        if (kind === "Seq Scan" && rowCount < FEW_ROWS) continue;
        assert.match(kind, /Index|Bitmap Heap/, label);
        assert.match(condition, CONDITIONS[table] ?? /repository_id = /, label);
      }
    }
    const others = ["api_token", "repository", "test", "disruptive_test", "failure_text"];
    for (const table of [...WINDOWED, ...others]) {
      assert.ok(found.has(table), `${table} was read`);
    }
  });

  it("read no rows outside of the window", async () => {
    if (database.isDistributed) return;
    for await (const { label, scans } of plans()) {
      if (MEMORY.test(label)) continue;
      for (const { table, rowCount } of scans) {
        if (WINDOWED.includes(table)) assert.ok(rowCount < MANY_ROWS, label);
      }
    }
  });

  it("are checked: a sequential scan is detected", async () => {
    if (database.isDistributed) return;
    const text = "select count(*) from submission where commit_oid = $1";
    const scans = await database.sql.begin((tx) =>
      scansOf(tx, { text, parameters: ["c1"] }, "force_custom_plan")
    );
    const [scan] = scans;
    assert.match(scan?.kind ?? "", /Seq Scan/);
    assert.ok(scan!.rowCount > OLD_ROWS);
  });
});

/** Index conditions of tables that are not restricted to a repository. */
const CONDITIONS: Record<string, RegExp> = {
  api_token: /hash = /,
  organization: /organization_id = /,
  repository: /repository_id = |id_prefix = |organization_id = /,
};
