import type { Command } from "commander";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import type { Database } from "../../../db/connection/connect.ts";
import { createOrganization } from "../../../db/admin/organizations.ts";
import { addQuarantine, findTest } from "../../../db/admin/quarantine.ts";
import { findRepository } from "../../../db/admin/repositories.ts";
import { insertToken } from "../../../db/admin/tokens.ts";
import { setting } from "../../base/config.ts";
import type { Log } from "../../base/log.ts";
import { testHash, testId } from "../../base/identity.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { makeToken } from "../../base/token.ts";
import { addCommand, type CliIo, type CommandContext } from "../command.ts";
import { DEMO, DEMO_FILES, DEMO_RUNS, FLAKIEST_TEST, QUARANTINED_TEST } from "./demo_history.ts";
import { readUploadFiles } from "../intake/read_files.ts";
import { storeUpload } from "../intake/store_upload.ts";
import { serveUntilStopped, withLog } from "./serve.ts";

/** `demo`. */
export function addDemoCommand(program: Command, io: CliIo): void {
  addCommand(program, io, {
    name: "demo",
    summary: "Serve a small example organization; prints a token and curl lines to paste",
    example: "demo --port 8000",
    settings: ["PORT"],
    environment: ["HOST"],
    usesDatabase: false,
    input: v.object({}),
    async run(_input, context, settings) {
      const address = { host: setting(io.environment, "HOST"), port: settings.PORT };
      // A person watches it, whatever the log of a service looks like.
      await withLog(io, { LOG_LEVEL: "info", LOG_FORMAT: "human" }, async (log) => {
        await serveExample(io, { context, log, ...address });
      });
    },
  });
}

async function serveExample(
  io: CliIo,
  { context, ...options }: { context: CommandContext; log: Log; host: string; port: number },
): Promise<void> {
  // Asked for first: whoever stops the demo while it is made shall find nothing left of it.
  const { stop } = io;
  // A new folder each time, away from everybody's data: its runs lie in the last days whenever it
  // is started, two demos do not meet, and nothing else is ever deleted.
  const folder = await Deno.makeTempDir({ dir: tmpdir(), prefix: "test-analytics-demo-" });
  context.note(`making an example in ${folder}, which disappears with the demo`);
  try {
    const dataDir = join(folder, "data");
    const database = await io.openDatabase({ databaseUrl: undefined, dataDir }, {
      mayCreate: true,
    });
    try {
      const example = await fillExample(database, { folder, now: context.now });
      if (stop.aborted) return;
      await serveUntilStopped(io, {
        ...options,
        database,
        onReady: async (url) => {
          const curl = curlLines(url, example);
          const repository = formatRepositoryName(DEMO.repository);
          context.note(
            `organization ${DEMO.organization}, repository ${repository}: a token, and what ` +
              "to ask with it; `DATA_DIR=" + dataDir + "` for commands beside it",
          );
          if (context.json) {
            await context.print("", { token: example.token, url, data_dir: dataDir, curl });
          } else {
            for (const line of [example.token, ...curl]) await context.print(line, line);
          }
        },
      });
    } finally {
      await database.close();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

interface Example {
  token: string;
  flakiestTestId: string;
}

/** Creates the organization, and takes its reports in the way `ingest` does. */
async function fillExample(
  { sql }: Database,
  { folder, now }: { folder: string; now: number },
): Promise<Example> {
  const organization = await createOrganization(sql, {
    name: DEMO.organization,
    purchaseUnitCount: 0,
    createdAt: now,
  });
  if (!organization) throw new Error("a new database has an organization already");
  for (const [name, text] of Object.entries(DEMO_FILES)) {
    await Deno.writeTextFile(join(folder, name), text);
  }
  for (const [index, run] of DEMO_RUNS.entries()) {
    const files = await readUploadFiles({
      reports: run.reports.map((name) => join(folder, name)),
      coverage: run.coverage.map((name) => join(folder, name)),
    }, { note: () => {} });
    await storeUpload(
      sql,
      {
        ...DEMO,
        commitOid: run.commitOid,
        treeOid: null,
        branch: run.branch,
        buildUrl: `https://ci.example.com/web-shop/builds/${index + 1}`,
        tags: [],
        recordedAt: now - run.age,
      },
      files,
      { now },
    );
  }
  const repository = await findRepository(sql, { ...organization, ...DEMO.repository });
  if (!repository) throw new Error("the example's repository is missing");
  const { idPrefix } = repository;
  const aside = await findTest(sql, { idPrefix, testHash: testHash(QUARANTINED_TEST) });
  if (!aside) throw new Error("the example's quarantined test is missing");
  await addQuarantine(sql, aside, {
    quarantinedAt: now,
    quarantinedBy: "ada",
    quarantineType: "manual",
  });
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

/** Three lines to paste: flaky tests, CI runs, and the disruptions of one test. */
function curlLines(url: string, { token, flakiestTestId }: Example): string[] {
  const repository = `/api/repos/${formatRepositoryName(DEMO.repository)}`;
  return [
    `${repository}/tests`,
    `${repository}/submissions`,
    `/api/tests/${flakiestTestId}/results`,
  ]
    .map((path) => `curl -H 'Authorization: Bearer ${token}' '${url}${path}'`);
}
