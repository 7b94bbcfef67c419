import type { Command } from "commander";
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import * as v from "valibot";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import { readDatabaseUrl } from "../../../db/connection/database_url.ts";
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
import { addCommand, type CliIo, type CommandContext, type DatabaseLocation } from "../command.ts";
import { Failure } from "../errors.ts";
import {
  type Finding,
  judgeArchives,
  judgeClock,
  judgeDisk,
  judgeFreshness,
  judgeRole,
  judgeSchema,
  judgeSize,
  judgeTokens,
  TOKEN_SOON_SECONDS,
} from "./doctor_findings.ts";

// Long enough for a server under load; whoever asks the doctor does not want to wait longer.
const STATEMENT_TIMEOUT_MS = 10_000;

/** `doctor`. */
export function addDoctorCommand(program: Command, io: CliIo): void {
  addCommand(program, io, {
    name: "doctor",
    summary: "Look at database, schema, clock, disk, uploads and tokens, and say what to do",
    example: "doctor",
    moreExamples: ["doctor --json"],
    details: [
      "Prints a line for each finding: ok, warn or fail, what was looked at, what was found, and " +
      "what to do about it. Changes nothing, and works while the service runs.",
    ],
    exitCodes: { done: "nothing failed; there may be warnings", failed: "something failed" },
    input: v.object({}),
    async run(_input, context) {
      const findings = await examine(context);
      await context.printList(
        findings,
        ({ status, check, finding, hint }) => [status, check, finding, hint],
      );
      const failed = findings.filter(({ status }) => status === "fail").map(({ check }) => check);
      if (failed.length > 0) throw new Failure(`something is wrong: ${failed.join(", ")}`);
    },
  });
}

async function examine({ database: location, io, now }: CommandContext): Promise<Finding[]> {
  const findings: Finding[] = [];
  // Before it is opened: from then on it is in use.
  const look = location.databaseUrl === undefined ? await inspectEmbedded(location.dataDir) : null;
  if (look) {
    const disk = await diskOf(location.dataDir);
    if (!look.exists) {
      return [
        {
          check: "database",
          status: "fail",
          finding: `there is no embedded database in ${location.dataDir} yet`,
          hint: "`test-analytics migrate` creates it; or set DATABASE_URL, or DATA_DIR",
        },
        disk,
      ];
    }
    findings.push(disk);
  }
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
    return {
      check: "database",
      status: "fail",
      finding: error instanceof Error ? error.message : String(error),
      hint: location.databaseUrl === undefined
        ? "look whether another user's process has it open, and whether the folder is yours"
        : "look whether the server runs, and at DATABASE_URL",
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
  // The first statement on a connection takes longer.
  const status = await checkSchema(sql);
  const begun = performance.now();
  const server = await loadServerState(sql);
  const seconds = (performance.now() - begun) / 1000;
  const schema = judgeSchema({ ...status, expected: SCHEMA_VERSION });
  const findings = [
    describeDatabase(server, { location, look, milliseconds: seconds * 1000 }),
    schema,
    judgeClock({
      theirs: server.clock,
      ours: io.now() + (Date.now() % 1000) / 1000 - seconds / 2,
      roundTripSeconds: seconds,
    }),
    ...kind === "server" ? [judgeRole(server), judgeSize(server)] : [],
  ];
  // What is in the tables can only be asked where they are as this program knows them.
  if (status.state !== "current") return findings;
  return [
    ...findings,
    judgeFreshness(await loadFreshness(sql, { windowStart: now - WINDOW_SECONDS }), { now }),
    judgeTokens(await loadTokenCounts(sql, { now, soon: now + TOKEN_SOON_SECONDS })),
    ...judgeArchives(await loadStuckArchives(sql)),
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
      (look.isInUse ? "another process has open" : "no other process had open")
    : `PostgreSQL ${version} at ${readDatabaseUrl(location.databaseUrl ?? "").host}`;
  return {
    check: "database",
    status: "ok",
    finding: `${where}; answers within ${Math.ceil(milliseconds)} ms`,
    hint: "",
  };
}

async function diskOf(dataDir: string): Promise<Finding> {
  // The folder may not be there yet; what is above it is on the same disk.
  for (let path = resolve(dataDir);; path = dirname(path)) {
    try {
      const { bavail, bsize } = await statfs(path);
      return judgeDisk({ path: dataDir, freeBytes: bavail * bsize, databaseBytes: null });
    } catch (error) {
      if (path !== dirname(path)) continue;
      return {
        check: "disk",
        status: "warn",
        finding: `the room in ${dataDir} cannot be told: ${error}`,
        hint: "",
      };
    }
  }
}
