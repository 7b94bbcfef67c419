/** All migrations, with databases of earlier versions. */
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { insertToken } from "../../../db/admin/tokens.ts";
import { isDistributed } from "../../../db/schema/distribute.ts";
import { migrate, SCHEMA_VERSION } from "../../../db/schema/migrate.ts";
import { migrations } from "../../../db/schema/migrations/mod.ts";
import { judgeAgain } from "../../../db/admin/judge_again.ts";
import { findOrganization } from "../../../db/admin/organizations.ts";
import { listRepositories } from "../../../db/admin/repositories.ts";
import { UNKNOWN_CAUSE } from "../../../lib/analysis/failure_groups.ts";
import { WINDOW_SECONDS } from "../../../lib/base/time.ts";
import { makeToken } from "../../../lib/base/token.ts";
import { createApp } from "../../../routes/mod.ts";
import { commitSubmission } from "../../commit_submission.ts";
import { describeWithDatabases, dropEverything } from "../../database.ts";
import { flaky, NOW, request, uploadOf } from "../../routes/fixture.ts";
import { silentLog } from "../../silent_log.ts";
import { earlierDatabases } from "./earlier_databases.ts";

const stored = await earlierDatabases();

describe("earlier databases", () => {
  it("are stored from the first version on", () => {
    assert.equal(stored[0]?.version, 1);
  });
});

describeWithDatabases("a database of an earlier version", (database) => {
  for (const { version, rows, answers } of stored) {
    it(`gives the same answers after its migration from version ${version}`, async () => {
      const { sql } = database();
      if (await isDistributed(sql)) return;
      await dropEverything(sql);
      await migrate(sql, migrations.slice(0, version));
      for (const line of rows.trim().split("\n")) await sql.unsafe(line);
      assert.deepEqual(await migrate(sql), { from: version, to: SCHEMA_VERSION });
      assert.equal(await judgeAgain(sql), 0, "no first disruption moved");

      const organization = await findOrganization(sql, "acme & SÖHNE");
      assert.ok(organization);
      const { organizationId } = organization;
      const { plain, hash, prefix, type } = makeToken("api_token");
      const times = { createdAt: NOW, expiresAt: null };
      const token = { organizationId, type, hash, tokenPrefix: prefix, label: null, ...times };
      assert.ok((await insertToken(sql, token))?.isNew);
      const app = createApp({
        sql,
        now: () => NOW,
        windowSeconds: WINDOW_SECONDS,
        log: silentLog,
      });
      for (const [path, expected] of Object.entries(answers)) {
        const response = await app(request(path, { authorization: `token ${plain}` }));
        const text = await response.text();
        assert.equal(response.status, 200, `${path}: ${text}`);
        const body = typeof expected === "string" ? text : JSON.parse(text);
        if (path.includes("/verdicts?")) withoutVerdicts(body, expected as Verdicts);
        if (/^\/api\/repos\/.*\/failures/.test(path)) withoutUnknownCauses(expected as Failures);
        assertContains(body, expected, path);
      }

      const [repository] = await listRepositories(sql, organizationId);
      const upload = await commitSubmission(sql, uploadOf(repository!, flaky("after")));
      assert.equal(upload.disruptionCount, 1);
    });
  }
});

/** A response with the failures of a repository by cause. */
interface Failures {
  count: number;
  failures: { fingerprint: string }[];
}

/** Earlier versions took failures without a known cause for failures of one cause. */
function withoutUnknownCauses(expected: Failures): void {
  const known = expected.failures.filter(({ fingerprint }) => fingerprint !== UNKNOWN_CAUSE);
  expected.count -= expected.failures.length - known.length;
  expected.failures = known;
}

/** A response of the verdicts. */
interface Verdicts {
  tests: { id: string; verdict?: string }[];
}

/**
 * Leaves only what both must have. Earlier versions left out tests without a verdict, and called a test known
 * that had failed on the base branch for any reason.
 */
function withoutVerdicts(body: Verdicts, expected: Verdicts): void {
  const known = new Set(expected.tests.map(({ id }) => id));
  body.tests = body.tests.filter(({ id }) => known.has(id));
  for (const test of expected.tests) delete test.verdict;
}

/** Asserts that a body has all that it had; later versions may add fields. */
function assertContains(actual: unknown, expected: unknown, path: string): void {
  if (expected === null || typeof expected !== "object") {
    return assert.deepEqual(actual, expected, path);
  }
  assert.ok(actual !== null && typeof actual === "object", path);
  if (Array.isArray(expected)) assert.equal((actual as unknown[]).length, expected.length, path);
  for (const [name, value] of Object.entries(expected)) {
    assertContains((actual as Record<string, unknown>)[name], value, `${path} ${name}`);
  }
}
