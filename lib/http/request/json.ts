export const JSON_MEDIA_TYPE = "application/json; charset=utf-8";

/** A JSON body; it ends like any line of text, so that a terminal shows it well. */
export function jsonBody(value: unknown): string {
  return JSON.stringify(value) + "\n";
}
