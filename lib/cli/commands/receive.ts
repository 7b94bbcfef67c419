import * as v from "valibot";
import { aborted } from "../../base/delay.ts";
import { type AddCommand, command } from "../command.ts";
import { location, option, port } from "../parameters.ts";
import { reopenForReading } from "../database.ts";
import { UsageError } from "../../base/failure.ts";
import { openInbox } from "../../storage/inbox.ts";
import { startReceiver, UPLOAD_SETTINGS } from "../../intake/receive/receiver.ts";
import { runService, SERVICE_SETTINGS } from "../service.ts";
import { readSettings } from "../settings.ts";
import { STORAGE_VARIABLES } from "../../storage/s3_storage.ts";

/** One token look-up per upload. */
const MAX_CONNECTIONS = 2;

export const receiveCommand: AddCommand = command({
  name: "receive",
  summary: "Receive uploads over HTTP into a folder or bucket for `watch`, until SIGTERM or SIGINT",
  example: "receive --to /srv/ci-reports",
  details: [
    "PUT or POST /upload/OWNER/NAME?commit=OID with one JUnit report, a form with any number of " +
    "files report, coverage and codeowners, or an archive of `upload`; needs an upload token " +
    "(`token create --upload`). The response is 202 once the archive is stored durably.",
    "Uses the database for tokens only; deploy/upload_role.sql creates a sufficient role.",
  ],
  settings: ["HOST", ...UPLOAD_SETTINGS, "TRUSTED_PROXIES", ...SERVICE_SETTINGS],
  environment: ["UPLOAD_PORT", ...STORAGE_VARIABLES],
  input: {
    to: option("<target>", "folder, or s3://BUCKET/PREFIX", location),
    port: option("<n>", "port; 0: any free one (default: UPLOAD_PORT, or 8001)", v.optional(port)),
  },
  async run(options, context, settings) {
    const { io } = context;
    const { environment, now, stop } = io;
    const problems: string[] = [];
    const { UPLOAD_PORT } = readSettings(["UPLOAD_PORT"], { environment, flags: {}, problems });
    if (problems.length > 0) throw new UsageError(problems.join("; "));
    const inbox = openInbox(options.to, environment);
    await runService(context, settings, {
      open: async () =>
        await reopenForReading(await context.openDatabase(), {
          ...context.database,
          maxConnections: MAX_CONNECTIONS,
          statementTimeoutMs: 10_000,
        }),
      async body({ logStarted, ...service }) {
        const receiver = await startReceiver({
          ...service,
          inbox,
          host: settings.HOST,
          port: options.port ?? UPLOAD_PORT,
          settings,
          trustedProxies: settings.TRUSTED_PROXIES,
          now,
        });
        io.stderr(`listening on ${receiver.url}\n`);
        logStarted();
        await aborted(stop);
        await receiver.shutdown();
      },
    });
  },
});
