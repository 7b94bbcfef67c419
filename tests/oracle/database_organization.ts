/** The real program: its processing, and two of its HTTP apps over one database. */
import { createHash } from "node:crypto";
import type { Database } from "../../db/connect.ts";
import { deleteSubmission } from "../../db/delete_submission.ts";
import { createOrganization } from "../../db/organizations.ts";
import { processSubmission } from "../../db/process_submission.ts";
import { addQuarantine, findTest, removeQuarantine } from "../../db/quarantine.ts";
import { createRepository, renameRepository } from "../../db/repositories.ts";
import { insertToken } from "../../db/tokens.ts";
import { SubmissionBuilder } from "../../lib/analysis/submission_content.ts";
import { parseTestId, testHash } from "../../lib/identity.ts";
import { silentLog } from "../../lib/log.ts";
import { makeToken } from "../../lib/token.ts";
import { createApp } from "../../routes/mod.ts";
import { BEGINNING } from "./actions.ts";
import { BADGE_COLORS } from "./answers.ts";
import type { PlainUpload } from "./model.ts";
import type { Answer } from "./questions.ts";
import type { Moment, Organization } from "./service.ts";

/** Asks the program over HTTP. */
export type Ask = (path: string, token: string, moment: Moment) => Promise<Response>;

/**
 * Apps that keep what they know from one history to the next, as those of a server do, two of
 * each window: what one of them learns the other has to notice by itself.
 */
export function askTheApps(sql: Database["sql"]): Ask {
  const apps = new Map<string, { clock: { now: number }; app: ReturnType<typeof createApp> }>();
  let turn = 0;
  return async (path, token, { now, windowSeconds }) => {
    const which = `${windowSeconds} ${turn++ % 2}`;
    let entry = apps.get(which);
    if (!entry) {
      const clock = { now };
      const app = createApp({ sql, now: () => clock.now, windowSeconds, log: silentLog });
      apps.set(which, entry = { clock, app });
    }
    entry.clock.now = now;
    const headers = { authorization: `Bearer ${token}` };
    return await entry.app(new Request(new URL(path, "http://127.0.0.1"), { headers }));
  };
}

/** Creates an organization of its own in the database. */
export async function databaseOrganization(
  sql: Database["sql"],
  { name, ask }: { name: string; ask: Ask },
): Promise<Organization> {
  const created = await createOrganization(sql, {
    name,
    purchaseUnitCount: 0,
    createdAt: BEGINNING,
  });
  if (!created) throw new Error(`organization ${name} is there already`);
  const { organizationId } = created;
  const { plain, ...token } = makeToken("api_token");
  await insertToken(sql, {
    organizationId,
    type: token.type,
    hash: token.hash,
    tokenPrefix: token.prefix,
    label: null,
    createdAt: BEGINNING,
    expiresAt: null,
  });
  const repositoryIds: number[] = [];
  const test = async (id: string) => (await findTest(sql, parseTestId(id)!))!;

  return {
    async createRepository({ owner, name: repositoryName }) {
      const creation = await createRepository(sql, {
        organization: { organizationId, name },
        owner,
        name: repositoryName,
        createdAt: BEGINNING,
      });
      if (creation.outcome !== "created") throw new Error(`${repositoryName} was not created`);
      repositoryIds.push(creation.repository.repositoryId);
      return creation.repository.repositoryId;
    },
    async renameRepository(index, to) {
      const repositoryId = repositoryIds[index]!;
      return await renameRepository(sql, { organizationId, repositoryId }, to) !== null;
    },
    async upload(upload, uploadedAt) {
      const repositoryId = repositoryIds[upload.repository]!;
      const taken = await processSubmission(sql, {
        ...columnsOf(upload),
        repositoryId,
        uploadedAt,
      });
      return { ...taken, id: taken.submissionId };
    },
    deleteSubmission: (key) => deleteSubmission(sql, { organizationId, key }),
    async addQuarantine({ testId, at, by, type }) {
      const quarantine = { quarantinedAt: at, quarantinedBy: by, quarantineType: type };
      const outcome = await addQuarantine(sql, await test(testId), quarantine);
      return outcome?.added ?? false;
    },
    removeQuarantine: async (testId) => await removeQuarantine(sql, await test(testId)),
    async ask(question, path, moment) {
      const response = await ask(path, plain, moment);
      const text = await response.text();
      return question.kind.endsWith("badge")
        ? badgeAnswer(response.status, text)
        : jsonAnswer(response.status, text);
    },
  };
}

function columnsOf(upload: PlainUpload) {
  const builder = new SubmissionBuilder();
  for (const result of upload.results) builder.add(result);
  const content = builder.finish();
  const groupOf = Array.from(
    content.testHashes,
    (hash) => 1 + upload.testTags.findIndex(({ test }) => testHash(test) === hash),
  );
  return {
    commitOid: upload.commit,
    treeOid: upload.tree,
    branch: null,
    buildUrl: upload.buildUrl,
    tags: upload.tags,
    recordedAt: upload.recordedAt,
    reportDigest: createHash("sha256").update(JSON.stringify(upload.results)).digest("hex"),
    content,
    testTags: groupOf.some((group) => group > 0)
      ? { groups: upload.testTags.map(({ tags }) => tags), groupOf }
      : null,
    coverage: upload.coverage,
    ...(upload.key === null ? {} : { key: upload.key }),
  };
}

function jsonAnswer(status: number, text: string): Answer {
  if (status !== 200 && status !== 400) return { status, json: text };
  const json = JSON.parse(text);
  return status === 200 ? { status, json } : { status, errors: Object.keys(json.errors) };
}

function badgeAnswer(status: number, svg: string): Answer {
  const percentages = [...svg.matchAll(/>(\d+(?:\.\d+)?%)</g)].map((match) => match[1]!);
  const colors = BADGE_COLORS.filter((color) => svg.includes(`"${color}"`));
  // One percentage at most, and one colour: anything else is shown as it is and agrees with nothing.
  const isUnknown = percentages.length === 0 && !svg.includes("%") && svg.includes(">unknown<");
  if (status !== 200 || colors.length !== 1 || (percentages.length !== 1 && !isUnknown)) {
    return { status, json: svg };
  }
  return { status, badge: { percentage: percentages[0] ?? null, color: colors[0]! } };
}
