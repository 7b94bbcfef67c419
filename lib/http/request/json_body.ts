// Tests: tests/lib/http/request/list_export_test.ts tests/lib/http/request/parsed_url_test.ts
export const JSON_MEDIA_TYPE = "application/json; charset=utf-8";

/** A JSON body, ending with a line feed for terminals. */
export function jsonBody(value: unknown): string {
  return JSON.stringify(value) + "\n";
}
