/**
 * Statements that are put together out of pieces before the client library sees them.
 *
 * The library can do that too. But each of its fragments is a statement of its own, and leaves as much
 * behind for long garbage collections (see `light_statements.ts`). What every request asks is
 * therefore put together here.
 */
import { lightSendOf, type StatementText } from "./light_statements.ts";
import type { Queryable } from "./sql.ts";

/** A part of a statement, with the values in it. */
interface Piece {
  strings: TemplateStringsArray;
  values: unknown[];
}

/** Texts of a whole statement, by the pieces that it is made of: the library knows it again by them. */
interface Shape {
  next: Map<TemplateStringsArray | typeof VALUE, Shape>;
  whole: StatementText | null;
}

const VALUE = Symbol("a value");
const IS_PIECE = Symbol("a piece");
const root: Shape = { next: new Map(), whole: null };

/** Makes pieces with the same template text as `sql` would make fragments. */
export const piece = ((strings: TemplateStringsArray, ...values: unknown[]) => ({
  [IS_PIECE]: true,
  strings,
  values,
})) as unknown as Queryable;

/** Sends a statement made by {@linkcode piece}, with all pieces in it. */
export function send<T extends readonly object[]>(
  sql: Queryable,
  statement: unknown,
): PromiseLike<T> {
  const values: unknown[] = [];
  const shape = walk(root, statement as Piece, values);
  const whole = shape.whole ??= {
    strings: joined(statement as Piece),
    origin: new Error().stack ?? "",
  };
  const lightSend = lightSendOf(sql);
  return lightSend
    ? lightSend(whole, values) as unknown as Promise<T>
    : sql<T>(whole.strings, ...values as string[]);
}

function isPiece(value: unknown): value is Piece {
  return typeof value === "object" && value !== null && IS_PIECE in value;
}

function walk(from: Shape, { strings, values }: Piece, found: unknown[]): Shape {
  let shape = step(from, strings);
  for (const value of values) {
    if (isPiece(value)) {
      shape = walk(shape, value, found);
    } else {
      shape = step(shape, VALUE);
      found.push(value);
    }
  }
  return shape;
}

function step(from: Shape, key: TemplateStringsArray | typeof VALUE): Shape {
  let shape = from.next.get(key);
  if (!shape) from.next.set(key, shape = { next: new Map(), whole: null });
  return shape;
}

function joined(statement: Piece): TemplateStringsArray {
  const texts: string[] = [];
  let text = "";
  const add = ({ strings, values }: Piece) => {
    strings.forEach((part, index) => {
      text += part;
      if (index === values.length) return;
      const value = values[index];
      if (isPiece(value)) return add(value);
      texts.push(text);
      text = "";
    });
  };
  add(statement);
  texts.push(text);
  return Object.assign(texts, { raw: texts });
}
