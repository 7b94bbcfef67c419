/** Seeded random damage to files. */

/** Random numbers that are the same for the same seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 up to and without a limit. */
  below(limit: number): number {
    // Mulberry32: 32 bits of state are enough, and nothing here is a secret.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor(((t ^ (t >>> 14)) >>> 0) / 2 ** 32 * limit);
  }

  /** One of several, each as likely. */
  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }
}

/** No input becomes longer: what grows without end is a matter of limits. */
const MAX_BYTES = 256 * 1024;
const MAX_CHANGES = 4;

// What readers look for, and what they would rather not find.
const WORDS = [
  ...["<", ">", "</", "/>", "&", ";", '"', "'", "=", "]]>", "<![CDATA[", "<!--", "-->", "<?", "?>"],
  ...["<!DOCTYPE x [", "<!ENTITY a '&a;'>", "&#0;", "&#x10FFFF;", "&#xD800;", "&lt", "&a;"],
  ...["<testsuites>", "<testsuite name='s'>", "</testsuite>", "<testcase name='a'/>", "<failure/>"],
  ...[" name=''", " file='/'", " time='-1e999'", " name='<A object at 0x7f0000000000>'"],
  ...["{", "}", "[", "]", ":", ",", "null", "true", "-", "1e309", "\\u0000", "\\ud800", '{"": {'],
  ...[
    "\nDA:1,1\n",
    "\nSF:\n",
    "end_of_record\n",
    "mode: set\n",
    ":1.1,2.2 1 18446744073709551616\n",
  ],
  ...[
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "\u2028",
    "\0",
    "\x1b[0m",
    "\ufeff",
    "\ufffd",
    "\u{10ffff}",
    "ß",
  ],
  ...["../", "/", "\\", "0", "9".repeat(30), "-0", "NaN", "ustar", "pax", "x".repeat(300)],
].map((word) => new TextEncoder().encode(word));
const BYTES = [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xef, 0xbf], [0xff, 0xfe], [0xfe, 0xff], [0]]
  .map((bytes) => new Uint8Array(bytes));
const INSERTIONS = [...WORDS, ...BYTES];

/**
 * A damaged copy of a file: a few changes, each at a random place.
 *
 * @param others files that parts may come from
 */
export function mutate(
  bytes: Uint8Array,
  random: Random,
  others: readonly Uint8Array[],
): Uint8Array {
  let mutant = bytes;
  // After several changes there is rarely anything left that can be read.
  const count = 1 + (random.below(2) === 0 ? 0 : random.below(MAX_CHANGES));
  for (let n = 0; n < count; n++) {
    mutant = random.of(CHANGES)(mutant, random, others);
  }
  return mutant.subarray(0, MAX_BYTES);
}

type Change = (
  bytes: Uint8Array,
  random: Random,
  others: readonly Uint8Array[],
) => Uint8Array;

const CHANGES: readonly Change[] = [
  // One bit, one byte.
  (bytes, random) => changeByte(bytes, random, (byte) => byte ^ (1 << random.below(8))),
  (bytes, random) => changeByte(bytes, random, () => random.below(256)),
  // Something in between.
  (bytes, random) => replace(bytes, random.below(bytes.length + 1), 0, random.of(INSERTIONS)),
  (bytes, random) => {
    const { at, length } = range(bytes, random, 16);
    return replace(bytes, at, length, random.of(INSERTIONS));
  },
  (bytes, random) => {
    const word = random.of(INSERTIONS);
    const many = new Uint8Array(word.length * (1 + random.below(2_000)));
    for (let at = 0; at < many.length; at += word.length) many.set(word, at);
    return replace(bytes, random.below(bytes.length + 1), 0, many.subarray(0, MAX_BYTES / 4));
  },
  // Something missing.
  (bytes, random) => {
    const { at, length } = range(bytes, random, 200);
    return replace(bytes, at, length, new Uint8Array());
  },
  (bytes, random) => bytes.subarray(0, random.below(bytes.length + 1)),
  // Something twice, and something from elsewhere.
  (bytes, random) => {
    const { at, length } = range(bytes, random, 2_000);
    return replace(bytes, random.below(bytes.length + 1), 0, bytes.slice(at, at + length));
  },
  (bytes, random, others) => {
    const other = random.of(others);
    const { at, length } = range(other, random, 2_000);
    return replace(bytes, random.below(bytes.length + 1), 0, other.slice(at, at + length));
  },
];

function changeByte(
  bytes: Uint8Array,
  random: Random,
  change: (byte: number) => number,
): Uint8Array {
  if (bytes.length === 0) return bytes;
  const copy = bytes.slice();
  const at = random.below(copy.length);
  copy[at] = change(copy[at]!);
  return copy;
}

function range(
  bytes: Uint8Array,
  random: Random,
  maxLength: number,
): { at: number; length: number } {
  const at = random.below(bytes.length + 1);
  return { at, length: random.below(Math.min(maxLength, bytes.length - at) + 1) };
}

function replace(bytes: Uint8Array, at: number, length: number, by: Uint8Array): Uint8Array {
  const changed = new Uint8Array(bytes.length - length + by.length);
  changed.set(bytes.subarray(0, at));
  changed.set(by, at);
  changed.set(bytes.subarray(at + length), at + by.length);
  return changed;
}
