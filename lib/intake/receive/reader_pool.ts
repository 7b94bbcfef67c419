import { ArchiveReader } from "../archive_reader.ts";

/** Large uploads take seconds to read: they have a reader of their own. */
const LARGE_BYTES = 16 * 1024 * 1024;
/** Readers of all others: one core is left to the requests. Each takes up to 100 MB. */
const READERS = Math.min(Math.max(navigator.hardwareConcurrency - 1, 1), 4);

/** What decides about the turn of an upload. */
interface Turn {
  byteCount: number;
  uploaderId: string;
}

/**
 * Archive readers, each a thread that checks one upload at a time. Tokens take turns (round-robin), so
 * that many uploads of one do not delay the others'.
 */
export class ReaderPool {
  readonly #small: Lane;
  readonly #large: Lane;

  /** @param options.readers for uploads that are not large */
  constructor({ stop, readers = READERS }: { stop: AbortSignal; readers?: number }) {
    this.#small = new Lane(Array.from({ length: readers }, () => new ArchiveReader({ stop })));
    this.#large = new Lane([new ArchiveReader({ stop })]);
  }

  /** Calls `act` with a reader once it is the turn of an upload. */
  async use<T>(
    { byteCount, uploaderId }: Turn,
    act: (reader: ArchiveReader) => Promise<T>,
  ): Promise<T> {
    const lane = byteCount > LARGE_BYTES ? this.#large : this.#small;
    return await lane.use(uploaderId, act);
  }

  /** Starts the threads before the first upload: meanwhile no request is answered. */
  async start(): Promise<void> {
    const readers = [...this.#small.readers, ...this.#large.readers];
    await Promise.all(readers.map((reader) => reader.start()));
  }

  /** Terminates the threads. */
  close(): void {
    for (const reader of [...this.#small.readers, ...this.#large.readers]) reader.close();
  }
}

/** Readers that share a queue. */
class Lane {
  readonly #idle: ArchiveReader[];
  /** Waiting uploads by uploader; the first uploader is the next. */
  readonly #waiting = new Map<string, ((reader: ArchiveReader) => void)[]>();

  constructor(readonly readers: readonly ArchiveReader[]) {
    this.#idle = [...readers];
  }

  async use<T>(uploaderId: string, act: (reader: ArchiveReader) => Promise<T>): Promise<T> {
    const reader = await new Promise<ArchiveReader>((start) => {
      this.#waiting.set(uploaderId, [...this.#waiting.get(uploaderId) ?? [], start]);
      this.#startNext();
    });
    try {
      return await act(reader);
    } finally {
      this.#idle.push(reader);
      this.#startNext();
    }
  }

  #startNext(): void {
    const [next] = this.#waiting;
    if (!next || this.#idle.length === 0) return;
    const [uploaderId, [start, ...others]] = next;
    this.#waiting.delete(uploaderId);
    if (others.length > 0) this.#waiting.set(uploaderId, others);
    start!(this.#idle.pop()!);
  }
}
