// Tests: tests/db/connection/connect_test.ts tests/db/embedded/full_disk_test.ts
import { connect, createServer, type Server, type Socket } from "node:net";
import {
  claimSocket,
  type EmbeddedFolder,
  ensureData,
  makeCachesPrivate,
  openFolder,
  removeSocket,
  socketPath,
  tryLock,
} from "./folder.ts";
import { pause } from "../../lib/base/delay.ts";
import { DatabaseError } from "../database_error.ts";
import { diskFull } from "./disk_space.ts";
import { SSL_REQUEST_MESSAGE } from "./messages.ts";
import { databaseFailed, exitProcess, openPostgres } from "./open.ts";
import { SessionServer } from "./session.ts";

/**
 * How long to try to connect. Creating a database takes about 5 s on a slow machine, and an owner
 * that shuts down waits up to `TRANSACTION_TIMEOUT_MS` for transactions.
 */
const CONNECT_TIMEOUT_MS = 30_000;

/** How long an owner that shuts down waits for the transactions of other processes. */
const TRANSACTION_TIMEOUT_MS = 10_000;

/** How long the event loop still runs when the process ends because the database failed. */
const LAST_TURNS_MS = 50;

const SOCKET_RETRY_MS = 50;

/**
 * Connects a process to the embedded database of a data folder. The first process becomes its owner:
 * it opens the database and listens on a socket for the others. When the owner ends, the next
 * process that connects becomes the owner. @throws {Error} when the data folder cannot be used
 */
export async function embeddedDatabase(dataDir: string) {
  const folder = await openFolder(dataDir);
  /** Closes the database that this process owns. */
  let closeOwned: (() => Promise<void>) | undefined;
  let opening: Promise<void> | undefined;
  let isClosed = false;

  /** Opens the database unless another process has it. @returns whether connecting may succeed now */
  async function tryOwn(): Promise<boolean> {
    if (!opening) {
      const lock = closeOwned ? undefined : await tryLock(folder);
      if (!lock) return false;
      opening = openOwned(folder, lock)
        .then((close) => void (closeOwned = close))
        .finally(() => opening = undefined);
    }
    await opening;
    return true;
  }

  return {
    /** Connects to the owner, after becoming the owner if there is none. @throws {Error} */
    async connect(): Promise<Socket> {
      const deadline = Date.now() + CONNECT_TIMEOUT_MS;
      for (;;) {
        const socket = await tryConnect(await socketPath(folder));
        if (socket) return socket;
        if (isClosed) throw new Error("the embedded database is closed");
        if (await tryOwn()) continue;
        if (Date.now() > deadline) {
          throw new Error(
            `the process that owns the embedded database in ${JSON.stringify(folder.path)} ` +
              `has not answered for ${CONNECT_TIMEOUT_MS / 1000} s`,
          );
        }
        await pause(SOCKET_RETRY_MS);
      }
    },

    /** Shuts down an owned database, after waiting for the transactions of other processes. */
    async close(): Promise<void> {
      isClosed = true;
      await opening?.catch(() => {});
      const close = closeOwned;
      closeOwned = undefined;
      await close?.();
    },
  };
}

/**
 * Opens the database, which is created if missing, and listens on its socket. Returns a function
 * that waits for the transactions of the clients, and closes it.
 */
async function openOwned(folder: EmbeddedFolder, lock: Deno.FsFile): Promise<() => Promise<void>> {
  try {
    await ensureData(folder, async (path) => {
      const problem = diskFull(folder.path, true);
      if (problem !== null) throw new DatabaseError(problem);
      const db = await openPostgres(path);
      await db.close();
    });
    const db = await openPostgres(folder.data);
    const sessions = new SessionServer(db, {
      onFailure: (error) => exitLater(databaseFailed(folder.path, error)),
      refuseWrites: () => diskFull(folder.path),
      maintain: () => db.maintain(),
    });
    const server = createServer((socket) => sessions.accept(socket));
    try {
      await makeCachesPrivate(folder);
      await listen(server, await claimSocket(folder));
    } catch (error) {
      await db.close();
      throw error;
    }
    return async () => {
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      await sessions.drain(TRANSACTION_TIMEOUT_MS);
      await stopped;
      await removeSocket(folder);
      await db.close().catch(() => {});
      lock.close();
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
}

/** Clients get their errors first, and telemetry reads its gauges, which `Deno.exit` waits for. */
function exitLater(error: unknown): void {
  Deno.exitCode = 1;
  setTimeout(() => exitProcess(error), LAST_TURNS_MS);
}

/**
 * Connects to the owner and waits until it accepts the connection, which one that is shutting down
 * never does. Returns undefined when no process accepts it.
 */
function tryConnect(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const failed = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(undefined);
    };
    const timer = setTimeout(failed, CONNECT_TIMEOUT_MS);
    socket.once("error", failed);
    socket.once("close", failed);
    socket.once("connect", () => socket.write(SSL_REQUEST_MESSAGE));
    socket.once("data", () => {
      clearTimeout(timer);
      socket.off("error", failed);
      socket.off("close", failed);
      resolve(socket);
    });
  });
}
