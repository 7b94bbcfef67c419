import type { PGlite } from "@electric-sql/pglite";
import { connect, createServer, type Server, type Socket } from "node:net";
import {
  claimSocket,
  type EmbeddedFolder,
  ensureData,
  openFolder,
  removeSocket,
  socketPath,
  tryLock,
} from "./folder.ts";
import { pause } from "../../lib/base/delay.ts";
import { openPostgres } from "./open.ts";
import { SessionServer } from "./session.ts";

/**
 * How long to try to connect. Creating a database takes about 5 s on a slow machine, and an owner
 * that shuts down waits up to `DRAIN_TIMEOUT_MS` for transactions.
 */
const CONNECT_TIMEOUT_MS = 30_000;

/** How long an owner that shuts down waits for the transactions of other processes. */
const DRAIN_TIMEOUT_MS = 10_000;

/** Pause between two attempts to connect. */
const RETRY_MS = 50;

/**
 * Connects a process to the embedded database of a data folder. The first process becomes its owner:
 * it opens the database and listens on a socket for the others. When the owner ends, the next
 * process that connects becomes the owner.
 */
export class EmbeddedDatabase {
  readonly #folder: EmbeddedFolder;
  #owner: Owner | undefined;
  #opening: Promise<void> | undefined;
  #closed = false;

  private constructor(folder: EmbeddedFolder) {
    this.#folder = folder;
  }

  /** @throws {Error} when the data folder cannot be used */
  static async at(dataDir: string): Promise<EmbeddedDatabase> {
    return new EmbeddedDatabase(await openFolder(dataDir));
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
    const owner = await Owner.open(this.#folder, lock, () => {
      if (this.#owner === owner) this.#owner = undefined;
    });
    this.#owner = owner;
  }
}

/** An open database with its socket and lock. */
class Owner {
  readonly #folder: EmbeddedFolder;
  readonly #lock: Deno.FsFile;
  readonly #db: PGlite;
  readonly #sessions: SessionServer;
  readonly #server: Server;
  #closing: Promise<void> | undefined;

  private constructor(
    folder: EmbeddedFolder,
    lock: Deno.FsFile,
    db: PGlite,
    onFailure: () => void,
  ) {
    this.#folder = folder;
    this.#lock = lock;
    this.#db = db;
    this.#sessions = new SessionServer(db, {
      // A broken session cannot be repaired, but the files can be reopened, as after a kill.
      onFailure: () => {
        onFailure();
        void this.close();
      },
    });
    this.#server = createServer((socket) => this.#sessions.accept(socket));
  }

  static async open(
    folder: EmbeddedFolder,
    lock: Deno.FsFile,
    onFailure: () => void,
  ): Promise<Owner> {
    try {
      await ensureData(folder, async (path) => {
        const db = await openPostgres(path);
        await db.close();
      });
      const db = await openPostgres(folder.data);
      try {
        const owner = new Owner(folder, lock, db, onFailure);
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

/** @returns undefined when no process listens */
function tryConnect(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const failed = () => {
      socket.destroy();
      resolve(undefined);
    };
    socket.once("error", failed);
    socket.once("connect", () => {
      socket.off("error", failed);
      resolve(socket);
    });
  });
}
