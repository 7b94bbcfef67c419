import { StorageError } from "./storage.ts";

/** How the bytes of a storage are read. */
export interface PieceOptions {
  /** What errors begin with. */
  what: string;
  /** Longest wait for the next piece, in milliseconds. */
  idleMs: number;
  /** Ends the reading. */
  stop?: AbortSignal | undefined;
  /** Frees what the bytes come from; called when nothing more is going to be read. */
  close(): void;
}

/**
 * The pieces of a file or object. However reading them fails, it is the storage's fault: a cut
 * connection, a failing disk, one that goes silent.
 *
 * @throws {StorageError} also when no piece comes in time, or when told to stop
 */
export async function* readPieces(
  bytes: AsyncIterable<Uint8Array>,
  { what, idleMs, stop, close }: PieceOptions,
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
    throw new StorageError(`${what}: ${stop?.aborted ? "told to stop" : reason}`);
  } finally {
    close();
  }
}

async function nextInTime(
  iterator: AsyncIterator<Uint8Array>,
  { idleMs, stop }: Pick<PieceOptions, "idleMs" | "stop">,
): Promise<IteratorResult<Uint8Array, void>> {
  const { promise: interrupted, reject } = Promise.withResolvers<never>();
  const onStop = () => reject(stop?.reason);
  if (stop?.aborted) onStop();
  stop?.addEventListener("abort", onStop);
  const timer = setTimeout(
    () => reject(new Error(`nothing came for ${idleMs / 1000} s`)),
    idleMs,
  );
  try {
    return await Promise.race([interrupted, iterator.next()]);
  } finally {
    clearTimeout(timer);
    stop?.removeEventListener("abort", onStop);
  }
}
