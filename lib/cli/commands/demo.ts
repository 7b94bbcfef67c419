// Tests: tests/lib/cli/commands/completion_test.ts tests/lib/cli/program_test.ts
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import browser from "../../../fixtures/demo/browser_attempt_3.xml" with { type: "text" };
import coverage from "../../../fixtures/demo/coverage.lcov" with { type: "text" };
import unit from "../../../fixtures/demo/unit_attempt_4.xml" with { type: "text" };
import codeowners from "../../../fixtures/demo_history/CODEOWNERS" with { type: "text" };
import history from "../../../fixtures/demo_history/history.json" with { type: "json" };
import mobileApp from "../../../fixtures/demo_history/mobile_app.xml" with { type: "text" };
import ordersCoverage from "../../../fixtures/demo_history/orders_api.lcov" with { type: "text" };
import ordersApi from "../../../fixtures/demo_history/orders_api.xml" with { type: "text" };
import type { Database } from "../../../db/connection/connect.ts";
import { createOrganization } from "../../../db/admin/organizations.ts";
import { addQuarantine, findTest } from "../../../db/admin/quarantine.ts";
import { findRepository } from "../../../db/admin/repositories.ts";
import { insertToken } from "../../../db/admin/tokens.ts";
import { writeTransaction } from "../../../db/write/transaction.ts";
import { setting } from "../../base/config.ts";
import type { Log } from "../../base/log.ts";
import { testHash, testId, type TestIdentity } from "../../base/identity.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { SECONDS_PER_DAY } from "../../base/time.ts";
import type { TimeZone } from "../../base/time_zone.ts";
import { makeToken } from "../../base/token.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { readCoverage, readResults, type UploadFiles } from "../../intake/read_files.ts";
import { storeUpload } from "../../intake/store_upload.ts";
import { listenOrFail } from "../../http/server/listen_or_fail.ts";
import { withLog } from "../log_output.ts";
import { serveUntilStopped } from "./serve.ts";

export const demoCommand: AddCommand = command({
  name: "demo",
  summary: "Serve a small example organization; print a token and curl commands to paste",
  example: "demo --port 8000",
  settings: ["PORT", "TIME_ZONE"],
  environment: ["HOST"],
  usesDatabase: false,
  input: {},
  async run(_input, context, settings) {
    const { io } = context;
    const host = setting(io.environment, "HOST");
    const port = settings.PORT;
    // Before anything is created.
    listenOrFail({ host, port }, () => Deno.listen({ hostname: host, port }).close());
    // Readable by people, regardless of the log settings of the environment.
    await withLog(io, { LOG_LEVEL: "info", LOG_FORMAT: "human" }, async (log) => {
      await serveExample(context, { log, host, port, timeZone: settings.TIME_ZONE });
    });
  },
});

async function serveExample(
  context: CommandContext,
  options: { log: Log; host: string; port: number; timeZone: TimeZone },
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
              `in a browser (any user name, the token as password):\n` +
              `pages: ${url}/repos\ndocumentation: ${url}/docs\n`,
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
      organization,
      {
        ...run,
        repository: { owner: DEMO.repository.owner, name: repository },
        treeOid: null,
        environment: "",
        job: "",
        workflow: "",
        shard: "",
        attempt: "",
        runner: "",
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
    quarantineEnvironment: null,
  } as const;
  const origin = { author: "demo", command: "demo" };
  await writeTransaction(sql, (tx) => addQuarantine(tx, quarantined, quarantine, origin));
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

/** The example: six weeks of a small shop with some flaky tests. */
const DEMO = { organization: "acme", repository: { owner: "acme", name: "web-shop" } };

/** The test of the demo's third curl line. */
const FLAKIEST_TEST: TestIdentity = {
  suite: "checkout",
  class: "shop.browser.Checkout",
  name: "pays with a saved card",
  file: "browser/checkout_test.ts",
};

const QUARANTINED_TEST: TestIdentity = {
  suite: "mail",
  class: "shop.mail.ReceiptTest",
  name: "sends a receipt after payment",
  file: "src/mail/receipt_test.ts",
};

const FILES: Record<string, string> = {
  "browser.xml": browser,
  "coverage.lcov": coverage,
  "mobile_app.xml": mobileApp,
  "orders_api.lcov": ordersCoverage,
  "orders_api.xml": ordersApi,
  "unit.xml": unit,
};

/** All CI runs, oldest first; `age` is in seconds before now. Equal reports are read once. */
async function* demoRuns() {
  const read = new Map<string, Promise<UploadFiles>>();
  for (const { name, reports, coverage, runs } of history.repositories) {
    for (const [hours, change, branch, failures] of runs as [number, string, string, string[]][]) {
      const key = JSON.stringify([name, failures]);
      let files = read.get(key);
      if (!files) read.set(key, files = readFiles(reports, failures, coverage));
      const commitOid = createHash("sha1").update(name + change).digest("hex");
      yield {
        repository: name,
        age: Math.round(hours * 3600),
        commitOid,
        branch,
        files: await files,
      };
    }
  }
}

async function readFiles(
  reports: readonly string[],
  failures: readonly string[],
  coverage: string | null,
): Promise<UploadFiles> {
  const listener = { note: () => {} };
  async function* streamed(names: readonly string[]) {
    for (const path of names) {
      const text = failures.reduce(withFailure, FILES[path]!);
      yield { path, isNamed: true, bytes: new Response(text).body! };
    }
  }
  const owners = { text: codeowners, root: "" };
  return {
    results: await readResults(streamed(reports), { codeowners: owners }, listener),
    coverage: coverage === null ? null : await readCoverage(streamed([coverage]), listener),
    notes: [],
  };
}

function withFailure(report: string, failure: string): string {
  const { tests, seconds, element } = history.failures[failure as keyof typeof history.failures];
  return tests.reduce((text, test) => {
    const passed = new RegExp(`(<testcase [^>]*name="${test}"[^>]*) time="[^"]*"/>`);
    return text.replace(passed, (_, start) => `${start} time="${seconds}">${element}</testcase>`);
  }, report);
}
