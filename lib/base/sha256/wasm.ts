/**
 * As much of WebAssembly's binary format as a function over vectors takes: instructions as bytes, in
 * the order in which they are to run, and a module around them. Numbers are the specification's.
 */

/** Bytes of code, in pieces of pieces. */
export type Code = (number | Code)[];

/** A local variable of the function: 0 is its parameter. */
export type Local = number;

/** Lengths, addresses and numbers of things: seven bits a byte, the least significant first. */
function unsigned(value: number): Code {
  const bytes: Code = [];
  for (; value >= 0x80; value >>>= 7) bytes.push(value & 0x7f | 0x80);
  return [...bytes, value];
}

/** The same where 0x40 of the last byte is the sign, as constants have it. */
function positive(value: number): Code {
  const bytes: Code = [];
  for (; value >= 0x40; value >>>= 7) bytes.push(value & 0x7f | 0x80);
  return [...bytes, value];
}

// Instructions that work on four numbers of 32 bits have a prefix.
function four(instruction: number): Code {
  return [0xfd, unsigned(instruction)];
}

/** A number that is none below 0: `i32.const`. */
export const number = (value: number): Code => [0x41, positive(value)];
/** What a variable holds: `local.get`. */
export const get = (local: Local): Code => [0x20, local];
/** Puts a value into a variable: `local.set`. */
export const set = (local: Local, value: Code): Code => [value, 0x21, local];
/** Whether one number is less than another, without a sign: `i32.lt_u`. */
export const isLess = (a: Code, b: Code): Code => [a, b, 0x49];
/** The sum of two numbers: `i32.add`. */
export const plus = (a: Code, b: Code): Code => [a, b, 0x6a];

/** Runs the body, and again for as long as the condition behind it holds: `loop`, `br_if`. */
export const repeat = (body: Code, condition: Code): Code => [
  ...[0x03, 0x40, body],
  ...[condition, 0x0d, 0, 0x0b],
];

// Where in memory: an address that the code works out, and an offset.

/** Four numbers that stand side by side: `v128.load`. */
export const loadFour = (address: Code, offset: number): Code => [
  ...[address, four(0), 4, unsigned(offset)],
];
/** One number, four times: `v128.load32_splat`. */
export const loadSame = (address: Code, offset: number): Code => [
  ...[address, four(9), 2, unsigned(offset)],
];
/** Writes four numbers side by side: `v128.store`. */
export const storeFour = (address: Code, offset: number, value: Code): Code => [
  ...[address, value, four(11), 4, unsigned(offset)],
];

/** Bytes of two vectors, the first has numbers 0 to 15, the second 16 to 31: `i8x16.shuffle`. */
export const bytesOf = (a: Code, b: Code, numbers: number[]): Code => [a, b, four(13), numbers];
/** Bits of the first where the mask is set, else of the second: `v128.bitselect`. */
export const bitsOf = (mask: Code, a: Code, b: Code): Code => [a, b, mask, four(82)];
/** Bits that two vectors differ in: `v128.xor`. */
export const xor = (a: Code, b: Code): Code => [a, b, four(81)];
/** Sums of four numbers each: `i32x4.add`. */
export const add = (a: Code, b: Code): Code => [a, b, four(174)];
/** Four numbers without their last bits: `i32x4.shr_u`. */
export const shiftRight = (a: Code, bits: number): Code => [a, number(bits), four(173)];
/** The same, with those bits in front: also `i32x4.shl` and `v128.or`. */
export const rotateRight = (a: Code, bits: number): Code => [
  ...[shiftRight(a, bits), a, number(32 - bits), four(171)],
  ...four(80),
];

const MAGIC = [0x00, 0x61, 0x73, 0x6d];
const VERSION = [0x01, 0x00, 0x00, 0x00];
const INTEGER = 0x7f;
const VECTOR = 0x7b;

function bytesOfCode(code: Code, bytes: number[] = []): number[] {
  for (const each of code) {
    if (typeof each === "number") bytes.push(each);
    else bytesOfCode(each, bytes);
  }
  return bytes;
}

function section(number: number, content: Code): Code {
  const bytes = bytesOfCode(content);
  return [number, unsigned(bytes.length), bytes];
}

function named(name: string, kind: number): Code {
  return [name.length, [...new TextEncoder().encode(name)], kind, 0];
}

/**
 * A module of one function with a number as its parameter, and a memory.
 *
 * @param options.integerCount locals beside the parameter, which come first
 * @param options.vectorCount locals of four numbers, which come next
 * @param options.pageCount memory, in units of 64 KiB
 */
export function moduleOf(
  code: Code,
  { integerCount, vectorCount, pageCount }: {
    integerCount: number;
    vectorCount: number;
    pageCount: number;
  },
): WebAssembly.Module {
  const locals: Code = [2, integerCount, INTEGER, vectorCount, VECTOR];
  const body = bytesOfCode([locals, code, 0x0b]);
  const bytes: Code = [
    MAGIC,
    VERSION,
    section(1, [1, 0x60, 1, INTEGER, 0]),
    section(3, [1, 0]),
    section(5, [1, 0, pageCount]),
    section(7, [2, named("run", 0), named("memory", 2)]),
    section(10, [1, unsigned(body.length), body]),
  ];
  return new WebAssembly.Module(Uint8Array.from(bytesOfCode(bytes)));
}
