/** An app that receives uploads into a folder, for tests. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { insertToken } from "../../../../db/admin/tokens.ts";
import { createOrganization } from "../../../../db/admin/organizations.ts";
import type { Database } from "../../../../db/connection/connect.ts";
import { silentLog } from "../../../silent_log.ts";
import { makeToken, type TokenType } from "../../../../lib/base/token.ts";
import { openInbox } from "../../../../lib/storage/inbox.ts";
import { openWorkFolder } from "../../../../lib/storage/work_folder.ts";
import { ReaderPool } from "../../../../lib/intake/receive/reader_pool.ts";
import { createUploadApp } from "../../../../lib/intake/receive/upload_app.ts";
import type { UploadContext } from "../../../../lib/intake/receive/upload_context.ts";
import type { App } from "../../../../lib/http/request/context.ts";
import { NOON } from "../../cli/run_in_process.ts";

/** A receiver. */
export interface Receiver {
  folder: string;
  app: App;
  /** `PUT` unless the request says another method. */
  send(
    path: string,
    token: string,
    request?: RequestInit & { duplex?: "half" },
  ): Promise<Response>;
  /** Everything below the folder, without its empty work folder. */
  files(): Promise<string[]>;
  /** Dates its files back an hour: `watch` waits until a new one has not changed for two seconds. */
  age(): Promise<void>;
  close(): Promise<void>;
}

/** Creates a receiver into a new folder. */
export async function createReceiver(
  sql: Database["sql"],
  { limits, ...changes }:
    & Partial<Omit<UploadContext, "limits">>
    & { limits?: Partial<UploadContext["limits"]> } = {},
): Promise<Receiver> {
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-receive-" });
  const inbox = openInbox(folder, {});
  const work = await openWorkFolder(inbox.unfinished);
  const { signal: stop } = new AbortController();
  const readers = new ReaderPool({ stop });
  const app = createUploadApp({
    pagesUrl: "",
    sql,
    writableSql: sql,
    log: silentLog,
    now: () => NOON,
    inbox,
    readers,
    workFolder: work.path,
    limits: { maxBytes: 10_000_000, idleMs: 60_000, timeoutMs: 120_000, stop, ...limits },
    publicUrl: "",
    maxRunningUploads: 10,
    quotas: {
      token: { uploads: 10, bytes: 10_000_000 },
      organization: { uploads: 10, bytes: 10_000_000 },
    },
    ...changes,
  });
  const files = async () =>
    (await filesBelow(folder)).filter((path) => !/^\.unfinished\/([^/]+\/)?lock$/.test(path));
  return {
    folder,
    app,
    send: (path, token, { headers, ...init } = {}) =>
      app(
        new Request(`http://127.0.0.1:8001${path}`, {
          method: "PUT",
          ...init,
          headers: {
            authorization: `Bearer ${token}`,
            ...Object.fromEntries(new Headers(headers)),
          },
        }),
        "192.0.2.1",
      ),
    files,
    async age() {
      const hourAgo = Date.now() / 1000 - 3_600;
      for (const path of await files()) await Deno.utime(join(folder, path), hourAgo, hourAgo);
    },
    async close() {
      readers.close();
      await work.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function filesBelow(folder: string, prefix = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(folder, prefix))) {
    const path = join(prefix, name);
    if (isDirectory) found.push(...await filesBelow(folder, path));
    else found.push(path);
  }
  return found.sort();
}

/** Creates an organization. */
export async function addOrganization(sql: Database["sql"], name: string): Promise<number> {
  const created = await createOrganization(sql, { name, purchaseUnitCount: 1, createdAt: NOON });
  assert.ok(created);
  return created.organizationId;
}

/** Creates a token. */
export async function addToken(
  sql: Database["sql"],
  organizationId: number,
  type: TokenType = "upload",
  expiresAt: number | null = null,
): Promise<string> {
  const { plain, hash, prefix: tokenPrefix } = makeToken(type);
  const row = { organizationId, type, hash, tokenPrefix, label: null, createdAt: NOON, expiresAt };
  assert.ok((await insertToken(sql, row))?.isNew);
  return plain;
}

/** A form with files; those in `text` are written as they are. */
export function formOf(files: (readonly [part: string, name: string, text: string])[]): FormData {
  const form = new FormData();
  for (const [part, name, text] of files) form.append(part, new File([text], name));
  return form;
}
