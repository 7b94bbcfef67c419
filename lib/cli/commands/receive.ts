import * as v from "valibot";
import { aborted } from "../../base/delay.ts";
import { VERSION } from "../../base/version.ts";
import { type AddCommand, command, option } from "../command.ts";
import { COMMIT } from "../commit.ts";
import { reopenForReading, waitForDatabase } from "../database.ts";
import { UsageError } from "../errors.ts";
import { withLog } from "../log_output.ts";
import { startOps } from "../ops.ts";
import { type Inbox, openInbox } from "../receive/inbox.ts";
import { startReceiver, UPLOAD_SETTINGS } from "../receive/receiver.ts";
import { readSettings } from "../settings.ts";
import { ENDPOINT_URL, STORAGE_VARIABLES } from "../storage/s3_settings.ts";
import { recordTokenUsesLater } from "../token_uses.ts";
import { location, port } from "../values.ts";

/** One token look-up per upload. */
const MAX_CONNECTIONS = 2;
const STATEMENT_TIMEOUT_MS = 10_000;

/** `receive`. */
export const receiveCommand: AddCommand = command({
  name: "receive",
  summary: "Receive uploads by HTTP into a folder or bucket for `watch`, until SIGTERM or SIGINT",
  example: "receive --to /srv/ci-reports",
  details: [
    "PUT or POST /upload/OWNER/NAME?commit=OID with one JUnit report, a form with any number of " +
    "files report, coverage and codeowners, or an archive of `upload`; needs an upload token " +
    "(`token create --upload`). The response is 202 once the archive would survive a loss of power.",
    "Uses the database for tokens only; deploy/upload_role.sql creates a role that is enough.",
  ],
  exitCodes: { done: "stopped by a signal" },
  settings: [
    "HOST",
    ...UPLOAD_SETTINGS,
    "TRUSTED_PROXIES",
    "OPS_HOST",
    "OPS_PORT",
    "LOG_LEVEL",
    "LOG_FORMAT",
    "DATABASE_WAIT_SECONDS",
  ],
  environment: ["UPLOAD_PORT", ...STORAGE_VARIABLES],
  input: {
    to: option("<target>", "folder, or s3://BUCKET/PREFIX", location),
    port: option("<n>", "port; 0: any free one (default: UPLOAD_PORT, or 8001)", v.optional(port)),
    endpointUrl: ENDPOINT_URL,
  },
  async run(options, context, settings) {
    const { io } = context;
    const { environment, now, stop } = io;
    const problems: string[] = [];
    const { UPLOAD_PORT } = readSettings(["UPLOAD_PORT"], { environment, flags: {}, problems });
    if (problems.length > 0) throw new UsageError(problems.join("; "));
    let inbox: Inbox;
    try {
      inbox = openInbox(options.to, { environment, endpoint: options.endpointUrl });
    } catch (error) {
      if (error instanceof SyntaxError) throw new UsageError(`--to: ${error.message}`);
      throw error;
    }
    await withLog(io, settings, async (log) => {
      const database = await waitForDatabase(
        async () =>
          await reopenForReading(await context.openDatabase(), {
            ...context.database,
            maxConnections: MAX_CONNECTIONS,
            statementTimeoutMs: STATEMENT_TIMEOUT_MS,
          }),
        {
          seconds: settings.DATABASE_WAIT_SECONDS,
          stop,
          note: (text) => log.warn("database unavailable", { error: text }),
        },
      );
      if (database === null) return;
      const uses = recordTokenUsesLater(database, { location: context.database, log });
      const ops = startOps(database, settings, {
        log,
        onListen: (url) => io.stderr(`readiness and metrics on ${url}\n`),
      });
      try {
        const receiver = await startReceiver({
          database,
          inbox,
          host: settings.HOST,
          port: options.port ?? UPLOAD_PORT,
          settings,
          trustedProxies: settings.TRUSTED_PROXIES,
          onTokenUse: (caller, hour) => uses.record({ ...caller, hour }),
          now,
          log,
          ...ops && { metrics: ops.metrics },
        });
        io.stderr(`listening on ${receiver.url}\n`);
        log.info("started", { version: VERSION, commit: COMMIT.slice(0, 12) || undefined });
        await aborted(stop);
        await receiver.shutdown();
      } finally {
        await ops?.close();
        await uses.close();
        await database.close();
      }
    });
  },
});
