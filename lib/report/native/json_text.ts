// Tests: tests/lib/report/archive/contents_test.ts tests/lib/report/native/formats_test.ts
/** Values of JSON from outside, which may be of any type. */
import { excerpt, ReportError } from "../report_error.ts";
import { FORBIDDEN, REPLACEMENT, UNDECODABLE } from "../xml/characters.ts";

/** A text, `""` for anything else. */
export function textIn(value: unknown): string {
  return typeof value === "string" ? value.replaceAll(UNDECODABLE, "\ufffd").toWellFormed() : "";
}

/** A number that is not negative, 0 for anything else. */
export function numberIn(value: unknown): number {
  return typeof value === "number" && value > 0 && value < Infinity ? value : 0;
}

/** The members of an object, none for anything else. */
export function objectIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as Record<string, unknown>
    : {};
}

/** The elements of an array, none for anything else. */
export function arrayIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * A name, `""` for anything else, without characters that XML forbids; {@linkcode isWhole} tells whether
 * a part of it is lost.
 */
export function nameIn(value: unknown): string {
  if (typeof value !== "string") return "";
  return value.replace(FORBIDDEN, (each) => each === UNDECODABLE ? each : REPLACEMENT);
}

/** False if bytes or halves of characters were lost: two names could become one. */
export function isWhole(name: string): boolean {
  return !name.includes(UNDECODABLE) && name.isWellFormed();
}

export function malformed(
  file: string,
  line: number,
  found: string,
  expected: string,
  kind: "malformed" | "incomplete" = "malformed",
): ReportError {
  return new ReportError({
    file,
    kind,
    problem: `found ${excerpt(found)}, expected ${expected}`,
    position: { line, column: 1 },
  });
}
