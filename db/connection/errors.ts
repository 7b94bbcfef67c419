import type { DatabaseUrl } from "./database_url.ts";

/** The database cannot be used; the message says what a person can do about it. */
export class DatabaseError extends Error {
  override name = "DatabaseError";
}

/** What to say about a failed connection, by code of the system, the library or PostgreSQL. */
const EXPLANATIONS: Record<string, (url: DatabaseUrl) => string> = {
  ECONNREFUSED: () => "nothing listens there; expected a running PostgreSQL server",
  ENOTFOUND: () => "the host name is unknown",
  EAI_AGAIN: () => "the host name cannot be looked up at the moment",
  EHOSTUNREACH: () => "the host cannot be reached",
  ENETUNREACH: () => "the host cannot be reached",
  CONNECT_TIMEOUT: () => "it did not answer in time",
  CONNECTION_CLOSED: () => "it closed the connection",
  ECONNRESET: () => "it closed the connection",
  NO_SUITABLE_SERVER: (url) =>
    `none of its servers is ${url.targetSessionAttrs}, as target_session_attrs asks for`,
  "28P01": (url) => `the password of user ${JSON.stringify(url.user)} is wrong`,
  "28000": (url) => `user ${JSON.stringify(url.user)} may not log in`,
  "3D000": (url) => `database ${JSON.stringify(url.database)} does not exist; create it first`,
  "42501": (url) =>
    `user ${JSON.stringify(url.user)} may not use database ${JSON.stringify(url.database)}`,
  "53300": () => "it has no connection left",
  "57P03": () => "it is starting up or shutting down",
};

/** Turns what went wrong while connecting into a message for people, without the password. */
export function unavailable(error: unknown, url: DatabaseUrl): DatabaseError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const message = error instanceof Error ? error.message : String(error);
  const explanation = EXPLANATIONS[code]?.(url) ?? message;
  return new DatabaseError(
    `the PostgreSQL server at ${url.host} (DATABASE_URL) cannot be used: ${explanation}` +
      (code ? ` (${code})` : ""),
    { cause: error },
  );
}
