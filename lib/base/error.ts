// Tests: tests/db/connection/errors_test.ts tests/lib/base/log_test.ts
/** Message of a caught value; the code or name of an error without one, as of Node.js's network. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message.trim() || errorCode(error) || error.name;
}

/** What `read` returns, `otherwise` when it throws, whatever the error. */
export function valueOr<Value, Other>(read: () => Value, otherwise: Other): Value | Other {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** Code of a caught value: of the system such as `ENOSPC`, an SQLSTATE, or of a library; `""` without one. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
