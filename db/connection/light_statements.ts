/**
 * Statements that leave nothing behind.
 *
 * postgres.js 3.4.9 makes an object for each statement with two functions that it assigns to
 * properties (`this.resolve = x => ...`). V8 takes such functions for ones that stay, and puts them
 * among what is old at once. From there they hold the statement, its values and its rows, so that all
 * of that outlives the short garbage collections, which have to move it, until the whole heap is
 * collected. What connections of the library need of a statement is less, and is made here.
 */
import type postgres from "postgres";
import type { Queryable } from "./sql.ts";

/** A statement as connections of the library know it. */
interface LightStatement {
  tagged: true;
  strings: TemplateStringsArray;
  args: readonly unknown[];
  options: Record<string, unknown>;
  resolve(rows: unknown): void;
  reject(error: unknown): void;
  /** The stack where it came from, which the library puts behind its own in errors. */
  origin: string;
  state: unknown;
  statement: unknown;
  active: boolean;
  cancelled: null;
  executed: true;
  signature: string;
}

/** Takes a statement for a pool of the library, which sends it when a connection is free. */
export type StatementHandler = (statement: LightStatement) => void;

/** What statements have in common that differ in their values only. */
export interface StatementText {
  /** What stands between the values. The same object again for the same text. */
  strings: TemplateStringsArray;
  /** The stack where it was first sent. */
  origin: string;
}

/** Sends a statement. */
export type LightSend = (
  text: StatementText,
  values: readonly unknown[],
) => Promise<postgres.RowList<postgres.Row[]>>;

/** The property by which `sql` sends statements lightly. */
export const LIGHT_SEND = Symbol("sends light statements");

/** What takes the statements of a pool of the library. */
export function handlerOf(sql: postgres.Sql): StatementHandler {
  // Nobody waits for it, so it is never sent.
  return (sql`` as unknown as { handler: StatementHandler }).handler;
}

/** Makes a statement, and the promise of its rows. */
export function lightStatement(
  { strings, origin }: StatementText,
  args: readonly unknown[],
): { statement: LightStatement; rows: ReturnType<LightSend> } {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<LightSend>>>();
  const statement: LightStatement = {
    tagged: true,
    strings,
    args,
    options: {},
    resolve: resolve as (rows: unknown) => void,
    reject,
    origin,
    state: null,
    statement: null,
    active: false,
    cancelled: null,
    executed: true,
    signature: "",
  };
  return { statement, rows: promise };
}

/** Lets statements be sent lightly through `sql`. */
export function addLightSend(sql: Queryable, send: LightSend): void {
  Object.defineProperty(sql, LIGHT_SEND, { value: send, configurable: true });
}

/** How statements are sent lightly through `sql`; `undefined` inside a transaction. */
export function lightSendOf(sql: Queryable): LightSend | undefined {
  return (sql as { [LIGHT_SEND]?: LightSend })[LIGHT_SEND];
}
