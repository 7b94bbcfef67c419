/** What is known of a caught value, which need not be an Error. */

/** Its message; the code or name of an error without one, as network errors of Node.js may be. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message.trim() || errorCode(error) || error.name;
}

/** Its code: of the system such as `ENOSPC`, an SQLSTATE, or of a library; `""` without one. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
