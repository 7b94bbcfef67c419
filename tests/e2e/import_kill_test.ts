/** An import that is killed or interrupted leaves nothing that can be seen, and can be repeated. */
import assert from "node:assert/strict";
import { before, describe } from "@std/testing/bdd";
import process from "node:process";
import { exportOrganization } from "../../db/admin/export_organization.ts";
import { type Database, openDatabase } from "../../db/connection/connect.ts";
import { ExportWriter } from "../../lib/export/writer.ts";
import { openTestEmbedded, openTestServer } from "../database.ts";
import { createFullOrganization } from "../full_organization.ts";
import { NOW } from "../routes/fixture.ts";
import { type Child, follow } from "./child.ts";
import { itOnKilledDatabase } from "./kills.ts";
import { command, run } from "./program.ts";
import { pause } from "../../lib/base/delay.ts";
import { waitUntil } from "../wait_until.ts";

/** Until an import that has begun has stored most of what it was given. */
const STORING_MS = 3_000;

const NAME = "Acme & Söhne";

/** An export of the organization. */
async function exported({ sql }: Pick<Database, "sql">): Promise<string> {
  const [row] = await sql<{ id: number }[]>`
    select organization_id as id from organization where name = ${NAME}`;
  const writer = new ExportWriter();
  let text = writer.header(NOW, "0.0.0");
  for await (const records of exportOrganization(sql, row!.id)) text += writer.records(records);
  return text + writer.end();
}

/** Whether a process handles SIGINT itself. */
async function handlesInterrupt(pid: number): Promise<boolean> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const [, caught = "0"] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(status) ?? [];
  return (BigInt(`0x${caught}`) & 2n) !== 0n;
}

async function examine(environment: Record<string, string>, text: string): Promise<void> {
  const withDatabase = async <T>(work: (database: Database) => Promise<T>): Promise<T> => {
    const { DATABASE_URL: databaseUrl, DATA_DIR: dataDir = "" } = environment;
    const database = await openDatabase({ databaseUrl, dataDir });
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  };
  const counts = () =>
    withDatabase(async ({ sql }) => {
      const [row] = await sql<{ organizations: number; submissions: number }[]>`
        select (select count(*) from organization)::int as organizations,
          (select count(*) from submission)::int as submissions`;
      return { ...row! };
    });

  /** Starts an import, and gives it two thirds of the file. */
  const begin = async (): Promise<Child> => {
    const child = command(["import"], { environment, stdin: "piped" }).spawn();
    const input = child.stdin.getWriter();
    await input.write(new TextEncoder().encode(text.slice(0, text.length * 2 / 3)));
    const followed = follow(child);
    // On a busy machine it takes seconds to begin.
    await waitUntil("the import has begun", () => handlesInterrupt(followed.pid));
    // The embedded database answers nothing until the import ends.
    await pause(STORING_MS);
    assert.ok(!followed.isOver(), "the import waits for the rest");
    input.releaseLock();
    return followed;
  };

  const killed = await begin();
  await killed.end("SIGKILL");
  // A server rolls back when it notices that the client is gone.
  await waitUntil("nothing is left", async () => (await counts()).submissions === 0);
  assert.deepEqual(await counts(), { organizations: 0, submissions: 0 });

  const interrupted = await begin();
  const { code, stderr } = await interrupted.end("SIGINT");
  assert.equal(code, 1, stderr);
  assert.match(stderr, /error: interrupted: nothing was imported\n$/);
  assert.deepEqual(await counts(), { organizations: 0, submissions: 0 });

  const file = await Deno.makeTempFile({ suffix: ".ndjson" });
  await Deno.writeTextFile(file, text);
  const whole = await run(["import", file], environment);
  await Deno.remove(file);
  assert.equal(whole.code, 0, whole.stderr);
  assert.equal(whole.stdout, `${NAME}\n`);
  const content = (text: string) => text.split("\n").slice(1, -2);
  const again = await withDatabase(exported);
  assert.deepEqual(content(again).slice(0, -1), content(text), "and the import in the log");
}

describe("an import that is killed or interrupted", () => {
  let text = "";
  before(async () => {
    const server = process.env.TEST_DATABASE_URL;
    const source = server ? await openTestServer(server) : await openTestEmbedded();
    await createFullOrganization(source);
    text = await exported(source);
    await source.close();
  });

  itOnKilledDatabase("can be repeated", (environment) => examine(environment, text));
});
