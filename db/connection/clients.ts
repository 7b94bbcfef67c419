// Tests: tests/db/connection/pool_test.ts
/** The postgres.js client of a pool, and those that it replaced. */
import type { Socket } from "node:net";
import type postgres from "postgres";
import { pause } from "../../lib/base/delay.ts";
import { SHUTTING_DOWN } from "../embedded/session.ts";
import { ConnectionBackoff } from "./backoff.ts";
import type { ClientOptions } from "./client.ts";
import { connectionLost, isOutOfConnections, outOfConnections } from "./errors.ts";
import { revealsPooler } from "./pooler.ts";
import { failingSocket, suppressErrorEvent } from "./socket.ts";
import { isClientFault, isOutdated } from "./statements.ts";

/**
 * How often it is checked whether a replaced client has finished. Statements that were created before
 * reach it within this time.
 */
const RETIRE_INTERVAL_MS = 1_000;

/** Options that a pool adds to its client's. */
type PoolOptions = Pick<
  ClientOptions,
  "prepare" | "max_lifetime" | "backoff" | "onclose" | "onparameter" | "socket"
>;

/** Receives how long a statement or transaction took, and how long it waited for a connection. */
export type OnTiming = (timing: {
  totalMs: number;
  /** `null` when it never had one. */
  waitedMs: number | null;
}) => void;

/** The connections of one client: those that work, and how many the server has refused. */
class Connections {
  sockets: Socket[] = [];
  #refusedCount = 0;

  get areServing(): boolean {
    return this.sockets.some((socket) => !socket.destroyed);
  }

  /** Notes an error of a statement. A refusal is one of the server, not one that is repeated during the backoff. */
  recordError(error: unknown): void {
    if (isOutOfConnections(error) && Object.hasOwn(error as Error, "severity")) {
      this.#refusedCount++;
    }
  }

  /**
   * How many connections were lost since the last call, and whether all of them had only been refused while
   * others work: then the client can be kept.
   */
  takeLost(): { lostCount: number; areRefused: boolean } {
    const working = this.sockets.filter((socket) => !socket.destroyed);
    const lostCount = this.sockets.length - working.length;
    const areRefused = working.length > 0 && lostCount <= this.#refusedCount;
    if (areRefused) {
      this.sockets = working;
      this.#refusedCount -= lostCount;
    }
    return { lostCount, areRefused };
  }
}

export interface Client {
  sql: postgres.Sql;
  connections: Connections;
  /** Statements and transactions that have not settled. */
  runningCount: number;
  /** Whether it sends nothing that relies on a session of its own. */
  isPooled: boolean;
  isEnded: boolean;
}

/** What clients are made with. */
export interface ClientSources {
  /** Creates a client with these options added. */
  create(options: PoolOptions): postgres.Sql;
  /** Opens a socket for a client. */
  connect(): Promise<Socket>;
  /** Whether a connection pooler may be between this program and the server. */
  mayBePooled: boolean;
}

/**
 * The client that new statements use. A postgres.js 3.4.9 connection that is lost just before a statement
 * is sent never sends anything again after reconnecting. So the whole client is replaced when it loses a
 * connection: the old one finishes what it can. A failed attempt to connect does not replace it, or an
 * unreachable server would cost a client for every request (1 GB in half a minute). A connection that the
 * server refuses because it has none left does not either: statements wait for those that work.
 */
export class Clients {
  readonly #sources: ClientSources;
  readonly #backoff = new ConnectionBackoff();
  /** Replaced clients that have not ended. */
  readonly #retirements = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #current: Client;
  #isPooled = false;
  onTiming: OnTiming | undefined;

  constructor(sources: ClientSources) {
    this.#sources = sources;
    this.#current = this.#open();
  }

  get current(): Client {
    return this.#current;
  }

  /** Whether a connection pooler was found. */
  get isPooled(): boolean {
    return this.#isPooled;
  }

  #open(): Client {
    let wasAccepted = false;
    const sql = this.#sources.create({
      prepare: !this.#isPooled,
      max_lifetime: null,
      // `ConnectionBackoff` decides when to retry; waiting statements must fail at once.
      backoff: () => 0,
      // The first message of a server that has accepted a connection.
      onparameter: (name) => {
        wasAccepted = true;
        this.#backoff.recordSuccess();
        if (name === SHUTTING_DOWN && client === this.#current) this.replace();
      },
      onclose: () => this.#replaceIfLost(client, wasAccepted),
      socket: async ({ ssl }) => {
        try {
          // Closed before the server accepted it, a connection is retried for ever and without an error.
          this.#replaceIfLost(client, wasAccepted);
          const socket = await this.#openSocket(client);
          // TLS puts a socket of its own on top.
          return ssl ? socket : suppressErrorEvent(socket);
        } catch (error) {
          return failingSocket(error);
        }
      },
    });
    const client: Client = {
      sql,
      connections: new Connections(),
      runningCount: 0,
      isPooled: this.#isPooled,
      isEnded: false,
    };
    return client;
  }

  async #openSocket(client: Client): Promise<Socket> {
    if (client !== this.#current) throw connectionLost();
    const socket = await this.#backoff.run(() => this.#sources.connect());
    if (client.isEnded) {
      socket.destroy();
      throw connectionLost();
    }
    client.connections.sockets.push(socket);
    return socket;
  }

  #replaceIfLost(client: Client, wasAccepted: boolean): void {
    if (client !== this.#current) return;
    const { lostCount, areRefused } = client.connections.takeLost();
    if (lostCount === 0) return;
    if (areRefused) return this.#backoff.recordFailure(outOfConnections());
    if (!wasAccepted) this.#backoff.recordFailure(connectionLost());
    this.replace();
  }

  /** @param timeoutMs after which its statements fail; by default TCP keep-alive bounds the time */
  replace(timeoutMs = Infinity): void {
    if (this.#closing.signal.aborted) return;
    const retiring = this.#retire(this.#current, timeoutMs)
      .finally(() => this.#retirements.delete(retiring));
    this.#retirements.add(retiring);
    this.#current = this.#open();
  }

  async #retire(client: Client, timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    const { signal } = this.#closing;
    do {
      await pause(RETIRE_INTERVAL_MS, signal);
    } while (client.runningCount > 0 && performance.now() < deadline && !signal.aborted);
    // Its connections are lost, and so is the error of ending them.
    await endClient(client, 0).catch(() => {});
  }

  /** Counts something that runs on the client, and measures it. */
  start(client: Client): { sent(): void; settled(): void } {
    const startedAt = performance.now();
    let waitedMs: number | null = null;
    client.runningCount++;
    return {
      sent: () => waitedMs = performance.now() - startedAt,
      settled: () => {
        client.runningCount--;
        this.onTiming?.({ totalMs: performance.now() - startedAt, waitedMs });
      },
    };
  }

  /** Leaves connections on which statements would fail, or receive the rows of others. */
  checkError(client: Client, error: unknown): void {
    client.connections.recordError(error);
    if (isClientFault(error)) destroy(client);
    else if (isOutdated(error) && client === this.#current) this.replace();
    else if (revealsPooler(error)) this.leaveForPooler(client);
  }

  /** From now on, transactions are sent as a pooler needs them. */
  expectPooler(): void {
    if (this.#isPooled) return;
    this.#isPooled = true;
    this.replace();
  }

  /** A pooler has appeared: what is under way on this client must not go on. */
  leaveForPooler(client: Client): void {
    if (!this.#sources.mayBePooled || client.isPooled) return;
    this.expectPooler();
    destroy(client);
  }

  /** Closes all connections; statements of the current client get `timeoutSeconds` to finish. */
  async close(timeoutSeconds: number): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#retirements);
    await endClient(this.#current, timeoutSeconds);
  }
}

function destroy({ connections }: Client): void {
  for (const socket of connections.sockets) socket.destroy();
}

/** Ends a client; its statements get `timeoutSeconds` to finish. */
export async function endClient(client: Client, timeoutSeconds: number): Promise<void> {
  try {
    await client.sql.end({ timeout: timeoutSeconds });
  } finally {
    client.isEnded = true;
    // A graceful close would wait for a server that may be gone.
    destroy(client);
  }
}
