import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import * as v from "valibot";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import { readDatabaseUrl } from "../../../db/connection/database_url.ts";
import { DatabaseError } from "../../../db/connection/errors.ts";
import {
  loadFreshness,
  loadServerState,
  loadStuckArchives,
  loadTokenCounts,
  type ServerState,
} from "../../../db/admin/diagnostics.ts";
import { type EmbeddedState, inspectEmbedded } from "../../../db/embedded/inspect.ts";
import { checkSchema, SCHEMA_VERSION } from "../../../db/schema/migrate.ts";
import { WINDOW_SECONDS } from "../../base/time.ts";
import {
  type AddCommand,
  type CliIo,
  command,
  type CommandContext,
  type DatabaseLocation,
} from "../command.ts";
import { BUILD } from "../commit.ts";
import { Failure } from "../errors.ts";
import {
  assessArchives,
  assessClock,
  assessDisk,
  assessFreshness,
  assessRole,
  assessSchema,
  assessSize,
  assessTokens,
  type Finding,
  TOKEN_SOON_SECONDS,
} from "./doctor_findings.ts";

const STATEMENT_TIMEOUT_MS = 10_000;

/** `doctor`. */
export const doctorCommand: AddCommand = command({
  name: "doctor",
  summary: "Check database, schema, clock, disk, uploads and tokens",
  example: "doctor",
  moreExamples: ["doctor --json"],
  details: [
    "Prints one line per finding: ok, warn or fail, the check, the finding, and what to do. Changes " +
    "nothing, and works while the service is running.",
  ],
  exitCodes: { done: "no check failed; there may be warnings", failed: "a check failed" },
  input: v.object({}),
  async run(_input, context) {
    const findings = await examine(context);
    await context.printList(
      findings,
      ({ status, check, finding, hint }) => [status, check, finding, hint],
    );
    const failed = findings.filter(({ status }) => status === "fail").map(({ check }) => check);
    if (failed.length > 0) throw new Failure(`failed checks: ${failed.join(", ")}`);
  },
});

async function examine({ database: location, io, now }: CommandContext): Promise<Finding[]> {
  const findings: Finding[] = [];
  const program: Finding = { check: "program", status: "ok", finding: BUILD, hint: "" };
  // Before it is opened, because then it is in use.
  const look = location.databaseUrl === undefined ? await inspectEmbedded(location.dataDir) : null;
  if (look) {
    const disk = await diskOf(location.dataDir);
    if (!look.exists) {
      return [
        {
          check: "database",
          status: "fail",
          finding: `no embedded database in ${location.dataDir}`,
          hint: "create it with `test-analytics migrate`, or set DATABASE_URL or DATA_DIR",
        },
        disk,
        program,
      ];
    }
    findings.push(disk);
  }
  findings.push(program);
  const opened = await open(location);
  if ("check" in opened) return [opened, ...findings];
  try {
    return [...await examineDatabase(opened, { location, look, io, now }), ...findings];
  } finally {
    await opened.close();
  }
}

async function open(location: DatabaseLocation): Promise<Database | Finding> {
  try {
    return await openDatabase({
      ...location,
      readOnly: true,
      maxConnections: 1,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    });
  } catch (error) {
    const hint = location.databaseUrl !== undefined
      ? "check that the server is running, and DATABASE_URL"
      // The message says what to do about the files.
      : error instanceof DatabaseError
      ? ""
      : "check which process has it open, and who owns the folder";
    return {
      check: "database",
      status: "fail",
      finding: error instanceof Error ? error.message : String(error),
      hint,
    };
  }
}

async function examineDatabase(
  { sql, kind }: Database,
  { location, look, io, now }: {
    location: DatabaseLocation;
    look: EmbeddedState | null;
    io: CliIo;
    now: number;
  },
): Promise<Finding[]> {
  // Warms up the connection, for the round trip below.
  const status = await checkSchema(sql);
  const begun = performance.now();
  const server = await loadServerState(sql);
  const seconds = (performance.now() - begun) / 1000;
  const schema = assessSchema({ ...status, expected: SCHEMA_VERSION });
  const findings = [
    describeDatabase(server, { location, look, milliseconds: seconds * 1000 }),
    schema,
    assessClock({
      theirs: server.clock,
      ours: io.now() + (Date.now() % 1000) / 1000 - seconds / 2,
      roundTripSeconds: seconds,
    }),
    ...kind === "server" ? [assessRole(server), assessSize(server)] : [],
  ];
  // The queries below need the current schema.
  if (status.state !== "current") return findings;
  return [
    ...findings,
    assessFreshness(await loadFreshness(sql, { windowStart: now - WINDOW_SECONDS }), { now }),
    assessTokens(await loadTokenCounts(sql, { now, soon: now + TOKEN_SOON_SECONDS })),
    ...assessArchives(await loadStuckArchives(sql)),
  ];
}

function describeDatabase(
  { version }: ServerState,
  { location, look, milliseconds }: {
    location: DatabaseLocation;
    look: EmbeddedState | null;
    milliseconds: number;
  },
): Finding {
  const where = look
    ? `embedded PostgreSQL ${version} in ${look.path}, which ` +
      (look.isInUse ? "another process has open" : "no other process has open")
    : `PostgreSQL ${version} at ${readDatabaseUrl(location.databaseUrl ?? "").host}`;
  return {
    check: "database",
    status: "ok",
    finding: `${where}; responds in ${Math.ceil(milliseconds)} ms`,
    hint: "",
  };
}

async function diskOf(dataDir: string): Promise<Finding> {
  // Of the nearest existing folder, which is on the same disk.
  for (let path = resolve(dataDir);; path = dirname(path)) {
    try {
      const { bavail, bsize } = await statfs(path);
      return assessDisk({ path: dataDir, freeBytes: bavail * bsize, databaseBytes: null });
    } catch (error) {
      if (path !== dirname(path)) continue;
      return {
        check: "disk",
        status: "warn",
        finding: `cannot read the free space of ${dataDir}: ${error}`,
        hint: "",
      };
    }
  }
}
