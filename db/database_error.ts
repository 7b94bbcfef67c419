// Tests: tests/db/connection/errors_test.ts
/** The database cannot be used; the message says what to do about it. */
export class DatabaseError extends Error {
  override name = "DatabaseError";
}
