import { StorageError } from "./storage.ts";

/** Options of {@link readChunks}. */
export interface ChunkOptions {
  /** The beginning of error messages. */
  what: string;
  /** Timeout for each chunk. */
  idleMs: number;
  /** Aborts the reading. */
  stop?: AbortSignal | undefined;
  /** Releases the source; called at the end. */
  close(): void;
}

/**
 * The chunks of a file or object.
 *
 * @throws {StorageError} for every failure: a lost connection, a broken disk, a timeout, `stop`
 */
export async function* readChunks(
  bytes: AsyncIterable<Uint8Array>,
  { what, idleMs, stop, close }: ChunkOptions,
): AsyncGenerator<Uint8Array, void> {
  const iterator = bytes[Symbol.asyncIterator]();
  try {
    while (true) {
      const { value, done } = await nextInTime(iterator, { idleMs, stop });
      if (done) return;
      yield value;
    }
  } catch (error) {
    if (error instanceof StorageError) throw error;
    const reason = error instanceof Error ? error.message : error;
    throw new StorageError(`${what}: ${stop?.aborted ? "stopped" : reason}`);
  } finally {
    close();
  }
}

async function nextInTime(
  iterator: AsyncIterator<Uint8Array>,
  { idleMs, stop }: Pick<ChunkOptions, "idleMs" | "stop">,
): Promise<IteratorResult<Uint8Array, void>> {
  const { promise: interrupted, reject } = Promise.withResolvers<never>();
  const onStop = () => reject(stop?.reason);
  if (stop?.aborted) onStop();
  stop?.addEventListener("abort", onStop);
  const timer = setTimeout(
    () => reject(new Error(`no data for ${idleMs / 1000} s`)),
    idleMs,
  );
  try {
    return await Promise.race([interrupted, iterator.next()]);
  } finally {
    clearTimeout(timer);
    stop?.removeEventListener("abort", onStop);
  }
}
