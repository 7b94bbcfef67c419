/** Sets of small whole numbers, as bits: 32 of them are compared at a time. */

/** One bit for each number from 0. */
export type Bits = Uint32Array;

/** Words that hold bits for the numbers below `size`. */
export function wordCount(size: number): number {
  return (size + 31) >>> 5;
}

/** An empty set, for numbers below `size`. */
export function noBits(size: number): Bits {
  return new Uint32Array(wordCount(size));
}

/** All numbers below `size`. */
export function allBits(size: number): Bits {
  const bits = new Uint32Array(wordCount(size)).fill(0xffff_ffff);
  if (size % 32 !== 0) bits[bits.length - 1] = 2 ** (size % 32) - 1;
  return bits;
}

/** Puts a number into a set. */
export function addBit(bits: Bits, number: number): void {
  bits[number >>> 5]! |= 1 << (number & 31);
}

/** Takes a number out of a set. */
export function dropBit(bits: Bits, number: number): void {
  bits[number >>> 5]! &= ~(1 << (number & 31));
}

/** Leaves in `bits` what is in `others` too. */
export function keepCommon(bits: Bits, others: Bits): void {
  for (let word = 0; word < bits.length; word++) bits[word]! &= others[word]!;
}

/** The numbers of a set, the smallest first. */
export function numbersOf(bits: Bits): number[] {
  const numbers: number[] = [];
  for (let word = 0; word < bits.length; word++) {
    let rest = bits[word]!;
    while (rest !== 0) {
      const lowest = 31 - Math.clz32(rest & -rest);
      numbers.push(word * 32 + lowest);
      rest &= rest - 1;
    }
  }
  return numbers;
}
