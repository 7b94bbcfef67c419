/** An organization with some of everything that the database can hold. */
import { recordTokenUses } from "../db/admin/tokens.ts";
import { deleteSubmission } from "../db/write/delete_submission.ts";
import { pruneRepository } from "../db/write/prune.ts";
import { lockForUpload } from "../db/write/repository_row.ts";
import { storeCoverageAlone } from "../db/write/store_submission.ts";
import { showFailed, showProcessing } from "../db/write/submission_rows.ts";
import type { Database } from "../db/connection/connect.ts";
import { insertChange } from "../db/admin/changes.ts";
import { setPolicy } from "../db/admin/quarantine_policy.ts";
import { addQuarantine, findTest } from "../db/admin/quarantine.ts";
import { deleteRepository, renameRepository, type Repository } from "../db/admin/repositories.ts";
import { revokeToken } from "../db/admin/tokens.ts";
import { ownerTags } from "../lib/analysis/test_tags.ts";
import { DEFAULT_POLICY } from "../lib/analysis/quarantine_policy.ts";
import { parseTestId } from "../lib/base/identity.ts";
import type { TestResult } from "../lib/report/result.ts";
import { parseCodeowners } from "../lib/report/codeowners.ts";
import {
  createFixture,
  DAY,
  type Fixture,
  flaky,
  idOf,
  NOW,
  quarantine,
  release,
  uploadOf,
} from "./routes/fixture.ts";

const OWNERS = parseCodeowners("*.ts @acme/web\n/mail/ @acme/mail sam@example.org\n");

/** The organization "Acme & Söhne" at {@linkcode NOW}. */
export async function createFullOrganization(database: Database): Promise<Fixture> {
  const { sql } = database;
  const fixture = await createFixture(database, { name: "Acme & Söhne", purchaseUnitCount: 3 });
  const { organization: { organizationId } } = fixture;
  const shop = await fixture.addRepository("acme", "shop");
  await uploadShop(fixture, shop);
  await fixture.addRepository("acme", "empty", 40);
  const deleted = await fixture.addRepository("acme", "deleted");
  await sql.begin((tx) => deleteRepository(tx, deleted));
  const old = await fixture.addRepository("group/sub", "old name");
  await uploadOld(database, fixture, old);
  await fixture.upload(await fixture.addRepository("acme", "twin"), flaky("twin"));
  await addTokens(database, fixture, shop);
  await addQuarantines(database, { shop, old });
  const policy = { ...DEFAULT_POLICY, maxTests: 7 };
  await setPolicy(sql, { organizationId, repositoryId: null }, policy);
  await setPolicy(sql, { organizationId, repositoryId: shop.repositoryId }, null);
  await setPolicy(sql, old, { ...policy, disruptions: 5 });
  await insertChange(sql, {
    organizationId,
    changedAt: NOW - 5,
    author: "sam@laptop",
    command: "token create",
    subject: "7",
    detail: { type: "api_token", label: 'a "label"', expires_at: null, count: 3 },
  });
  return fixture;
}

async function uploadShop(fixture: Fixture, shop: Repository): Promise<void> {
  const { upload } = fixture;
  for (let run = 0; run < 9; run++) {
    const results: Partial<TestResult>[] = [
      ...flaky(`Ünit ${run % 4}`, { durationMicroseconds: 1_000 * run }),
      { name: "fast", durationMicroseconds: 7 + run },
      { name: "quiet", file: "mail/quiet.rb" },
      { name: "skipped", conclusion: "skipped", durationMicroseconds: 0 },
      { name: "unknown", conclusion: "unknown" },
      ...Array.from({ length: 12 }, (_, index) => ({ name: `ok ${index}` })),
    ];
    if (run % 3 === 0) results.push(...failures(run));
    const { content } = uploadOf(shop, results);
    const index = [...content.testHashes.keys()].find((one) =>
      content.identityAt(one).file !== ""
    )!;
    const testHash = content.testHashes[index]!;
    content.overheads.push({ testHash, microseconds: 1_000 * run, isOneClass: run % 2 === 0 });
    await upload(shop, results, {
      content,
      commitOid: `c0ffee${run}`,
      branch: ["main", "release/1", null][run % 3]!,
      recordedAt: NOW - 3_600 * run,
      buildUrl: run % 2 === 0 ? "" : `https://ci.example.org/runs/${run}?a=1&b="2"`,
      tags: run % 3 === 0 ? ["nightly", "mail"] : [],
      notes: run === 1 ? ["b.xml: an empty file: left out"] : [],
      ...run % 2 === 0 && { testTags: tagsOf(shop, results) },
      ...run === 2 && { repositoryUrl: "https://github.com/acme/shop" },
      coverage: run < 2 ? { coveredLineCount: 1 + run, lineCount: 3 } : null,
    });
  }
  // A test whose file one of the reports has, and one that only some have.
  for (const [index, file] of ["", "mail/later.ts", ""].entries()) {
    const results = [
      ...flaky("known without a file first", { file }),
      ...flaky("known with a file first", { file: index === 1 ? "" : "mail/first.ts" }),
    ];
    const facts = { commitOid: `f11e${index}00`, recordedAt: NOW - 500 + index };
    await upload(shop, results, { ...facts, testTags: tagsOf(shop, results) });
  }
  // Two commits with one tree, two runs of one commit in either order, and one that names nothing.
  for (const [index, conclusion] of (["passing", "error"] as const).entries()) {
    const at = { recordedAt: NOW - 100 - index, branch: "main" };
    const shared = [{ name: "of a tree", conclusion, message: "boom\u2028é" }];
    await upload(shop, shared, { ...at, commitOid: `${index}abcdef`, treeOid: "7ee7ee7" });
    await upload(shop, [{ name: "of a commit", conclusion }], { ...at, commitOid: "abcdef1" });
    await upload(shop, [{ name: "of nothing", conclusion }], { ...at, commitOid: "HEAD" });
  }
}

function failures(run: number): Partial<TestResult>[] {
  return [
    { name: "long", conclusion: "failure", message: "", body: 'line\n\t\\ "x"\n'.repeat(30) },
    { name: "retried", conclusion: "error", message: `attempt 1 of ${run}`, body: "at a.ts:1" },
    { name: "ok 3" },
    { name: "retried", conclusion: "failure", message: `attempt 2 of ${run}`, body: "at a.ts:1" },
    { name: "retried", conclusion: "skipped" },
    { name: "retried" },
    { name: "broken", conclusion: "failure", message: "always" },
    { name: "asserts", conclusion: "failure", message: "a", otherMessages: ["b", "c"] },
    { name: "asserts" },
  ];
}

function tagsOf(repository: Repository, results: Partial<TestResult>[]) {
  return ownerTags(uploadOf(repository, results).content, OWNERS);
}

/** A repository whose first months are pruned, with archives, renamed since. */
async function uploadOld(
  { sql }: Database,
  { upload }: Fixture,
  repository: Repository,
): Promise<void> {
  const { repositoryId } = repository;
  for (let month = 5; month >= 0; month--) {
    await upload(repository, [...flaky(`old ${month % 4}`), { name: `gone ${month}` }], {
      recordedAt: NOW - 100 - month * 30 * DAY,
      commitOid: `01d01d${month}`,
      tags: [`month-${month}`],
      ...month % 2 === 0 && { key: `inbox/${month}.tar.gz` },
      buildUrl: `https://ci.example.org/${month}`,
      coverage: month === 4 ? { coveredLineCount: 5, lineCount: 9 } : null,
    });
  }
  await pruneRepository(sql, { repositoryId, cutoff: NOW - 80 * DAY });
  const coverage = { coveredLineCount: 8, lineCount: 9 };
  await sql.begin(async (tx) => {
    await lockForUpload(tx, repositoryId);
    await storeCoverageAlone(tx, { repositoryId, recordedAt: NOW - 40 * DAY, coverage });
  });
  const deleted = await upload(repository, flaky("deleted"), { commitOid: "de1e7ed" });
  const { organizationId } = repository;
  await deleteSubmission(sql, { organizationId, key: deleted.key });
  for (const key of ["inbox/failed.tar.gz", "inbox/processing.tar.gz"]) {
    const { content: _, coverage: __, reportDigest: ___, ...facts } = uploadOf(repository, []);
    await sql.begin(async (tx) =>
      showProcessing(tx, await lockForUpload(tx, repositoryId), { ...facts, key, branch: "main" })
    );
  }
  await sql.begin((tx) => showFailed(tx, { repositoryId, key: "inbox/failed.tar.gz" }));
  await sql.begin((tx) =>
    renameRepository(tx, repository, { owner: "group/sub", name: "new-name" })
  );
}

async function addTokens(
  { sql }: Database,
  { addToken, organization: { organizationId } }: Fixture,
  shop: Repository,
): Promise<void> {
  await addToken({ legacy: true, expiresAt: NOW + DAY, label: "of the earlier service" });
  await addToken({ expiresAt: -62_135_596_800, label: "expired in the year 1" });
  await addToken({ type: "upload", label: "CI, naïve", tokenPrefix: null });
  await addToken({ type: "badge", repositoryId: shop.repositoryId });
  await addToken({ type: "upload", repositoryId: shop.repositoryId });
  await addToken({ type: "quarantine", label: "teams" });
  await addToken({ label: "revoked" });
  const tokens = await sql<{ id: number; hash: string }[]>`
    select api_token_id as id, hash from api_token where organization_id = ${organizationId}
    order by api_token_id`;
  await revokeToken(sql, { apiTokenId: tokens.at(-1)!.id, revokedAt: NOW - 1 });
  await recordTokenUses(sql, [{ hash: tokens[0]!.hash, hour: NOW - NOW % 3_600 }]);
}

async function addQuarantines(
  database: Database,
  { shop, old }: { shop: Repository; old: Repository },
): Promise<void> {
  const quarantined = (name: string) => idOf(shop, { name });
  await quarantine(database, quarantined("Ünit 0"), {
    quarantinedBy: "sam",
    quarantineReason: 'see "TICKET-1"',
    quarantineOwner: "@acme/web",
    quarantineExpiresAt: NOW + 9 * DAY,
    quarantineEnvironment: null,
  });
  const changed = await findTest(database.sql, parseTestId(quarantined("Ünit 0"))!);
  await database.sql.begin((tx) =>
    addQuarantine(tx, changed!, {
      quarantinedAt: NOW - 1,
      quarantinedBy: "kim",
      quarantineType: "manual",
      quarantineReason: "TICKET-2",
      quarantineOwner: null,
      quarantineExpiresAt: null,
      quarantineEnvironment: null,
    }, { author: "ci", command: "quarantine add" })
  );
  await quarantine(database, quarantined("ok 5"), { quarantineType: "automatic" });
  await quarantine(database, quarantined("broken"), {
    quarantinedAt: NOW - 9 * DAY,
    quarantineExpiresAt: NOW - 2 * DAY,
    quarantineEnvironment: null,
  });
  await quarantine(database, quarantined("fast"));
  await release(database, quarantined("fast"), { at: NOW + 1 });
  // Its results are pruned.
  await quarantine(database, idOf(old, { name: "old 3" }), { quarantinedBy: "policy" });
}
