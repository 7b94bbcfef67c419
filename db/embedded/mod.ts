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
import { checkRoomForDatabase, diskFull, type FreeBytes, freeBytes } from "./disk_space.ts";
import { databaseFailed } from "./errors.ts";
import { SSL_REQUEST_MESSAGE } from "./messages.ts";
import { exitProcess, openPostgres, type Postgres } from "./open.ts";
import { SessionServer } from "./session.ts";

/**
 * How long to try to connect. Creating a database takes about 5 s on a slow machine, and an owner
 * that shuts down waits up to `DRAIN_TIMEOUT_MS` for transactions.
 */
const CONNECT_TIMEOUT_MS = 30_000;

/** How long an owner that shuts down waits for the transactions of other processes. */
const DRAIN_TIMEOUT_MS = 10_000;

/** How long the event loop still runs when the process ends because the database failed. */
const LAST_TURNS_MS = 50;

/** Pause between two attempts to connect. */
const RETRY_MS = 50;

/**
 * Connects a process to the embedded database of a data folder. The first process becomes its owner:
 * it opens the database and listens on a socket for the others. When the owner ends, the next
 * process that connects becomes the owner.
 */
export class EmbeddedDatabase {
  readonly #folder: EmbeddedFolder;
  readonly #freeBytes: FreeBytes;
  #owner: Owner | undefined;
  #opening: Promise<void> | undefined;
  #closed = false;

  private constructor(folder: EmbeddedFolder, freeBytes: FreeBytes) {
    this.#folder = folder;
    this.#freeBytes = freeBytes;
  }

  /** @throws {Error} when the data folder cannot be used */
  static async at(dataDir: string, free: FreeBytes = freeBytes): Promise<EmbeddedDatabase> {
    return new EmbeddedDatabase(await openFolder(dataDir), free);
  }

  /**
   * Connects to the owner, after becoming the owner if there is none.
   *
   * @throws {Error} when neither succeeds in time, or when the files are not a database
   */
  async connect(): Promise<Socket> {
    const deadline = Date.now() + CONNECT_TIMEOUT_MS;
    for (;;) {
      const socket = await tryConnect(await socketPath(this.#folder));
      if (socket) return socket;
      if (this.#closed) throw new Error("the embedded database is closed");
      if (await this.#tryOwn()) continue;
      if (Date.now() > deadline) {
        throw new Error(
          `the process that owns the embedded database in ${JSON.stringify(this.#folder.path)} ` +
            `has not answered for ${CONNECT_TIMEOUT_MS / 1000} s`,
        );
      }
      await pause(RETRY_MS);
    }
  }

  /** Shuts down an owned database, after waiting for the transactions of other processes. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#opening?.catch(() => {});
    const owner = this.#owner;
    this.#owner = undefined;
    await owner?.close();
  }

  /** @returns whether connecting again at once may succeed */
  async #tryOwn(): Promise<boolean> {
    if (this.#opening) {
      await this.#opening;
      return true;
    }
    const lock = this.#owner ? undefined : await tryLock(this.#folder);
    if (!lock) return false;
    this.#opening = this.#own(lock);
    try {
      await this.#opening;
    } finally {
      this.#opening = undefined;
    }
    return true;
  }

  async #own(lock: Deno.FsFile): Promise<void> {
    this.#owner = await Owner.open(this.#folder, lock, this.#freeBytes);
  }
}

/** An open database with its socket and lock. */
class Owner {
  readonly #folder: EmbeddedFolder;
  readonly #lock: Deno.FsFile;
  readonly #db: Postgres;
  readonly #sessions: SessionServer;
  readonly #server: Server;
  #closing: Promise<void> | undefined;

  private constructor(
    folder: EmbeddedFolder,
    lock: Deno.FsFile,
    db: Postgres,
    free: FreeBytes,
  ) {
    this.#folder = folder;
    this.#lock = lock;
    this.#db = db;
    this.#sessions = new SessionServer(db, {
      onFailure: (error) => exitLater(databaseFailed(folder.path, error)),
      refuseWrites: () => diskFull(folder.path, free),
    });
    this.#server = createServer((socket) => this.#sessions.accept(socket));
  }

  static async open(
    folder: EmbeddedFolder,
    lock: Deno.FsFile,
    free: FreeBytes,
  ): Promise<Owner> {
    try {
      await ensureData(folder, async (path) => {
        checkRoomForDatabase(folder.path, free);
        const db = await openPostgres(path);
        await db.close();
      });
      const db = await openPostgres(folder.data);
      try {
        await makeCachesPrivate(folder);
        const owner = new Owner(folder, lock, db, free);
        await owner.#listen(await claimSocket(folder));
        return owner;
      } catch (error) {
        await db.close();
        throw error;
      }
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  #listen(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(path, resolve);
    });
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    const stopped = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.#sessions.drain(DRAIN_TIMEOUT_MS);
    await stopped;
    await removeSocket(this.#folder);
    await this.#db.close().catch(() => {});
    this.#lock.close();
  }
}

/** Clients get their errors first, and telemetry reads its gauges, which `Deno.exit` waits for. */
function exitLater(error: unknown): void {
  Deno.exitCode = 1;
  setTimeout(() => exitProcess(error), LAST_TURNS_MS);
}

/**
 * Connects to the owner and waits until it accepts the connection: one that is shutting down closes
 * connections that it has not accepted.
 *
 * @returns undefined when no process accepts it
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
