/**
 * Varints (LEB128): seven bits a byte, the least significant first, the eighth bit set on all but
 * the last. Up to 2^53 - 1, so by arithmetic: bit operations are limited to 32 bits.
 */

/** Writes numbers one after another. */
export class VarintWriter {
  #bytes = new Uint8Array(256);
  #length = 0;

  /** Appends an integer from 0 to 2^53 - 1. */
  write(value: number): void {
    // Eight bytes hold 56 bits, more than any safe integer needs.
    if (this.#length + 8 > this.#bytes.length) {
      const larger = new Uint8Array(this.#bytes.length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    while (value >= 0x80) {
      this.#bytes[this.#length++] = (value % 0x80) | 0x80;
      value = Math.floor(value / 0x80);
    }
    this.#bytes[this.#length++] = value;
  }

  /** Appends an integer of either sign, in zigzag encoding: small ones are short. */
  writeSigned(value: number): void {
    this.write(value >= 0 ? value * 2 : -value * 2 - 1);
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }
}

/** Reads them in the same order. */
export class VarintReader {
  #bytes: Uint8Array;
  /** Where the next number begins. */
  position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.position >= this.#bytes.length;
  }

  /** Reads what `writeSigned` wrote. */
  readSigned(): number {
    const zigzag = this.read();
    return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
  }

  /** Passes over numbers, faster than reading them. @throws {RangeError} at the end */
  skip(count: number): void {
    for (let left = count; left > 0;) {
      const byte = this.#bytes[this.position++];
      if (byte === undefined) throw new RangeError("the bytes end inside a number");
      if (byte < 0x80) left--;
    }
  }

  /** Goes to the number that is followed by `count` others. @throws {RangeError} when there are not as many */
  seekFromEnd(count: number): void {
    let ends = 0;
    for (let at = this.#bytes.length; at > 0; at--) {
      if (this.#bytes[at - 1]! >= 0x80) continue;
      // The last byte of the number before it.
      if (ends === count + 1) return void (this.position = at);
      ends++;
    }
    if (ends <= count) throw new RangeError("the bytes begin after the number");
    this.position = 0;
  }

  /** @throws {RangeError} when the bytes end inside a number */
  read(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.#bytes[this.position++];
      if (byte === undefined) throw new RangeError("the bytes end inside a number");
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
  }
}
