// Tests: tests/lib/http/request/token_throttle_test.ts tests/lib/http/server/server_test.ts
import type { BlockList } from "node:net";
import type { TokenUse } from "../../../db/admin/tokens.ts";
import type { Database } from "../../../db/connection/connect.ts";
import type { Log } from "../../base/log.ts";
import type { Metrics } from "../../base/metrics.ts";
import type { SignIn } from "../sign_in/sign_in.ts";
import type { TimeZone } from "../../base/time_zone.ts";

/** Responds to a request from a peer with this IP address; never throws. */
export type App = (request: Request, peer?: string) => Promise<Response>;

/** Longer than any statement may take, shorter than most clients and proxies wait. */
export const REQUEST_TIMEOUT_MS = 30_000;

/** Dependencies of handlers; passed in, so that tests can replace them. */
export interface Context {
  /** Only reads: a replica or a read-only connection is enough. */
  sql: Database["sql"];
  /** Whole seconds since 1970; the clock of the system unless given. */
  now?(): number;
  /** Length of the window. */
  windowSeconds: number;
  log: Log;
  /** Proxies whose `X-Forwarded-For` is believed. */
  trustedProxies?: BlockList | null;
  /** The time zone of pages that name no other; UTC unless given. */
  timeZone?: TimeZone;
  /** Address for uploads, shown in commands; `""` if unknown. */
  uploadUrl?: string;
  /** The header by which a trusted proxy names the organization of a page's reader; "" for none. */
  organizationHeader?: string;
  /** Signs people in, if a provider is configured. */
  signIn?: SignIn | undefined;
  /** Connections for what people who are signed in change; absent where nothing is written. */
  writableSql?: Database["sql"] | undefined;
  /** The header by which a trusted proxy names the person, for the log; "" for none. */
  userHeader?: string;
  /** Called at most once an hour per token. */
  onTokenUse?(use: TokenUse): void;
  metrics?: Metrics;
  /** Requests that take longer are answered with 500. */
  requestTimeoutMs?: number;
  /** Called when requests timed out: what they wait for may never come. */
  onTimeout?(): void;
  /** Approximate memory of the caches, 80 unless given. */
  cacheSizeMb?: number;
}
