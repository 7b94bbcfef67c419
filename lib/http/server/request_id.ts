/** Long enough for every tracing system, short enough for a line of a log. */
const SANE_REQUEST_ID = /^[\w.:/+=@~-]{1,128}$/;

/** The id that a client or proxy gave a request, when it is a sane one, else a new one. */
export function requestId(given: string | null): string {
  return given !== null && SANE_REQUEST_ID.test(given) ? given : crypto.randomUUID();
}
