import type { Database } from "../../../db/connection/connect.ts";
import type { App } from "../../http/request/context.ts";
import { listen, type RunningServer } from "../../http/server/server.ts";
import { pause } from "../../base/delay.ts";
import { listenOrFail } from "../../http/server/listen_or_fail.ts";
import type { SettingName } from "../../base/config.ts";
import { openWorkFolder } from "../../storage/work_folder.ts";
import { unavailable } from "./failed_upload.ts";
import { ReaderPool } from "./reader_pool.ts";
import { createUploadApp } from "./upload_app.ts";
import type { UploadContext } from "./upload_context.ts";

export const UPLOAD_SETTINGS = [
  "MAX_UPLOAD_MB",
  "MAX_RUNNING_UPLOADS",
  "MAX_ORGANIZATION_UPLOADS",
  "MAX_ORGANIZATION_UPLOAD_MB",
  "MAX_TOKEN_UPLOADS",
  "MAX_TOKEN_UPLOAD_MB",
  "UPLOAD_IDLE_SECONDS",
  "UPLOAD_TIMEOUT_SECONDS",
] as const satisfies readonly SettingName[];

const MEGABYTE = 1024 * 1024;

/**
 * How long a shutdown waits for running uploads. Those that take longer are answered with 503 and sent
 * again by their clients: with what follows, a service ends within 5 seconds.
 */
const UPLOAD_DRAIN_MS = 3_000;

/** Time to remove the files of aborted uploads, and to answer them. */
const CLEAN_UP_MS = 1_000;

/** Time to close connections, on which clients may go on sending. */
const CLOSE_MS = 500;

/** Interval at which a shutdown looks whether uploads are running. */
const IDLE_CHECK_MS = 20;

/**
 * An app that can be drained: `Deno.serve` shuts down by cutting off the bodies that are being read, so
 * running uploads end before it does.
 */
function drainable(app: App) {
  let running = 0;
  let isDraining = false;
  return {
    app: (async (request, peer) => {
      if (isDraining) return unavailable();
      running++;
      try {
        return await app(request, peer);
      } finally {
        running--;
      }
    }) satisfies App as App,
    /** Refuses further requests, and waits for the running ones. */
    async drain(timeoutMs: number): Promise<void> {
      isDraining = true;
      const deadline = performance.now() + timeoutMs;
      while (running > 0 && performance.now() < deadline) await pause(IDLE_CHECK_MS);
    },
  };
}

/** What a command gives its receiver. */
interface ReceiverOptions extends
  Omit<
    UploadContext,
    "sql" | "writableSql" | "readers" | "workFolder" | keyof ReturnType<typeof limitsOf>
  > {
  /** For looking up tokens. */
  database: Database;
  /** For changes of quarantine. */
  writable: Database;
  host: string;
  port: number;
  /** `--port` unless given. */
  portOption?: string;
  settings: UploadSettings;
  /** How long `shutdown` waits for running uploads. */
  drainTimeoutMs?: number;
}

type UploadSettings = Record<typeof UPLOAD_SETTINGS[number], number>;

/**
 * Receives uploads until `shutdown` is called, which drains running ones for some seconds.
 *
 * @throws {Failure} when it cannot listen on the address
 */
export async function startReceiver(options: ReceiverOptions): Promise<RunningServer> {
  const { database, writable, inbox, room, metrics, log, host, port, portOption } = options;
  if (room) {
    metrics?.observeGauge("disk_free_bytes", () => room.freeBytes);
    metrics?.observeGauge("disk_needed_bytes", () => room.neededBytes);
  }
  const work = await openWorkFolder(inbox.unfinished);
  const abortUploads = new AbortController();
  const readers = new ReaderPool({ stop: abortUploads.signal });
  const { app, drain } = drainable(createUploadApp({
    ...options,
    ...limitsOf(options.settings, abortUploads.signal),
    sql: database.sql,
    writableSql: writable.sql,
    readers,
    workFolder: work.path,
  }));
  const close = async () => {
    readers.close();
    await work.close();
  };
  try {
    await readers.start();
    const server = listenOrFail(
      { host, port, portOption },
      () => listen(app, { host, port, log, drainTimeoutMs: CLOSE_MS }),
    );
    return {
      url: server.url,
      async shutdown() {
        await drain(options.drainTimeoutMs ?? UPLOAD_DRAIN_MS);
        abortUploads.abort();
        await drain(CLEAN_UP_MS);
        await server.shutdown();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function limitsOf(settings: UploadSettings, stop: AbortSignal) {
  return {
    limits: {
      maxBytes: settings.MAX_UPLOAD_MB * MEGABYTE,
      idleMs: settings.UPLOAD_IDLE_SECONDS * 1000,
      timeoutMs: settings.UPLOAD_TIMEOUT_SECONDS * 1000,
      stop,
    },
    maxRunningUploads: settings.MAX_RUNNING_UPLOADS,
    quotas: {
      token: {
        uploads: settings.MAX_TOKEN_UPLOADS,
        bytes: settings.MAX_TOKEN_UPLOAD_MB * MEGABYTE,
      },
      organization: {
        uploads: settings.MAX_ORGANIZATION_UPLOADS,
        bytes: settings.MAX_ORGANIZATION_UPLOAD_MB * MEGABYTE,
      },
    },
  };
}
