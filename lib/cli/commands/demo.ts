import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Database } from "../../../db/connection/connect.ts";
import { createOrganization } from "../../../db/admin/organizations.ts";
import { addQuarantine, findTest } from "../../../db/admin/quarantine.ts";
import { findRepository } from "../../../db/admin/repositories.ts";
import { insertToken } from "../../../db/admin/tokens.ts";
import { setting } from "../../base/config.ts";
import type { Log } from "../../base/log.ts";
import { testHash, testId } from "../../base/identity.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { SECONDS_PER_DAY } from "../../base/time.ts";
import { makeToken } from "../../base/token.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { Failure } from "../errors.ts";
import { DEMO, demoRuns, FLAKIEST_TEST, QUARANTINED_TEST } from "./demo_history.ts";
import { storeUpload } from "../intake/store_upload.ts";
import { withLog } from "../log_output.ts";
import { serveUntilStopped } from "./serve.ts";

export const demoCommand: AddCommand = command({
  name: "demo",
  summary: "Serve a small example organization; prints a token and curl lines to paste",
  example: "demo --port 8000",
  settings: ["PORT"],
  environment: ["HOST"],
  usesDatabase: false,
  input: {},
  async run(_input, context, settings) {
    const { io } = context;
    const host = setting(io.environment, "HOST");
    const port = settings.PORT;
    try {
      // Before anything is created.
      Deno.listen({ hostname: host, port }).close();
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
      throw new Failure(`port ${port} is in use; try --port ${port + 1}`);
    }
    // Readable by people, regardless of the log settings of the environment.
    await withLog(io, { LOG_LEVEL: "info", LOG_FORMAT: "human" }, async (log) => {
      await serveExample(context, { log, host, port });
    });
  },
});

async function serveExample(
  context: CommandContext,
  options: { log: Log; host: string; port: number },
): Promise<void> {
  const { io, note } = context;
  // Read first, so that a signal during the preparation leaves nothing behind.
  const { stop } = io;
  // A new folder each time: the example's runs lie in the last days whenever it starts.
  const folder = await Deno.makeTempDir({ dir: tmpdir(), prefix: "test-analytics-demo-" });
  try {
    const dataDir = join(folder, "data");
    note(`creating an example with DATA_DIR=${dataDir}, deleted when the demo ends`);
    const location = { databaseUrl: undefined, dataDir };
    const database = await io.openDatabase(location, { mayCreate: true });
    try {
      const example = await fillExample(database, context);
      if (stop.aborted) return;
      await serveUntilStopped(io, {
        ...options,
        database,
        async onReady(url) {
          const { token } = example;
          const curl = curlLines(url, example);
          if (context.json) {
            return await context.print("", { token, url, data_dir: dataDir, curl });
          }
          const [tests, submissions, disruptions] = curl;
          await io.stdout(
            `token: ${token}\n\nflaky tests:\n${tests}\n\nCI runs:\n${submissions}\n\n` +
              `disruptions of one test:\n${disruptions}\n\n` +
              `in a browser (any user name, the token as password): ${url}/repos\n`,
          );
        },
      });
    } finally {
      await database.close();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Creates the organization and stores its reports as `ingest` does. */
async function fillExample({ sql }: Database, { now }: { now: number }) {
  const organization = await createOrganization(sql, {
    name: DEMO.organization,
    purchaseUnitCount: 0,
    createdAt: now,
  });
  if (!organization) throw new Error("expected a new database to have no organization");
  let build = 0;
  for await (const { repository, age, files, ...run } of demoRuns()) {
    await storeUpload(
      sql,
      {
        ...run,
        organization: DEMO.organization,
        repository: { owner: DEMO.repository.owner, name: repository },
        treeOid: null,
        buildUrl: `https://ci.example.com/${repository}/builds/${++build}`,
        repositoryUrl: `https://github.com/acme/${repository}`,
        tags: [],
        recordedAt: now - age,
      },
      files,
      { now },
    );
  }
  const repository = await findRepository(sql, { ...organization, ...DEMO.repository });
  if (!repository) throw new Error("expected the example's repository to exist");
  const { idPrefix } = repository;
  const quarantined = await findTest(sql, { idPrefix, testHash: testHash(QUARANTINED_TEST) });
  if (!quarantined) throw new Error("expected the example's quarantined test to exist");
  const quarantine = {
    quarantinedAt: now - 4 * SECONDS_PER_DAY,
    quarantinedBy: "ada",
    quarantineType: "manual",
    quarantineReason: "the mail server of the test environment is slow",
    quarantineOwner: "@acme/messaging",
    quarantineExpiresAt: now + 5 * SECONDS_PER_DAY,
  } as const;
  const origin = { author: "demo", command: "demo" };
  await sql.begin((tx) => addQuarantine(tx, quarantined, quarantine, origin));
  const { plain, ...token } = makeToken("api_token");
  await insertToken(sql, {
    organizationId: organization.organizationId,
    type: token.type,
    tokenPrefix: token.prefix,
    hash: token.hash,
    label: "demo",
    createdAt: now,
    expiresAt: null,
  });
  return { token: plain, flakiestTestId: testId(idPrefix, testHash(FLAKIEST_TEST)) };
}

/** Three lines to paste: flaky tests, CI runs, disruptions of one test. */
function curlLines(
  url: string,
  { token, flakiestTestId }: { token: string; flakiestTestId: string },
): string[] {
  const repository = `/api/repos/${formatRepositoryName(DEMO.repository)}`;
  return [
    `${repository}/tests`,
    `${repository}/submissions`,
    `/api/tests/${flakiestTestId}/results`,
  ].map((path) => `curl -H 'Authorization: Bearer ${token}' '${url}${path}'`);
}
