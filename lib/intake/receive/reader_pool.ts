import { ArchiveReader } from "../archive_reader.ts";

/** Uploads that are checked concurrently, each in a thread of its own. */
const READERS = 2;
/** Large uploads take seconds to read. */
const LARGE_BYTES = 16 * 1024 * 1024;

/** What decides about the turn of an upload. */
interface Turn {
  byteCount: number;
  tokenId: number;
}

interface Waiting {
  turn: Turn;
  start(reader: ArchiveReader): void;
}

/**
 * A pool of archive readers. The next upload is that of the token with the fewest in check, of these the
 * first that came. Large uploads never occupy all readers.
 */
export class ReaderPool {
  readonly #readers: ArchiveReader[];
  readonly #idle: ArchiveReader[];
  readonly #waiting: Waiting[] = [];
  readonly #running = new Set<Turn>();

  constructor(stop: AbortSignal) {
    this.#readers = Array.from({ length: READERS }, () => new ArchiveReader({ stop }));
    this.#idle = [...this.#readers];
  }

  /** Calls `act` with a reader once it is the turn of an upload. */
  async use<T>(turn: Turn, act: (reader: ArchiveReader) => Promise<T>): Promise<T> {
    const reader = await new Promise<ArchiveReader>((start) => {
      this.#waiting.push({ turn, start });
      this.#startNext();
    });
    try {
      return await act(reader);
    } finally {
      this.#running.delete(turn);
      this.#idle.push(reader);
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
      const next = this.#next();
      if (!next) return;
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      this.#running.add(next.turn);
      next.start(this.#idle.pop()!);
    }
  }

  #next(): Waiting | undefined {
    const running = [...this.#running];
    const mayBeLarge = running.filter(isLarge).length < READERS - 1;
    const inCheck = ({ turn: { tokenId } }: Waiting) =>
      running.filter((each) => each.tokenId === tokenId).length;
    return this.#waiting.filter(({ turn }) => mayBeLarge || !isLarge(turn))
      .sort((a, b) => inCheck(a) - inCheck(b))[0];
  }
}

function isLarge({ byteCount }: Turn): boolean {
  return byteCount > LARGE_BYTES;
}
