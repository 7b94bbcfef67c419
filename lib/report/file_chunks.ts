/** The bytes of files, piece by piece, with no memory for each. */
import { type FileHandle, open } from "node:fs/promises";
import { unreadable } from "./report_files.ts";

/**
 * A read is a task of another thread. With 64 KiB a report of 22 MB spent 80 ms in handing over, a
 * fifth of the time that reading it took.
 */
const PIECE_BYTES = 256 * 1024;

/** Reads files one after the other. */
export class FilePieces {
  // Made once: one for each piece or file is freed late, tens of megabytes while much is read.
  readonly #buffers = [new Uint8Array(PIECE_BYTES), new Uint8Array(PIECE_BYTES)] as const;

  /**
   * The bytes of a file. A piece is overwritten when the next one is asked for.
   *
   * @throws {ReportError} `not-found` or `unreadable`
   */
  async *of(path: string): AsyncGenerator<Uint8Array, void> {
    const file = await open(path).catch((error) => {
      throw unreadable(path, error);
    });
    try {
      // What is no file, such as a pipe, may have nothing more to read when nobody wants it any more.
      yield* (await file.stat()).isFile() ? this.#readAhead(file) : this.#read(file);
    } catch (error) {
      throw unreadable(path, error);
    } finally {
      await file.close();
    }
  }

  async *#read(file: FileHandle): AsyncGenerator<Uint8Array, void> {
    const [buffer] = this.#buffers;
    for (let read = await file.read(buffer); read.bytesRead > 0; read = await file.read(buffer)) {
      yield buffer.subarray(0, read.bytesRead);
    }
  }

  /** The same, and while a piece is worked on the next one is read. */
  async *#readAhead(file: FileHandle): AsyncGenerator<Uint8Array, void> {
    let [current, other] = this.#buffers;
    let reading = file.read(current);
    try {
      for (let read = await reading; read.bytesRead > 0; read = await reading) {
        const piece = current.subarray(0, read.bytesRead);
        [current, other] = [other, current];
        reading = file.read(current);
        // Thrown when it is its turn.
        reading.catch(() => {});
        yield piece;
      }
    } finally {
      await reading.catch(() => {});
    }
  }
}
