/**
 * Which of the servers of a `DATABASE_URL` is used. All connections of a pool go to the same one:
 * two servers have come to different points of the replication, and what belongs together would be
 * read from both.
 */
import type { Socket } from "node:net";
import postgres from "postgres";
import { lostConnection } from "./backoff.ts";
import type { DatabaseUrl, TargetSessionAttrs } from "./database_url.ts";
import { withoutEnvironment } from "./pool.ts";
import { type Address, brokenSocket, connectTo, noAnswer, steady } from "./socket.ts";

/** What a server says of itself. */
interface Nature {
  isStandby: boolean;
  isReadOnly: boolean;
}

/** Whether a server will do, by the meaning that the word has to PostgreSQL's own clients. */
const SUITS: Record<TargetSessionAttrs, (nature: Nature) => boolean> = {
  "any": () => true,
  "read-write": ({ isReadOnly }) => !isReadOnly,
  "read-only": ({ isReadOnly }) => isReadOnly,
  "primary": ({ isStandby }) => !isStandby,
  "standby": ({ isStandby }) => isStandby,
  "prefer-standby": ({ isStandby }) => isStandby,
};

/**
 * Makes the way to one server: the first of the URL, in its order, that answers and will do. It is
 * looked for again when it was not reached; a server that was reached is stayed with.
 *
 * @param timeoutMs how long a server may take to answer
 */
export function wayToOneServer(url: DatabaseUrl, timeoutMs: number): () => Promise<Socket> {
  const [only, ...others] = url.addresses;
  if (only && others.length === 0 && url.targetSessionAttrs === "any") {
    return () => connectTo(only, timeoutMs);
  }
  let chosen: Promise<Address> | undefined;
  return async () => {
    const choice = chosen ??= choose(url, timeoutMs);
    try {
      return await connectTo(await choice, timeoutMs);
    } catch (error) {
      if (chosen === choice) chosen = undefined;
      throw error;
    }
  };
}

async function choose(url: DatabaseUrl, timeoutMs: number): Promise<Address> {
  const { targetSessionAttrs } = url;
  const second: Address[] = [];
  let failure: unknown;
  for (const address of url.addresses) {
    try {
      if (SUITS[targetSessionAttrs](await ask(address, url, timeoutMs))) return address;
      second.push(address);
    } catch (error) {
      failure = error;
    }
  }
  const [unsuitable] = second;
  if (!unsuitable) throw failure;
  if (targetSessionAttrs === "prefer-standby") return unsuitable;
  throw Object.assign(
    new Error(`no server is ${targetSessionAttrs}, as target_session_attrs asks for`),
    { code: "NO_SUITABLE_SERVER" },
  );
}

/** Asks a server over a connection of its own: not before it has let us in is it one that answers. */
async function ask(address: Address, url: DatabaseUrl, timeoutMs: number): Promise<Nature> {
  const socket = await connectTo(address, timeoutMs);
  // The types of the library do not know of the option for making sockets. Cut off before it was let
  // in, it asks for another one.
  const ownSocket: object = {
    socket: ({ ssl }: { ssl: unknown }) =>
      socket.destroyed ? brokenSocket(lostConnection()) : ssl ? socket : steady(socket),
  };
  const sql = withoutEnvironment(() =>
    postgres(url.text, {
      host: address.host,
      port: address.port,
      max: 1,
      fetch_types: false,
      connect_timeout: timeoutMs / 1000,
      connection: { application_name: "test-analytics" },
      onnotice: () => {},
      ...ownSocket,
    })
  );
  const { promise: late, reject } = Promise.withResolvers<never>();
  // The library's own time limit ends when the server lets us in. Whoever connects waits for this.
  const timer = setTimeout(() => {
    reject(noAnswer());
    socket.destroy();
  }, timeoutMs);
  try {
    const asked = sql<Nature[]>`
      select pg_is_in_recovery() as "isStandby",
        current_setting('transaction_read_only')::boolean as "isReadOnly"`;
    const [nature] = await Promise.race([asked, late]);
    return nature!;
  } finally {
    clearTimeout(timer);
    await sql.end({ timeout: 0 });
    socket.destroy();
  }
}
