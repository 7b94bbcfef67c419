import { LEGS_NOTE } from "../../lib/analysis/repetition/submissions.ts";
import { storeSubmission } from "../../db/write/store_submission.ts";
import { writeTransaction } from "../../db/write/transaction.ts";
/** The real program: its processing, and the servers of its database. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Database } from "../../db/connection/connect.ts";
import { deleteSubmission } from "../../db/write/delete_submission.ts";
import { createOrganization } from "../../db/admin/organizations.ts";
import { pruneRepository } from "../../db/write/prune.ts";
import { applyPolicy } from "../../db/admin/quarantine_policy.ts";
import {
  addQuarantine,
  findTest,
  releaseRepository,
  removeQuarantine,
} from "../../db/admin/quarantine.ts";
import { listQuarantineLog } from "../../db/read/quarantine_log.ts";
import { createRepository } from "../../db/admin/repositories.ts";
import {
  deleteRepository,
  listRepositories,
  renameRepository,
} from "../../db/admin/repositories.ts";
import { exportOrganization } from "../../db/admin/export_organization.ts";
import { importOrganization } from "../../db/admin/import_organization.ts";
import { insertToken, listTokens, revokeToken } from "../../db/admin/tokens.ts";
import { lockForUpload } from "../../db/write/repository_row.ts";
import { showFailed, showProcessing } from "../../db/write/submission_rows.ts";
import { SubmissionBuilder } from "../../lib/analysis/submission_content.ts";
import { parseTestId, testHash } from "../../lib/base/identity.ts";
import { readExport } from "../../lib/export/reader.ts";
import { ExportWriter } from "../../lib/export/writer.ts";
import { makeToken } from "../../lib/base/token.ts";
import { BEGINNING } from "./actions.ts";
import { createClient } from "./client.ts";
import type { Fleet } from "./fleet.ts";
import type { PlainUpload } from "./model.ts";
import type { Organization } from "./service.ts";

/** Creates an organization in the database that the fleet serves. */
export async function databaseOrganization(
  sql: Database["sql"],
  { name, fleet }: { name: string; fleet: Fleet },
): Promise<Organization> {
  const created = await createOrganization(sql, {
    name,
    purchaseUnitCount: 0,
    createdAt: BEGINNING,
  });
  if (!created) throw new Error(`organization ${name} exists already`);
  const { organizationId } = created;
  const tokens: { plain: string; apiTokenId: number }[] = [];
  const createToken = async (expiresAt: number | null) => {
    const { plain, prefix, ...token } = makeToken("api_token");
    const row = { ...token, organizationId, tokenPrefix: prefix, label: null, expiresAt };
    const insertion = await insertToken(sql, { ...row, createdAt: BEGINNING });
    if (!insertion?.isNew) throw new Error("a new token existed already");
    tokens.push({ plain, apiTokenId: insertion.token.apiTokenId });
  };
  await createToken(null);
  const repositoryIds: number[] = [];
  const test = async (id: string) => (await findTest(sql, parseTestId(id)!))!;
  const client = createClient(fleet);

  return {
    organizationId,
    servers: fleet.size,
    setClock: fleet.setClock,
    setGate: fleet.setGate,
    async createRepository(index, { repositoryId: repositoryNumber, ...repository }) {
      const created = await sql.begin((tx) =>
        createRepository(tx, {
          organization: { organizationId, name },
          ...repository,
          repositoryNumber,
        })
      );
      repositoryIds[index] = created.repositoryId;
      return created.repositoryNumber;
    },
    async renameRepository(index, to) {
      const repositoryId = repositoryIds[index]!;
      const repository = { organizationId, repositoryId };
      return await sql.begin((tx) => renameRepository(tx, repository, to)) !== null;
    },
    async deleteRepository(index, now) {
      const repository = { organizationId, repositoryId: repositoryIds[index]! };
      await sql.begin(async (tx) => {
        await releaseRepository(tx, repository, removalAt(now), ORIGIN);
        await deleteRepository(tx, repository);
      });
    },
    async upload(upload, uploadedAt) {
      const repositoryId = repositoryIds[upload.repository]!;
      const taken = await writeTransaction(sql, async (tx) => {
        const stored = await storeSubmission(tx, {
          ...columnsOf(upload),
          repositoryId,
          uploadedAt,
        });
        // Its words are tested elsewhere.
        if (stored.notes.some((note) => note.startsWith(LEGS_NOTE))) {
          await tx`
            update submission set notes = '{}'
            where repository_id = ${repositoryId}
              and submission_id = decode(${stored.submissionId}, 'hex')`;
        }
        return stored;
      });
      return { ...taken, id: taken.submissionId };
    },
    async showProcessing({ tags, repository, ...archive }, uploadedAt) {
      const repositoryId = repositoryIds[repository]!;
      await sql.begin(async (tx) =>
        showProcessing(tx, await lockForUpload(tx, repositoryId), {
          repositoryId,
          key: archive.key,
          recordedAt: archive.recordedAt,
          uploadedAt,
          buildUrl: archive.buildUrl,
          commitOid: archive.commit,
          treeOid: archive.tree,
          branch: archive.branch,
          environment: archive.environment,
          job: archive.job,
          workflow: archive.workflow ?? "",
          shard: archive.shard ?? "",
          attempt: archive.attempt ?? "",
          tags,
        })
      );
    },
    async showFailed({ repository, key }) {
      await sql.begin((tx) => showFailed(tx, { repositoryId: repositoryIds[repository]!, key }));
    },
    deleteSubmission: (key) => deleteSubmission(sql, { organizationId, key }),
    async addQuarantine({ testId, at, by, type, reason, owner, expiresAt }) {
      const entry = {
        quarantinedAt: at,
        quarantinedBy: by,
        quarantineType: type,
        quarantineReason: reason,
        quarantineOwner: owner,
        quarantineExpiresAt: expiresAt,
        quarantineEnvironment: null,
      };
      const stored = await test(testId);
      const added = await sql.begin((tx) => addQuarantine(tx, stored, entry, ORIGIN));
      return added.outcome;
    },
    async removeQuarantine(testId, now) {
      const stored = await test(testId);
      return await sql.begin((tx) => removeQuarantine(tx, stored, removalAt(now), ORIGIN));
    },
    async applyPolicy({ repository: index, policy }, now, windowSeconds) {
      const repositories = await listRepositories(sql, organizationId);
      const repository = repositories.find((one) => one.repositoryId === repositoryIds[index])!;
      const options = { now, windowStart: now - windowSeconds, origin: ORIGIN };
      const decisions = await applyPolicy(sql, repository, policy, options);
      return decisions.flatMap(({ test, action, reason }) =>
        action === "enter" || action === "leave" ? [{ testId: test.id, action, reason }] : []
      );
    },
    async quarantineLog(now) {
      const events = await listQuarantineLog(sql, { organizationId, now });
      return events.map((event) => ({
        at: event.at,
        action: event.action,
        testId: event.testId,
        repository: event.repository,
        suite: event.suite,
        class: event.class,
        name: event.name,
        file: event.file,
        by: event.author === ORIGIN.author ? null : event.author,
        type: event.quarantineType,
        reason: event.quarantineReason,
        owner: event.quarantineOwner,
        expiresAt: event.quarantineExpiresAt,
      }));
    },
    async prune(index, cutoff) {
      await pruneRepository(sql, { repositoryId: repositoryIds[index]!, cutoff });
    },
    createToken,
    async revokeToken(index, revokedAt) {
      const { apiTokenId } = tokens[index]!;
      return (await revokeToken(sql, { apiTokenId, revokedAt }))?.revoked ?? false;
    },
    async move() {
      const before = await listRepositories(sql, organizationId);
      const writer = new ExportWriter();
      let text = writer.header(BEGINNING, "0.0.0");
      for await (const records of exportOrganization(sql, organizationId)) {
        text += writer.records(records);
      }
      text += writer.end();
      await sql.begin(async (tx) => {
        for (const { repositoryId } of before) {
          await tx`delete from archive where repository_id = ${repositoryId}`;
          await deleteRepository(tx, { organizationId, repositoryId });
        }
        await tx`delete from api_token where organization_id = ${organizationId}`;
        await tx`delete from change where organization_id = ${organizationId}`;
        await tx`delete from organization where organization_id = ${organizationId}`;
      });
      const origin = { author: "the oracle", command: "import", changedAt: BEGINNING };
      const lines = readExport(new Blob([text]).stream(), "0.0.0");
      assert.deepEqual((await importOrganization(sql, lines, { origin })).notes, []);
      // Internal numbers are new.
      const after = await listRepositories(sql, organizationId);
      for (const [index, id] of repositoryIds.entries()) {
        const { repositoryNumber } = before.find(({ repositoryId }) => repositoryId === id) ?? {};
        const found = after.find((one) => one.repositoryNumber === repositoryNumber);
        if (found) repositoryIds[index] = found.repositoryId;
      }
      const stored = await listTokens(sql, organizationId);
      tokens.forEach((token, index) => token.apiTokenId = stored[index]!.apiTokenId);
    },
    send: (apiRequest, sendOptions) =>
      client(apiRequest, sendOptions, tokens[sendOptions.token ?? 0]!.plain),
  };
}

const ORIGIN = { author: "the oracle", command: "quarantine" };

function removalAt(removedAt: number) {
  return { removedAt, removedBy: null, reason: null };
}

function columnsOf(upload: PlainUpload) {
  const builder = new SubmissionBuilder();
  for (const result of upload.results) builder.add(result);
  const ran = builder.finish();
  const ambiguous = new Set((upload.ambiguous ?? []).map(testHash));
  const content = {
    ...ran,
    ambiguousTestHashes: [...ran.testHashes].filter((hash) => ambiguous.has(hash)),
  };
  const groupOf = Array.from(
    content.testHashes,
    (hash) => 1 + upload.testTags.findIndex(({ test }) => testHash(test) === hash),
  );
  return {
    commitOid: upload.commit,
    treeOid: upload.tree,
    branch: upload.branch,
    environment: upload.environment,
    job: upload.job,
    workflow: upload.workflow ?? "",
    shard: upload.shard ?? "",
    attempt: upload.attempt ?? "",
    buildUrl: upload.buildUrl,
    tags: upload.tags,
    recordedAt: upload.recordedAt,
    reportDigest: createHash("sha256").update(JSON.stringify(upload.results)).digest("hex"),
    content,
    testTags: groupOf.some((group) => group > 0)
      ? { groups: upload.testTags.map(({ tags }) => tags), groupOf }
      : null,
    coverage: upload.coverage,
    ...(upload.repositoryUrl === null ? {} : { repositoryUrl: upload.repositoryUrl }),
    ...(upload.key === null ? {} : { key: upload.key }),
  };
}
