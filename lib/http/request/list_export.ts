/**
 * Responds with a whole list: its batches are read as fast as the client takes them. Each batch is read in a
 * snapshot of its own, because a download may take minutes, and a transaction that stays open keeps the server
 * from cleaning up, and every other client of the embedded database waiting. So the entity tag is of the first
 * batch, and later ones may have what was uploaded meanwhile. A list of tests is of one version, because it is
 * made from the cache; when a repository is deleted during the download, the connection is cut.
 */
import { ConcurrencyLimit } from "../../base/concurrency_limit.ts";
import type { Log } from "../../base/log.ts";
import { errorFields } from "../../base/log.ts";
import { internalServerError } from "./errors.ts";
import { type Lines, LIST_MEDIA_TYPES, type ListFormat } from "./list_format.ts";
import {
  acceptsGzip,
  commonHeaders,
  completeError,
  etagOf,
  matchEtag,
  notModified,
} from "./responses.ts";

/** A client that takes nothing for this long is cut off. */
const IDLE_MS = 60_000;

/** Each holds a batch of a list, a few MB at most. */
const MAX_RUNNING = { ofOrganization: 16, inAll: 32 };

const CHUNK_CHARACTERS = 64 * 1024;

/** A list that is to be sent. */
interface ListContext {
  requestId: string;
  format: ListFormat;
  /** Name of the file, without the format. */
  fileName: string;
  /** Returns everything that the list depends on: of its first batch, as soon as that is read. */
  key(): { organizationId: number | null };
  /** Whether `Accept` chose the format, not the path. */
  isNegotiated: boolean;
}

/** Creates the function that responds with lists; it bounds how many are sent at the same time. */
export function createExporter({ log }: { log: Log }, { idleMs = IDLE_MS } = {}) {
  const running = new ConcurrencyLimit(MAX_RUNNING);

  /** Responds to a request that passed all checks. Its first batch is read before anything is sent. */
  return async (
    request: Request,
    { requestId, format, fileName, key, isNegotiated }: ListContext,
    { lines, batches }: { lines: Lines; batches: AsyncIterable<readonly unknown[]> },
  ): Promise<Response> => {
    const tag = () => etagOf({ format, key: key() });
    const matchedTag = matchEtag(request.headers.get("if-none-match"), tag());
    if (matchedTag !== null) return notModified(matchedTag, requestId);
    const isCompressed = acceptsGzip(request.headers.get("accept-encoding"));
    const headers = (): Record<string, string> => ({
      ...commonHeaders(requestId),
      "content-type": `${LIST_MEDIA_TYPES[format]}; charset=utf-8`,
      "content-disposition": `attachment; filename="${fileName}.${format}"`,
      etag: isCompressed ? `W/${tag()}` : tag(),
      ...isCompressed && { "content-encoding": "gzip" },
      ...isNegotiated && { vary: "Authorization, Accept, Accept-Encoding" },
    });
    // Without a body the server would say that the length is 0.
    if (request.method === "HEAD") {
      return new Response(emptyStream(), { status: 200, headers: headers() });
    }
    const release = running.begin(key().organizationId);
    if (!release) {
      log.warn("refused a list: too many are being sent", { request_id: requestId });
      // As other requests that are too many.
      const response = internalServerError({ "retry-after": "1" });
      return completeError(request, response, requestId);
    }
    try {
      const chunks = chunksOf(lines, batches);
      // Until here an error is a response.
      const first = await chunks.next();
      const stream = streamOf(first, chunks, {
        idleMs,
        release,
        onError: (error) =>
          log.error("list cut off", { request_id: requestId, ...errorFields(error) }),
      });
      const body = isCompressed ? stream.pipeThrough(new CompressionStream("gzip")) : stream;
      return new Response(body, { status: 200, headers: headers() });
    } catch (error) {
      release();
      throw error;
    }
  };
}

function emptyStream(): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({ start: (controller) => controller.close() });
}

/** The text of a list in chunks of some size. */
async function* chunksOf(
  { head, line }: Lines,
  batches: AsyncIterable<readonly unknown[]>,
): AsyncGenerator<string, undefined> {
  let chunk = head;
  for await (const batch of batches) {
    for (const item of batch) {
      chunk += line(item);
      if (chunk.length < CHUNK_CHARACTERS) continue;
      yield chunk;
      chunk = "";
    }
  }
  if (chunk !== "") yield chunk;
}

/** Reads a chunk when the client can take one. */
function streamOf(
  first: IteratorResult<string, undefined>,
  chunks: AsyncGenerator<string, undefined>,
  { idleMs, release, onError }: {
    idleMs: number;
    release(): void;
    onError(error: unknown): void;
  },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  let next: IteratorResult<string, undefined> | null = first;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = async () => {
    clearTimeout(timer);
    release();
    await chunks.return(undefined);
  };
  const watch = (controller: ReadableStreamDefaultController) => {
    const started = setTimeout(async () => {
      const error = new Error(`the client took nothing for ${idleMs / 1000} s`);
      onError(error);
      controller.error(error);
      await end();
    }, idleMs);
    // The end of the process must not wait for it.
    Deno.unrefTimer(started);
    timer = started;
  };
  return new ReadableStream({
    start: watch,
    async pull(controller) {
      clearTimeout(timer);
      try {
        const { done, value } = next ?? await chunks.next();
        next = null;
        if (done) {
          await end();
          return controller.close();
        }
        controller.enqueue(encoder.encode(value));
        watch(controller);
      } catch (error) {
        onError(error);
        await end();
        // The connection is cut: a list that is not whole must not look like one.
        controller.error(error);
      }
    },
    cancel: end,
  }, { highWaterMark: 0 });
}
