// Tests: tests/lib/cli/commands/serve_test.ts tests/lib/cli/commands/watch_test.ts
import type { Database } from "../../db/connection/connect.ts";
import type { Environment } from "../base/config.ts";
import type { pause } from "../base/delay.ts";
import type { OutputQueue } from "../system/output_queue.ts";
import type { PublishClock } from "../forge/publish.ts";
import type { Git } from "../intake/checkout/git.ts";
import type { DatabaseLocation } from "./settings.ts";

/** Input and output of the program; tests pass their own. */
export interface CliIo {
  /** Writes to standard output. A closed pipe is not an error. */
  stdout(text: string): Promise<void>;
  /** Whether the reader of standard output has closed it; absent: never. */
  isStdoutClosed?(): boolean;
  /** Writes to standard error. */
  stderr(text: string): void;
  /** For services: from now on lines for standard error wait in a bounded queue instead of blocking. */
  queueStderr(
    handlers: { onDrop(count: number): void; onRoom(count: number): void },
  ): Pick<OutputQueue, "add">;
  environment: Environment;
  /** Seconds since 1970. */
  now(): number;
  /** Progress is shown only on a terminal. */
  stderrIsTerminal: boolean;
  /** Columns of the terminal that standard output goes to; absent when it goes elsewhere. */
  columns?: number;
  /** Aborted by the first signal to stop (SIGTERM, SIGINT). */
  stop: AbortSignal;
  /** Aborted by the second. */
  stopAtOnce: AbortSignal;
  /** The process's standard input unless given. */
  stdin?: ReadableStream<Uint8Array>;
  /** Runs git in the current folder; the real git unless given. */
  git?: Git;
  /** Time for comments on pull requests; the real one unless given. */
  commentClock?: PublishClock;
  /** Waits between the sweeps of a service; in real time unless given. */
  sleep?: typeof pause;
  /** Opens a database and migrates its schema. */
  openDatabase(location: DatabaseLocation, options: OpenOptions): Promise<Database>;
}

export interface OpenOptions {
  /** Whether a missing embedded database is created. */
  mayCreate: boolean;
  /** The organization that the command names, for the message about a missing database. */
  organization?: unknown;
  /** Called before a missing embedded database is created. */
  onCreate?(): void;
}
