/** Access to the values of parsed JSON of unknown shape. */
import { quote } from "../report_error.ts";
import { Refusal } from "./refusal.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** True for an object or array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}

/** A member of an object; `undefined` where there is none, or the value is not an object. */
export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The names and values of an object; none of any other value. */
export function* membersOf(value: unknown): Generator<[name: string, value: unknown], void> {
  if (!isObject(value)) return;
  for (const name of Object.keys(value)) yield [name, value[name]];
}

/** A whole number, which `what` and the source file's `path` name. @throws {Refusal} */
export function wholeJsonNumber(value: unknown, what: string, path?: string): number {
  if (typeof value === "number" && Number.isInteger(value)) return value;
  const place = path === undefined ? what : `${what} of ${quote(path)}`;
  throw new Refusal(`found ${quoteJson(value)} as ${place}, expected a whole number`);
}

/** A value as messages show it. */
export function quoteJson(value: unknown): string {
  return isObject(value) ? "an object or array" : quote(String(value));
}
