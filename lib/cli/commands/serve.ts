import { dirname, resolve } from "node:path";
import { loadServerState } from "../../../db/admin/diagnostics.ts";
import { findOrganization } from "../../../db/admin/organizations.ts";
import { countExpiringTokens } from "../../../db/admin/tokens.ts";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import { isDenied } from "../../../db/connection/errors.ts";
import { inspectEmbedded } from "../../../db/embedded/folder.ts";
import { serve, type ServeOptions } from "../../../routes/mod.ts";
import {
  checkSchema,
  requireSchemaVersion,
  SchemaVersionError,
} from "../../../db/schema/migrate.ts";
import { aborted, pause } from "../../base/delay.ts";
import { errorMessage } from "../../base/error.ts";
import type { SettingName } from "../../base/config.ts";
import type { Metrics } from "../../base/metrics.ts";
import { SECONDS_PER_DAY } from "../../base/time.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import type { CliIo } from "../io.ts";
import { cannotMigrate, cannotReadSchema, reopen, requireReadableTokens } from "../database.ts";
import { Failure } from "../../base/failure.ts";
import { REQUEST_TIMEOUT_MS } from "../../http/request/context.ts";
import { listenOrFail } from "../../http/server/listen_or_fail.ts";
import { unknownOrganization } from "../organization.ts";
import { flag } from "../parameters.ts";
import { runService, SERVICE_SETTINGS } from "../run_service.ts";
import {
  clientSecretProblem,
  readPublicUploadUrl,
  readPublicUrl,
  readSignIn,
  type SettingValues,
  SIGN_IN_VARIABLES,
} from "../settings.ts";
import { toolEndpoint } from "../tool_endpoint.ts";

const SCHEMA_CHECK_MS = 1_000;

/**
 * The most that a request to the embedded database takes, as long as a statement to a server by default: all
 * wait for the transaction of a large upload, and clients should not.
 */
const EMBEDDED_TIMEOUT_MS = 10_000;

/** Time enough to replace a token. */
const EXPIRING_SECONDS = 14 * SECONDS_PER_DAY;

export const API_SETTINGS = [
  "HOST",
  "PORT",
  "TRUSTED_PROXIES",
  "ORGANIZATION_HEADER",
  "USER_HEADER",
  ...SERVICE_SETTINGS,
  "DATABASE_POOL_SIZE",
  "STATEMENT_TIMEOUT_MS",
  "REQUEST_TIMEOUT_MS",
  "CACHE_SIZE_MB",
  "TIME_ZONE",
] as const satisfies readonly SettingName[];

export const serveCommand: AddCommand = command({
  name: "serve",
  summary: "Serve the HTTP API until SIGTERM or SIGINT",
  example: "serve --port 8000",
  moreExamples: ["serve --host 0.0.0.0 --log-format json", "serve --check"],
  details: [
    "Migrates the database where it has the privileges, then only reads. Connections to a " +
    "PostgreSQL server are read-only; a read-only role is enough.",
    "The first SIGTERM or SIGINT drains running requests for up to 10 seconds, the second stops " +
    "immediately. At startup it waits for an unavailable server; later, the response is 500 until the server " +
    "is back.",
    "Logs one line per request to standard error: method, route, status, duration, request id, " +
    "organization, token id, client address and user agent; never a token, a path or a query " +
    "value. OTEL_DENO=true exports traces and metrics by OpenTelemetry.",
  ],
  settings: API_SETTINGS,
  environment: ["PUBLIC_URL", "PUBLIC_UPLOAD_URL", "UPLOAD_URL", ...SIGN_IN_VARIABLES],
  createsDatabase: true,
  input: { check: flag("check settings, database and schema, and exit") },
  async run({ check }, context, settings) {
    checkAddresses(context);
    if (check) return await checkStart(context);
    await runService(context, settings, {
      open: async () =>
        await reopen(await context.openDatabase(), {
          ...readingOptions(context, settings),
          readOnly: true,
        }),
      refreshMetrics: countTokens(context.io),
      async body({ logStarted, ...service }) {
        await requireReadableTokens(service.database);
        await serveUntilStopped(context.io, {
          ...service,
          ...apiOptions(settings),
          onReady: () => logStarted(),
        });
      },
    });
  },
});

/** Checks what `serve` needs at its start; changes nothing. @throws {Failure} */
async function checkStart({ database: location, print }: CommandContext): Promise<void> {
  if (location.databaseUrl || (await inspectEmbedded(location.dataDir)).exists) {
    const database = await openDatabase({ ...location, maxConnections: 1 });
    try {
      await checkStartDatabase(database);
    } catch (error) {
      throw isDenied(error) ? cannotReadSchema() : error;
    } finally {
      await database.close();
    }
  } else {
    await checkWritable(location.dataDir);
  }
  await print("ok", { status: "ok" });
}

/** Checks schema and privileges. @throws {Failure} */
async function checkStartDatabase(database: Database): Promise<void> {
  const { state, problem } = await checkSchema(database.sql);
  if (problem !== null) throw new Failure(problem);
  if (state === "current") return await requireReadableTokens(database);
  if (!(await loadServerState(database.sql)).canMigrate) throw cannotMigrate(state);
}

/** Checks that a folder, or the nearest one above it that exists, can be written. @throws {Failure} */
async function checkWritable(folder: string): Promise<void> {
  try {
    await Deno.remove(await Deno.makeTempFile({ dir: folder, prefix: ".test-analytics-" }));
  } catch (error) {
    const parent = dirname(resolve(folder));
    if (error instanceof Deno.errors.NotFound && parent !== folder) return checkWritable(parent);
    throw new Failure(
      `data folder "${folder}" cannot be used: ${errorMessage(error)}: check DATA_DIR`,
    );
  }
}

type ServeSettings = SettingValues<typeof API_SETTINGS[number]>;

/** How the API reads the database. */
export function readingOptions({ database }: CommandContext, settings: ServeSettings) {
  return {
    ...database,
    maxConnections: settings.DATABASE_POOL_SIZE,
    statementTimeoutMs: settings.STATEMENT_TIMEOUT_MS,
  };
}

/** Counts the tokens that expire soon: nothing else tells the people who have them. */
export function countTokens({ now }: CliIo) {
  return async ({ sql }: Database, metrics: Metrics): Promise<void> => {
    const count = await countExpiringTokens(sql, { now: now(), by: now() + EXPIRING_SECONDS });
    metrics.set("tokens_expiring", count);
  };
}

/** Where the API listens, and its limits. */
export function apiOptions(settings: ServeSettings) {
  return {
    trustedProxies: settings.TRUSTED_PROXIES,
    organizationHeader: settings.ORGANIZATION_HEADER,
    userHeader: settings.USER_HEADER,
    host: settings.HOST,
    port: settings.PORT,
    requestTimeoutMs: settings.REQUEST_TIMEOUT_MS,
    cacheSizeMb: settings.CACHE_SIZE_MB,
    timeZone: settings.TIME_ZONE,
  };
}

/** Where people reach the service, and how they sign in. @throws {UsageError} */
function readAddresses({ environment }: CliIo) {
  return {
    publicUrl: readPublicUrl(environment),
    uploadUrl: readPublicUploadUrl(environment),
    signInSettings: readSignIn(environment),
  };
}

/** Checks what {@linkcode readAddresses} reads, and says what is dangerous about it. @throws {UsageError} */
export function checkAddresses({ io, note }: CommandContext): void {
  readAddresses(io);
  const problem = clientSecretProblem(io.environment);
  if (problem) note(`${problem.finding}: ${problem.hint}`);
}

/**
 * Serves until the first signal, then drains running requests; the second signal ends at once.
 * @throws {Failure} when it cannot listen on the address
 */
export async function serveUntilStopped(
  io: CliIo,
  { database, onReady, ...options }: Omit<ServeOptions, "sql"> & {
    database: Database;
    onReady?: (url: string) => Promise<void> | void;
  },
): Promise<void> {
  // Installs the signal handlers, so that a signal during startup counts.
  const { stop } = io;
  const { publicUrl, uploadUrl, signInSettings } = readAddresses(io);
  const hasOrganization = async (name: string) =>
    await findOrganization(database.sql, name) !== null;
  // Loaded where it is used: its packages take time and memory.
  const signIn = signInSettings && (await import("../../http/sign_in/sign_in.ts"))
    .createSignIn(signInSettings, { log: options.log, now: io.now, hasOrganization });
  const organization = signInSettings?.organization;
  if (organization && "name" in organization && !await hasOrganization(organization.name)) {
    io.stderr(`OIDC_ORGANIZATION: ${unknownOrganization(organization.name).message}\n`);
  }
  const requestTimeoutMs = Math.min(
    options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
    database.kind === "embedded" ? EMBEDDED_TIMEOUT_MS : Infinity,
  );
  const server = listenOrFail(
    options,
    () =>
      serve({
        ...options,
        requestTimeoutMs,
        ...signIn && { signIn },
        uploadUrl,
        sql: database.sql,
        onTimeout: () => database.renew(),
        more: (app) => [toolEndpoint(app, { ...options, requestTimeoutMs, publicUrl })],
      }),
  );
  try {
    io.stderr(`listening on ${server.url}\n`);
    await onReady?.(server.url);
    await Promise.race([aborted(stop), schemaChange(database, stop)]);
  } finally {
    await Promise.race([server.shutdown(), aborted(io.stopAtOnce)]);
  }
}

/**
 * Rejects once another version of the program has migrated the database: reading newer tables might
 * return wrong answers.
 *
 * @throws {SchemaVersionError}
 */
async function schemaChange({ sql }: Database, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await pause(SCHEMA_CHECK_MS, stop);
    try {
      await requireSchemaVersion(sql);
    } catch (error) {
      // Requests report an unavailable database.
      if (error instanceof SchemaVersionError) throw error;
    }
  }
}
