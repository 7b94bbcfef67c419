import { ArchiveReader } from "../archive_reader.ts";

/** Uploads that are checked concurrently, each in a thread of its own. */
const READERS = 2;
/** Large uploads take seconds to read. */
const LARGE_BYTES = 16 * 1024 * 1024;

/**
 * A pool of archive readers, first come first served. Large uploads never occupy all readers.
 */
export class ReaderPool {
  readonly #readers: ArchiveReader[];
  readonly #idle: ArchiveReader[];
  readonly #waiting: { isLarge: boolean; start(reader: ArchiveReader): void }[] = [];
  #largeCount = 0;

  constructor(stop: AbortSignal) {
    this.#readers = Array.from({ length: READERS }, () => new ArchiveReader({ stop }));
    this.#idle = [...this.#readers];
  }

  /** Calls `act` with a reader once one is free for an upload of this size. */
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

  /** Starts the threads before the first upload: meanwhile no request is answered. */
  async start(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => reader.start()));
  }

  /** Terminates the threads. */
  close(): void {
    for (const reader of this.#readers) reader.close();
  }

  #startNext(): void {
    while (this.#idle.length > 0) {
      const mayBeLarge = this.#largeCount < READERS - 1;
      const at = this.#waiting.findIndex(({ isLarge }) => !isLarge || mayBeLarge);
      const [next] = at < 0 ? [] : this.#waiting.splice(at, 1);
      if (!next) return;
      if (next.isLarge) this.#largeCount++;
      next.start(this.#idle.pop()!);
    }
  }
}
