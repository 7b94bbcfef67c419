// Tests: tests/lib/intake/receive/upload_app_test.ts
/** The paths of `receive`, and paths of `serve` that clients request here by mistake. */
import { parseRepositoryName, type RepositoryName } from "../../base/repository_name.ts";

const UPLOAD_METHODS = ["POST", "PUT"];

/** What `serve` responds to. */
export const API_PATH =
  /^\/(?:api|repos|tests|flaky-tests|owners|docs|openapi\.yaml|llms-full\.txt|mcp)(?:\/|$)/;
/** Why the path is unknown here. */
export const OTHER_PORT =
  "this port takes uploads; the API and the pages are on the port of `serve`, or of " +
  "`up --port` (8000 by default)";

// Together with the name of the archive it must fit into a path and a key.
const MAX_NAME_CHARACTERS = 500;

const TEST_ID = /^[0-9a-f]{24}$/i;

/** What a path names. */
interface Target {
  /** `null`: the upload names it. */
  repo: RepositoryName | null;
  /** What follows the repository: a test id, or nothing. */
  rest: string | null;
  methods: string[];
}

/**
 * The repository of `/upload/OWNER/NAME` or `/quarantine/OWNER/NAME`, and the test of the latter with
 * DELETE, or where it looks like an id. Slashes of the owner may be encoded.
 */
export function targetOf(path: string, method: string): Target | null {
  if (/^\/upload\/?$/.test(path)) return { repo: null, rest: null, methods: UPLOAD_METHODS };
  const [, isQuarantine, encoded] = /^\/(?:upload|(quarantine))\/(.+?)\/?$/.exec(path) ?? [];
  if (encoded === undefined || encoded.length > MAX_NAME_CHARACTERS) return null;
  try {
    const parts = encoded.split("/").map(decodeURIComponent);
    const hasTest = isQuarantine && parts.length > 2 &&
      (method === "DELETE" || TEST_ID.test(parts.at(-1)!));
    const rest = hasTest ? parts.pop()! : null;
    const methods = isQuarantine ? [rest === null ? "POST" : "DELETE"] : UPLOAD_METHODS;
    return { repo: parseRepositoryName(parts.join("/")), rest, methods };
  } catch {
    return null;
  }
}
