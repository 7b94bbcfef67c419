import { pause } from "../../base/delay.ts";
import { StorageError } from "./storage.ts";

const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 200;
/** Of what a server asks for. */
const MAX_PAUSE_SECONDS = 30;

/**
 * Sends a request again after 429, 5xx and a failed connection, not before `Retry-After`.
 *
 * @param request names it in errors, without secrets
 * @param options.readText reads the body of a response that is an error
 * @param options.describe what such a response says
 * @throws {StorageError} when all attempts failed, or repeating is of no use
 */
export async function fetchWithRetries(
  request: string,
  { send, readText, describe, stop }: {
    send: () => Promise<Response>;
    readText: (response: Response) => Promise<string>;
    describe: (status: number, text: string) => string;
    stop?: AbortSignal | undefined;
  },
): Promise<Response> {
  for (let attempt = 1;; attempt++) {
    let problem: string;
    let isRetryable = true;
    let pauseMs = FIRST_PAUSE_MS * 2 ** (attempt - 1);
    try {
      const response = await send();
      if (response.ok) return response;
      isRetryable = response.status >= 500 || response.status === 429;
      problem = describe(response.status, await readText(response));
      const seconds = Number(response.headers.get("retry-after")) || 0;
      pauseMs = Math.max(pauseMs, Math.min(seconds, MAX_PAUSE_SECONDS) * 1000);
    } catch (error) {
      if (error instanceof StorageError) throw error;
      if (stop?.aborted) throw new StorageError(`${request}: stopped`);
      problem = error instanceof DOMException ? error.name : causeOf(error);
    }
    if (!isRetryable || attempt === ATTEMPTS) throw new StorageError(`${request}: ${problem}`);
    await pause(pauseMs, stop);
  }
}

/** The message of a failed fetch contains the URL, whose query may be a secret. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.replaceAll(/\?\S*/g, "?...");
}
