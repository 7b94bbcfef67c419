import { loadFreshness, loadServerState } from "../../../db/admin/diagnostics.ts";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import { readDatabaseUrl } from "../../../db/connection/database_url.ts";
import { freeBytes } from "../../../db/embedded/disk_space.ts";
import { inspectEmbedded } from "../../../db/embedded/folder.ts";
import { loadWorkers } from "../../../db/schema/distribute.ts";
import { checkSchema } from "../../../db/schema/migrate.ts";
import { WINDOW_SECONDS } from "../../base/time.ts";
import { PROGRAM } from "../../base/version.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { BUILD } from "../commit.ts";
import { nearestFolder } from "../database.ts";
import { Failure } from "../errors.ts";
import {
  assessClock,
  assessDisk,
  assessFreshness,
  assessRole,
  assessSchema,
  assessSize,
  assessWorkers,
  fail,
  type Finding,
  ok,
} from "./doctor_findings.ts";

const STATEMENT_TIMEOUT_MS = 10_000;

export const doctorCommand: AddCommand = command({
  name: "doctor",
  summary: "Check database, schema, clock, disk and uploads",
  example: "doctor",
  moreExamples: ["doctor --json"],
  details: [
    "Prints one line per finding: ok, warn or fail, the check, the finding, and what to do. Changes " +
    "nothing, and works while the service is running.",
  ],
  exitCodes: { done: "no check failed; there may be warnings", failed: "a check failed" },
  input: {},
  async run(_input, context) {
    const findings = await examine(context);
    await context.printList(findings);
    const failed = findings.filter(({ status }) => status === "fail").map(({ check }) => check);
    if (failed.length > 0) throw new Failure(`failed checks: ${failed.join(", ")}`);
  },
});

async function examine(context: CommandContext): Promise<Finding[]> {
  const { databaseUrl, dataDir } = context.database;
  // Before it is opened, because then it is in use.
  const embedded = databaseUrl === undefined ? await inspectEmbedded(dataDir) : null;
  const others = [ok("program", BUILD)];
  if (embedded) others.unshift(assessDisk(dataDir, freeBytes(await nearestFolder(dataDir))));
  if (embedded && !embedded.exists) {
    const hint = `create it with \`${PROGRAM} migrate\`, or set DATABASE_URL or DATA_DIR`;
    return [fail("database", `no embedded database in ${dataDir}`, hint), ...others];
  }
  let database: Database;
  try {
    database = await openDatabase({
      ...context.database,
      readOnly: true,
      maxConnections: 1,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    });
  } catch (error) {
    const finding = error instanceof Error ? error.message : String(error);
    // A message about the embedded database says what to do about its files.
    const hint = embedded ? "" : "check that the server is running, and DATABASE_URL";
    return [fail("database", finding, hint), ...others];
  }
  try {
    return [...await examineDatabase(database, embedded, context), ...others];
  } finally {
    await database.close();
  }
}

async function examineDatabase(
  { sql, kind }: Database,
  embedded: Awaited<ReturnType<typeof inspectEmbedded>> | null,
  { database: { databaseUrl = "" }, io, now }: CommandContext,
): Promise<Finding[]> {
  // Warms up the connection, for the round trip below.
  const schema = await checkSchema(sql);
  const begun = performance.now();
  const server = await loadServerState(sql);
  const seconds = (performance.now() - begun) / 1000;
  const where = embedded
    ? `embedded PostgreSQL ${server.version} in ${embedded.path}, ` +
      (embedded.isInUse ? "in use by another process" : "not in use by another process")
    : `PostgreSQL ${server.version} at ${readDatabaseUrl(databaseUrl).host}`;
  const findings = [
    ok("database", `${where}; responds in ${Math.ceil(seconds * 1000)} ms`),
    assessSchema(schema),
    assessClock({
      theirs: server.clock,
      ours: io.now() + (Date.now() % 1000) / 1000 - seconds / 2,
      roundTripSeconds: seconds,
    }),
    ...kind === "server" ? [assessRole(server), assessSize(server)] : [],
  ];
  // The queries below need the current schema, and all workers.
  if (schema.state !== "current") return findings;
  const workers = await loadWorkers(sql);
  findings.push(...assessWorkers(workers));
  if (workers.some(({ isReachable }) => !isReachable)) return findings;
  return [
    ...findings,
    assessFreshness(await loadFreshness(sql, { windowStart: now - WINDOW_SECONDS }), { now }),
  ];
}
