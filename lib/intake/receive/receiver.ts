// Tests: tests/lib/cli/commands/upload_to_receiver_test.ts tests/lib/cli/program_test.ts
import type { Database } from "../../../db/connection/connect.ts";
import type { Context } from "../../http/request/context.ts";
import { DRAIN_TIMEOUT_MS, listen, type RunningServer } from "../../http/server/server.ts";
import { listenOrFail } from "../../http/server/listen_or_fail.ts";
import type { SettingName } from "../../base/config.ts";
import type { Inbox } from "../../storage/inbox.ts";
import { openWorkFolder } from "../../storage/work_folder.ts";
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

/** Time to remove the files of aborted uploads. */
const CLEAN_UP_MS = 2_000;

/**
 * Receives uploads until `shutdown` is called, which drains running ones for some seconds.
 *
 * @throws {Failure} when it cannot listen on the address
 */
export async function startReceiver(
  { database, writable, inbox, host, port, portOption, settings, ...context }:
    & Pick<Context, "log" | "metrics" | "trustedProxies" | "onTokenUse">
    & Pick<UploadContext, "now" | "accepted" | "room" | "publicUrl" | "pagesUrl">
    & {
      /** For looking up tokens. */
      database: Database;
      /** For changes of quarantine. */
      writable: Database;
      inbox: Inbox;
      host: string;
      port: number;
      /** `--port` unless given. */
      portOption?: string;
      settings: Record<typeof UPLOAD_SETTINGS[number], number>;
    },
): Promise<RunningServer> {
  const { metrics, room } = context;
  if (room) {
    metrics?.observeGauge("disk_free_bytes", () => room.freeBytes);
    metrics?.observeGauge("disk_needed_bytes", () => room.neededBytes);
  }
  const work = await openWorkFolder(inbox.unfinished);
  const abortUploads = new AbortController();
  const readers = new ReaderPool({ stop: abortUploads.signal });
  const app = createUploadApp({
    ...context,
    sql: database.sql,
    writableSql: writable.sql,
    inbox,
    readers,
    workFolder: work.path,
    limits: {
      maxBytes: settings.MAX_UPLOAD_MB * MEGABYTE,
      idleMs: settings.UPLOAD_IDLE_SECONDS * 1000,
      timeoutMs: settings.UPLOAD_TIMEOUT_SECONDS * 1000,
      stop: abortUploads.signal,
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
  });
  const close = async () => {
    readers.close();
    await work.close();
  };
  try {
    await readers.start();
    const server = listenOrFail({ host, port, portOption }, () =>
      listen(app, {
        host,
        port,
        log: context.log,
        drainTimeoutMs: DRAIN_TIMEOUT_MS + CLEAN_UP_MS,
      }));
    return {
      url: server.url,
      async shutdown() {
        const timer = setTimeout(() => abortUploads.abort(), DRAIN_TIMEOUT_MS);
        await server.shutdown();
        clearTimeout(timer);
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
