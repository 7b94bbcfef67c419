/**
 * Host selection: which server of a `DATABASE_URL` is used. All connections of a client go to the
 * same one, because two servers may have replicated up to different points.
 */
import type { Socket } from "node:net";
import { createClient } from "./client.ts";
import {
  type Address,
  type DatabaseUrl,
  type ServerRole,
  TARGET_SESSION_ATTRS,
} from "./database_url.ts";
import { connectTimeout } from "./errors.ts";
import { createPool } from "./pool.ts";
import { connectTo } from "./socket.ts";

/**
 * Returns a function that connects to the first host that answers (each within `timeoutMs`) and
 * matches. The choice is kept until a connection to that host fails.
 */
export function hostConnector(url: DatabaseUrl, timeoutMs: number): () => Promise<Socket> {
  const [only, ...others] = url.addresses;
  if (only && others.length === 0 && url.targetSessionAttrs === "any") {
    return () => connectTo(only, timeoutMs);
  }
  let selected: Promise<Address> | undefined;
  return async () => {
    const selection = selected ??= selectHost(url, timeoutMs);
    try {
      return await connectTo(await selection, timeoutMs);
    } catch (error) {
      if (selected === selection) selected = undefined;
      throw error;
    }
  };
}

async function selectHost(url: DatabaseUrl, timeoutMs: number): Promise<Address> {
  const { targetSessionAttrs } = url;
  let fallback: Address | undefined;
  let failure: unknown;
  for (const address of url.addresses) {
    try {
      const role = await loadRole(address, url, timeoutMs);
      if (TARGET_SESSION_ATTRS[targetSessionAttrs](role)) return address;
      fallback ??= address;
    } catch (error) {
      failure = error;
    }
  }
  if (!fallback) throw failure;
  if (targetSessionAttrs === "prefer-standby") return fallback;
  throw Object.assign(
    new Error(`none of its servers matches target_session_attrs=${targetSessionAttrs}`),
    { code: "NO_SUITABLE_SERVER" },
  );
}

/** Queries a server's role over a connection of its own, which also verifies that it accepts logins. */
async function loadRole(
  address: Address,
  url: DatabaseUrl,
  timeoutMs: number,
): Promise<ServerRole> {
  const pool = createPool(
    (poolOptions) =>
      createClient(url.text, {
        ...poolOptions,
        ...address,
        max: 1,
        connect_timeout: timeoutMs / 1000,
        connection: { application_name: "test-analytics" },
      }),
    () => () => connectTo(address, timeoutMs),
  );
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  // `connect_timeout` does not cover the query.
  const timer = setTimeout(() => reject(connectTimeout()), timeoutMs);
  try {
    const query = pool.sql<ServerRole[]>`
      select pg_is_in_recovery() as "isStandby",
        current_setting('transaction_read_only')::boolean as "isReadOnly"`;
    const [role] = await Promise.race([query, timeout]);
    return role!;
  } finally {
    clearTimeout(timer);
    await pool.close(0);
  }
}
