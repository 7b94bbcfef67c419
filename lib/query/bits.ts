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

/** Makes a set for numbers below `size` one of all of them, and returns it. */
export function setAll(bits: Bits, size: number): Bits {
  bits.fill(0xffff_ffff);
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

/** How many numbers a set has. */
export function countBits(bits: Bits): number {
  let count = 0;
  for (let word = 0; word < bits.length; word++) count += countWord(bits[word]!);
  return count;
}

/** Calls `act` with the numbers of a set, the smallest first; it may take them out. */
export function forEachNumber(bits: Bits, act: (number: number) => void): void {
  for (let word = 0; word < bits.length; word++) {
    for (let rest = bits[word]!; rest !== 0; rest &= rest - 1) act(word * 32 + lowestBit(rest));
  }
}

/** The numbers of a set, the smallest first: at most `limit`, without the first `after`. */
export function numbersOf(bits: Bits, { after = 0, limit = Infinity } = {}): number[] {
  const numbers: number[] = [];
  let before = 0;
  for (let word = 0; word < bits.length && numbers.length < limit; word++) {
    let rest = bits[word]!;
    const count = countWord(rest);
    if (before + count <= after) {
      before += count;
      continue;
    }
    for (; rest !== 0 && numbers.length < limit; rest &= rest - 1) {
      if (before++ >= after) numbers.push(word * 32 + lowestBit(rest));
    }
  }
  return numbers;
}

/** Adds up neighbouring bits, then pairs, then fours, and at last the four bytes. */
function countWord(word: number): number {
  const pairs = word - ((word >>> 1) & 0x5555_5555);
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}
