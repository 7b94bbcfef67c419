/** Statements of postgres.js 3.4.9: measured, and sent so that its faults do not show. */
import type postgres from "postgres";
import { pause } from "../../lib/base/delay.ts";
import { errorCode } from "../../lib/base/error.ts";
import { connectionLost, isOutOfConnections } from "./errors.ts";
import type { Transaction } from "./sql.ts";

type Settled = { result: postgres.RowList<postgres.Row[]> } | { error: unknown };

interface StatementObserver {
  isInTransaction?: boolean;
  /** It has a connection. */
  sent?(): void;
  /** Called before anything else that waits for the statement. */
  settled(settled: Settled): void;
}

interface Hooked {
  options: {
    /** Receives the connection on which it is sent. */
    onexecute?: (connection: { queue: Queue }) => boolean;
  };
  /** Whether the server knows it by a name, so that only its values are sent. */
  prepared: boolean;
  /** Whether the types of its parameters are requested before it is sent. */
  describeFirst: boolean;
}

/** A queue of connections in postgres.js. */
interface Queue {
  readonly length: number;
  push(connection: unknown): unknown;
  shift(): unknown;
}

/**
 * Sends a statement at once. By default the first run of one with parameters on a connection waits for the types that
 * the server expects, and all others wait with it: 25 statements of a page took 30 ms longer. The types are needed
 * for values that we do not pass, such as a Date. In transactions only: of equal statements that are in flight
 * together each becomes a prepared statement of its own, as many as there are callers of the pool.
 */
const SENT_AT_ONCE = { get: () => false, set: () => {} };

/**
 * Calls `onStart` when a statement is awaited, which makes postgres.js send it. Fragments, identifiers
 * and lists of values are created by the same calls, and are never awaited.
 *
 * postgres.js must not retry a prepared statement that the server no longer accepts: it sends the first
 * half of the retry, and then statements of other callers, and mistakes their rows for each other's.
 */
export function observeStatement<T>(statement: T, onStart: () => StatementObserver): T {
  if (!(statement instanceof Promise)) return statement;
  const { then } = statement;
  statement.then = ((...handlers: Parameters<typeof then>) => {
    statement.then = then;
    const observer = onStart();
    const hooked = statement as unknown as Hooked;
    if (observer.isInTransaction) Object.defineProperty(hooked, "describeFirst", SENT_AT_ONCE);
    hooked.options.onexecute = ({ queue }) => {
      observer.sent?.();
      compact(queue);
      hooked.prepared = false;
      // The connection may take more statements at once.
      return true;
    };
    statement.then((result) => {
      dropEmptySlots(result);
      observer.settled({ result });
    }, (error) => observer.settled({ error }));
    return statement.then(...handlers);
  }) as typeof then;
  return statement;
}

/**
 * The queues of postgres.js keep an empty slot for each statement until they happen to be empty, and
 * every statement searches them: half of the CPU time after a minute of load, and growing. So the queue
 * that a connection was taken from is emptied and filled again. This and `Hooked` are the only uses of
 * private parts; their tests fail when postgres.js no longer needs them.
 */
function compact(queue: Queue): void {
  const connections = Array.from({ length: queue.length }, () => queue.shift());
  for (const connection of connections) queue.push(connection);
}

/** After a statement that failed between two rows, the next result begins with as many empty slots. */
function dropEmptySlots(rows: unknown): void {
  if (!Array.isArray(rows) || rows.length === 0 || 0 in rows) return;
  rows.splice(0, Number(Object.keys(rows).find((key) => /^\d+$/.test(key)) ?? rows.length));
}

/**
 * Whether postgres.js itself failed to send a statement or to read its rows, as with `undefined` among the
 * parameters. From then on a connection mistakes the responses of statements for each other's.
 */
export function isClientFault(error: unknown): boolean {
  return ["UNDEFINED_VALUE", "MAX_PARAMETERS_EXCEEDED"].includes(errorCode(error)) ||
    error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
}

/** Whether a migration has changed the columns that a prepared statement returns. */
export function isOutdated(error: unknown): boolean {
  return error instanceof Error && "routine" in error && error.routine === "RevalidateCachedQuery";
}

type Send = (...args: unknown[]) => unknown;

/** A running transaction. */
export interface TransactionState {
  /** Set once it has settled, also because its connection was lost. */
  isOver: boolean;
}

const LATE_STATEMENT = "a statement was sent after the function of its transaction had ended";

/**
 * Keeps a transaction from sending anything after its connection was lost: postgres.js would never
 * settle a statement, and its own `rollback` or `commit` throws outside of any promise, which ends the
 * process (porsager/postgres, issue 1208).
 *
 * Nor does it send anything once its body has settled. Of functions that run together (`Promise.all`) one may
 * fail while another goes on: its next statement would run after `rollback`, outside of the transaction.
 */
export function guardTransaction(
  body: Transaction,
  state: TransactionState,
  onError: (error: unknown) => void,
): Transaction {
  return async (tx) => {
    let hasEnded = false;
    const guard = (send: Send): Send => (...args) => {
      if (state.isOver) throw connectionLost();
      if (hasEnded) throw new Error(LATE_STATEMENT);
      return observeStatement(send(...args), () => ({
        isInTransaction: true,
        settled(settled) {
          if ("result" in settled) return;
          // Known here before `begin` fails.
          if (errorCode(settled.error) === "CONNECTION_CLOSED") state.isOver = true;
          onError(settled.error);
        },
      }));
    };
    const guarded = Object.assign(guard(tx as unknown as Send), tx, {
      unsafe: guard(tx.unsafe as Send),
    }) as unknown as postgres.TransactionSql;
    try {
      const result = body(guarded);
      const settled = await (Array.isArray(result) ? Promise.all(result) : result);
      if (!state.isOver) return settled;
    } catch (error) {
      if (!state.isOver) throw error;
    } finally {
      hasEnded = true;
    }
    // `begin` has failed already. It must not see the end of its body.
    return await new Promise(() => {});
  };
}

/** Longer than a request may take, so that its own limit decides. */
const MAX_WAIT_MS = 30_000;

/** Connections that work become idle within milliseconds. */
const RETRY_MS = 25;

/** Runs something again until it gets one of the connections that work; what was refused was not sent. */
export async function untilConnected<T>(
  run: () => Promise<T>,
  { canWait, first }: { canWait(): boolean; first: Promise<T> },
): Promise<T> {
  const deadline = performance.now() + MAX_WAIT_MS;
  for (let result = first;; result = run()) {
    try {
      return await result;
    } catch (error) {
      if (!isOutOfConnections(error) || !canWait() || performance.now() >= deadline) throw error;
    }
    await pause(RETRY_MS);
  }
}

/** Makes an awaited statement run again as long as it is refused. Fragments are never awaited. */
export function repeatRefused<T>(
  statement: T,
  { again, canWait }: { again(): Promise<unknown>; canWait(): boolean },
): T {
  if (!(statement instanceof Promise)) return statement;
  const { then } = statement;
  let result: Promise<unknown> | undefined;
  const start = () => {
    const first = new Promise((resolve, reject) => then.call(statement, resolve, reject));
    // The first call restores the original.
    statement.then = repeated;
    return untilConnected(again, { canWait, first });
  };
  const repeated =
    ((...handlers: Parameters<typeof then>) =>
      (result ??= start()).then(...handlers)) as typeof then;
  statement.then = repeated;
  return statement;
}
