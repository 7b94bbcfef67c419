/**
 * Connection poolers such as PgBouncer, between this program and the server. They give each transaction
 * a session of their choice, so nothing that a session remembers can be relied on: neither prepared
 * statements nor settings.
 */
import type postgres from "postgres";
import { errorCode, errorMessage } from "../../lib/base/error.ts";
import type { Transaction } from "./sql.ts";

/** Settings of a session by name, from constants and numbers. */
export type SessionSettings = Record<string, string | number | boolean>;

/**
 * Whether the connection leads to a pooler. A server announces the process that serves a connection when
 * it is accepted, and each statement runs in that process. A pooler accepts connections before it has
 * chosen a session, so it must invent the number. In its session mode this is no different.
 */
export async function isBehindPooler(sql: postgres.Sql): Promise<boolean> {
  const rows = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  return rows[0]!.pid !== rows.state.pid;
}

/**
 * Whether an error can only come from a pooler: it refuses settings of a session, or has run a statement in
 * a session where it was not prepared.
 */
export function revealsPooler(error: unknown): boolean {
  return errorCode(error) === "26000" || refusedSetting(error) !== undefined;
}

/** The setting that PgBouncer did not accept at the start of a connection. */
export function refusedSetting(error: unknown): string | undefined {
  return /^unsupported startup parameter: (.+)$/.exec(errorMessage(error))?.[1];
}

/** Whether PgBouncer cannot give a session to a connection at present. It has one code for all errors. */
export function isPoolerBusy(error: unknown): boolean {
  return errorCode(error) === "08P01" && BUSY.test(errorMessage(error));
}

const BUSY =
  /no more connections|cannot connect to server|server login|login_timeout|query_wait_timeout|shut/;

/** The same statement, which is run by `run` when it is awaited for the first time. */
export function startLazily(statement: unknown, run: () => Promise<unknown>): unknown {
  // Fragments are never awaited; identifiers and lists of values are not promises.
  if (!(statement instanceof Promise)) return statement;
  let outcome: Promise<unknown> | undefined;
  const start = () => outcome ??= run();
  return Object.assign(statement, {
    then: (...handlers: Parameters<Promise<unknown>["then"]>) => start().then(...handlers),
    catch: (handler: Parameters<Promise<unknown>["catch"]>[0]) => start().catch(handler),
    finally: (handler: Parameters<Promise<unknown>["finally"]>[0]) => start().finally(handler),
  });
}

/**
 * A transaction that begins with a look at its session, sent together with its first statement.
 *
 * @param settings of this transaction, by name
 * @param check receives the server process that runs it, and the one announced for the connection; the
 * transaction commits only after it has resolved
 */
export function withSession(
  body: Transaction,
  settings: SessionSettings,
  check: (pid: number, announcedPid: number) => void | Promise<void>,
): Transaction {
  // Literals: all of them are constants.
  const columns = Object.entries(settings).map(([name, value]) =>
    `set_config('${name}', '${value}', true)`
  );
  const text = `select ${["pg_backend_pid() as pid", ...columns].join(", ")}`;
  return async (tx) => {
    const run = async () => {
      const result = body(tx);
      return await (Array.isArray(result) ? Promise.all(result) : result);
    };
    const [, result] = await Promise.all([
      tx.unsafe<{ pid: number }[]>(text).then((rows) => check(rows[0]!.pid, rows.state.pid)),
      run(),
    ]);
    return result;
  };
}
