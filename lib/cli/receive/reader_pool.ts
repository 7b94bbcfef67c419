import { ArchiveReader } from "../intake/archive_reader.ts";

/** Large uploads take seconds to read. */
const LARGE_BYTES = 16 * 1024 * 1024;

/**
 * Lends archive readers in the order of the requests, except that large uploads leave one reader to
 * the others.
 */
export class ReaderPool {
  readonly #readers: ArchiveReader[];
  readonly #idle: ArchiveReader[];
  readonly #waiting: { isLarge: boolean; start(reader: ArchiveReader): void }[] = [];
  #largeCount = 0;

  /** @param options.size number of readers, at least 2; a thread each */
  constructor({ size, stop }: { size: number; stop: AbortSignal }) {
    this.#readers = Array.from({ length: size }, () => new ArchiveReader({ stop }));
    this.#idle = [...this.#readers];
  }

  /** Lends a reader for an upload of this size. */
  async use<T>(byteCount: number, act: (reader: ArchiveReader) => Promise<T>): Promise<T> {
    const isLarge = byteCount > LARGE_BYTES;
    const reader = await new Promise<ArchiveReader>((start) => {
      this.#waiting.push({ isLarge, start });
      this.#startNext();
    });
    try {
      return await act(reader);
    } finally {
      this.#idle.push(reader);
      if (isLarge) this.#largeCount--;
      this.#startNext();
    }
  }

  /** Ends the threads. */
  close(): void {
    for (const reader of this.#readers) reader.close();
  }

  #startNext(): void {
    while (this.#idle.length > 0) {
      const maxLarge = this.#readers.length - 1;
      const at = this.#waiting.findIndex(({ isLarge }) => !isLarge || this.#largeCount < maxLarge);
      const [next] = at < 0 ? [] : this.#waiting.splice(at, 1);
      if (!next) return;
      if (next.isLarge) this.#largeCount++;
      next.start(this.#idle.pop()!);
    }
  }
}
