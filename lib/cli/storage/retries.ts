import { pause } from "../../base/delay.ts";
import { readS3Error } from "./s3_responses.ts";
import { StorageError } from "./storage.ts";

const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 200;

/**
 * Sends a request again after 429, 5xx and a failed connection.
 *
 * @param request names it in errors, without secrets
 * @param readText reads the body of a response that is an error
 * @throws {StorageError} when all attempts failed, or repeating is of no use
 */
export async function fetchWithRetries(
  request: string,
  { send, readText, stop }: {
    send: () => Promise<Response>;
    readText: (response: Response) => Promise<string>;
    stop?: AbortSignal | undefined;
  },
): Promise<Response> {
  for (let attempt = 1;; attempt++) {
    let problem: string;
    let isRetryable = true;
    try {
      const response = await send();
      if (response.ok) return response;
      isRetryable = response.status >= 500 || response.status === 429;
      problem = readS3Error(response.status, await readText(response));
    } catch (error) {
      if (error instanceof StorageError) throw error;
      if (stop?.aborted) throw new StorageError(`${request}: stopped`);
      problem = error instanceof DOMException ? error.name : causeOf(error);
    }
    if (!isRetryable || attempt === ATTEMPTS) throw new StorageError(`${request}: ${problem}`);
    await pause(FIRST_PAUSE_MS * 2 ** (attempt - 1), stop);
  }
}

/** The message of a failed fetch contains the URL, whose query may be a secret. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.replaceAll(/\?\S*/g, "?...");
}
