/** The fixture of route tests: an organization with tokens and uploads. */
import assert from "node:assert/strict";
import * as v from "valibot";
import type { Database } from "../../db/connection/connect.ts";
import { createOrganization } from "../../db/admin/organizations.ts";
import type { Upload } from "../../db/write/store_submission.ts";
import { commitSubmission } from "../commit_submission.ts";
import { addQuarantine, findTest, removeQuarantine } from "../../db/admin/quarantine.ts";
import { createRepository } from "../../db/admin/repositories.ts";
import type { Repository } from "../../db/admin/repositories.ts";
import { insertToken, type NewTokenRow } from "../../db/admin/tokens.ts";
import { SubmissionBuilder } from "../../lib/analysis/submission_content.ts";
import { parseTestId, testHash, testId } from "../../lib/base/identity.ts";
import type { Quarantine } from "../../lib/analysis/quarantine.ts";
import { silentLog } from "../silent_log.ts";
import type { TestResult } from "../../lib/report/result.ts";
import { WINDOW_SECONDS } from "../../lib/base/time.ts";
import { makeToken } from "../../lib/base/token.ts";
import type { App } from "../../lib/http/request/context.ts";
import { createApp, routes } from "../../routes/mod.ts";

/** Initial clock of the tests in seconds since 1970: 2026-09-21T14:13:20Z. */
export const NOW = 1_790_000_000;

export const DAY = 24 * 60 * 60;

/** An organization and functions to call the API. */
export interface Fixture {
  organization: { organizationId: number; name: string };
  token: string;
  /** Tests may move it. */
  clock: { now: number };
  app: App;
  /** GET with the token. */
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  addToken(options?: Partial<NewTokenRow> & { legacy?: boolean }): Promise<string>;
  addRepository(owner: string, name: string, id?: number): Promise<Repository>;
  upload(repository: Repository, results: Partial<TestResult>[], more?: Partial<Upload>): Promise<
    Awaited<ReturnType<typeof commitSubmission>>
  >;
}

let uploadCount = 0;

/** Creates an organization in a database. */
export async function createFixture(
  { sql }: Database,
  { name, purchaseUnitCount = 0 }: { name: string; purchaseUnitCount?: number },
): Promise<Fixture> {
  const organization = await createOrganization(sql, { name, purchaseUnitCount, createdAt: NOW });
  assert.ok(organization);
  const clock = { now: NOW };
  const app = createApp({
    sql,
    now: () => clock.now,
    windowSeconds: WINDOW_SECONDS,
    log: silentLog,
  });
  const addToken: Fixture["addToken"] = async ({ legacy = false, ...row } = {}) => {
    const { plain, prefix, type, hash } = makeToken(
      legacy ? "legacy" : row.type ?? "api_token",
    );
    const inserted = await insertToken(sql, {
      organizationId: organization.organizationId,
      type,
      hash,
      tokenPrefix: prefix,
      label: null,
      createdAt: NOW,
      expiresAt: null,
      ...row,
    });
    assert.ok(inserted?.isNew);
    return plain;
  };
  const token = await addToken();
  return {
    organization,
    token,
    clock,
    app,
    get: (path, headers = {}) =>
      app(request(path, { authorization: `token ${token}`, ...headers })),
    addToken,
    async addRepository(owner, name, id) {
      const created = { owner, name, repositoryNumber: id, createdAt: NOW };
      return await createRepository(sql, { organization, ...created });
    },
    upload: (repository, results, more) =>
      commitSubmission(sql, uploadOf(repository, results, more)),
  };
}

/** A fixture of the organization `acme` with the repository `acme/shop`. */
export async function createShop(
  database: Database,
  name = "acme",
): Promise<{ fixture: Fixture; shop: Repository }> {
  const fixture = await createFixture(database, { name });
  return { fixture, shop: await fixture.addRepository("acme", "shop") };
}

/** An upload of results, passes unless said otherwise, that differs from all others. */
export function uploadOf(
  { repositoryId }: Repository,
  results: Partial<TestResult>[],
  more: Partial<Upload> = {},
): Upload {
  const builder = new SubmissionBuilder();
  for (const result of results) builder.add({ ...PASS, ...result });
  return {
    repositoryId,
    commitOid: "c1c1c1c",
    treeOid: null,
    branch: null,
    buildUrl: "",
    tags: [],
    recordedAt: NOW - 100,
    uploadedAt: NOW,
    reportDigest: String(uploadCount++).padStart(64, "0"),
    content: builder.finish(),
    coverage: null,
    ...more,
  };
}

const PASS: TestResult = {
  suite: "suite",
  class: "Class",
  name: "test",
  file: "test.ts",
  conclusion: "passing",
  durationMicroseconds: 1_000,
  message: "",
  body: "",
};

/** A test that passes and fails in one submission: flaky at once. */
export function flaky(name: string, more: Partial<TestResult> = {}): Partial<TestResult>[] {
  return [{ ...more, name }, {
    ...more,
    name,
    conclusion: "failure",
    message: `${name} failed`,
  }];
}

/** A quarantine entry without an end. */
const ENTRY: Quarantine = {
  quarantinedAt: NOW,
  quarantinedBy: null,
  quarantineType: "manual",
  quarantineReason: null,
  quarantineOwner: null,
  quarantineExpiresAt: null,
  quarantineEnvironment: null,
};

const ORIGIN = { author: "test", command: "quarantine" };

/** Quarantines a test by its id. */
export async function quarantine(
  { sql }: Pick<Database, "sql">,
  id: string,
  more: Partial<Quarantine> = {},
): Promise<void> {
  const test = await findTest(sql, parseTestId(id)!);
  assert.ok(test);
  const entry = { ...ENTRY, ...more };
  const added = await sql.begin((tx) => addQuarantine(tx, test, entry, ORIGIN));
  assert.equal(added.outcome, "added");
}

/** Removes the quarantine of a test. */
export async function release(
  { sql }: Pick<Database, "sql">,
  id: string,
  { at: removedAt = NOW } = {},
): Promise<boolean> {
  const test = await findTest(sql, parseTestId(id)!);
  assert.ok(test);
  const removal = { removedAt, removedBy: null, reason: null };
  return await sql.begin((tx) => removeQuarantine(tx, test, removal, ORIGIN));
}

/** The id of a test of {@linkcode Fixture.upload}. */
export function idOf(repository: Repository, test: Partial<TestResult>): string {
  return testId(repository.idPrefix, testHash({ ...PASS, ...test }));
}

/** A GET without a token. */
export function request(path: string, headers: Record<string, string> = {}): Request {
  return new Request(`http://127.0.0.1:8000${path}`, { headers });
}

/** The body of a successful JSON response, checked against the schema of its route. */
// deno-lint-ignore no-explicit-any -- tests read it as a client does
export async function bodyOf(response: Response, routePath: string): Promise<any> {
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.ok(text.endsWith("\n"), "JSON ends with a newline");
  const schema = routes.find(({ path }) => path === routePath)?.response.schema;
  assert.ok(schema, `${routePath} declares a schema`);
  return v.parse(schema, JSON.parse(text));
}

/** Asserts an error with exactly this body. */
export async function assertError(
  response: Response,
  status: number,
  body: unknown,
): Promise<void> {
  assert.equal(response.status, status);
  assert.equal(response.headers.get("content-type"), "application/json; charset=utf-8");
  assert.equal(await response.text(), JSON.stringify(body) + "\n");
}

/** Asserts a 400 with messages for exactly these parameters. */
export async function assertBadRequest(response: Response, names: string[]): Promise<void> {
  assert.equal(response.status, 400);
  const body = await response.json();
  assert.deepEqual(Object.keys(body), ["errors"]);
  assert.deepEqual(Object.keys(body.errors).sort(), names.toSorted());
  for (const messages of Object.values(body.errors)) {
    assert.ok(Array.isArray(messages) && messages.length > 0);
    for (const message of messages) {
      assert.equal(typeof message, "string");
      assert.doesNotMatch(message, /\.$/);
    }
  }
}

export const NOT_FOUND = { message: "Not Found" };
