/**
 * Durations of a submission in fewer bits than by themselves: as differences from what is typical of
 * each test, which is kept once for all submissions that ran the same tests. Nothing is lost.
 *
 * A difference is written as a Rice code, the low bits as they are and the rest as that many ones.
 * How many low bits follows from what is typical, as times vary in proportion, and from one number
 * for the whole submission, in which it says how much they vary. Only exact arithmetic decides, so
 * that every machine reads what another wrote.
 */

/** Steps of a byte of typical durations for each doubling. */
const STEPS = 4;
const STEP_FACTORS = [1, 1.189207115002721, 1.414213562373095, 1.681792830507429] as const;

/** As many ones say that the number itself follows. */
const ESCAPE = 20;
/** What is typical, and any other number that is told by a difference, in units: fits 32 bits. */
const MAX_DIFFERED = 2 ** 30 - 1;
const MAX_LOW_BITS = 24;
/** Low bits more or fewer than usual that are tried. */
const SHIFTS = [-4, -3, -2, -1, 0, 1, 2, 3] as const;
/** Of what is typical: with half as many low bits as this has, the code of usual times is shortest. */
const USUAL_SPREAD = 0.28;

/** What is typical of tests that took so long: a byte each, to about 9 %. */
export function typicalDurations(microseconds: Float64Array): Uint8Array {
  // The greatest safe integer has 53 bits, and 53 times four steps fit a byte.
  return Uint8Array.from(microseconds, (value) => Math.round(Math.log2(value + 1) * STEPS));
}

/** For each byte of typical durations: what is expected, in units, and the usual low bits. */
interface Expectations {
  expected: Int32Array;
  lowBits: Int32Array;
}

// By unit, of which there are two; most submissions are small beside these tables.
const tables = new Map<number, Expectations>();

function expectations(durationUnit: number): Expectations {
  const known = tables.get(durationUnit);
  if (known) return known;
  const expected = Int32Array.from({ length: 256 }, (_, step) => {
    const microseconds = 2 ** Math.floor(step / STEPS) * STEP_FACTORS[step % STEPS]! - 1;
    return Math.min(MAX_DIFFERED, Math.round(microseconds / durationUnit));
  });
  const lowBits = expected.map((value) => 32 - Math.clz32(Math.floor(value * USUAL_SPREAD)));
  const made = { expected, lowBits };
  tables.set(durationUnit, made);
  return made;
}

function clampLowBits(bits: number): number {
  return Math.max(0, Math.min(MAX_LOW_BITS, bits));
}

/** Both signs in turn: 0, -1, 1, -2 ... as 0, 1, 2, 3 ... */
function folded(difference: number): number {
  return difference >= 0 ? difference * 2 : -difference * 2 - 1;
}

/** Tests that tell how much times vary. */
const SAMPLED_TESTS = 500;

/** Packs durations (whole numbers of units up to 2^53 - 1). */
export function packDurations(
  durations: Float64Array,
  { typical, durationUnit }: { typical: Uint8Array; durationUnit: number },
): Uint8Array {
  const { expected, lowBits } = expectations(durationUnit);
  const differenceAt = (index: number) =>
    folded(Math.min(MAX_DIFFERED, durations[index]!) - expected[typical[index]!]!);
  const sizes = SHIFTS.map(() => 0);
  const every = Math.ceil(durations.length / SAMPLED_TESTS);
  for (let index = 0; index < durations.length; index += every) {
    const difference = differenceAt(index);
    SHIFTS.forEach((shift, each) => {
      const low = clampLowBits(lowBits[typical[index]!]! + shift);
      sizes[each]! += low + Math.min(difference >>> low, ESCAPE * 4);
    });
  }
  const shift = SHIFTS[sizes.indexOf(Math.min(...sizes))]!;

  const bytes = new Uint8Array(2 + durations.length * MAX_BYTES);
  bytes[0] = shift - SHIFTS[0];
  let position = 8;
  for (let index = 0; index < durations.length; index++) {
    const low = clampLowBits(lowBits[typical[index]!]! + shift);
    const difference = differenceAt(index);
    const ones = difference >>> low;
    if (durations[index]! > MAX_DIFFERED || ones >= ESCAPE) {
      setBits(bytes, position, 2 ** ESCAPE - 1);
      position += ESCAPE;
      for (let rest = durations[index]!, part = 0; part < 3; part++, position += 18) {
        setBits(bytes, position, rest % 2 ** 18);
        rest = Math.floor(rest / 2 ** 18);
      }
    } else {
      setBits(bytes, position, (1 << ones) - 1);
      position += ones + 1;
      setBits(bytes, position, difference & ((1 << low) - 1));
      position += low;
    }
  }
  return bytes.slice(0, Math.ceil(position / 8));
}

/** Of one duration: the ones that escape, and the number itself in three parts of 18 bits. */
const MAX_BYTES = Math.ceil((ESCAPE + 3 * 18) / 8);

/** Sets the bits of a number of at most 24 bits where all are 0, the least significant first. */
function setBits(bytes: Uint8Array, position: number, value: number): void {
  const start = position >> 3;
  const bits = value << (position & 7);
  bytes[start]! |= bits;
  bytes[start + 1]! |= bits >> 8;
  bytes[start + 2]! |= bits >> 16;
  bytes[start + 3]! |= bits >> 24;
}

/** At least 24 bits from a position on; behind the end they are 0. */
function bitsAt(bytes: Uint8Array, position: number): number {
  const start = position >> 3;
  const bits = bytes[start]! | bytes[start + 1]! << 8 | bytes[start + 2]! << 16 |
    bytes[start + 3]! << 24;
  return bits >>> (position & 7);
}

/**
 * Reads back what {@linkcode packDurations} wrote, in units: calls `visit` for each test in turn.
 *
 * @throws {RangeError} when the bytes end inside a number
 */
export function forEachPackedDuration(
  bytes: Uint8Array,
  { typical, durationUnit }: { typical: Uint8Array; durationUnit: number },
  visit: (duration: number, index: number) => void,
): void {
  const shift = SHIFTS[0] + (bytes[0] ?? 0);
  const { expected, lowBits } = expectations(durationUnit);
  const shifted = lowBits.map((bits) => clampLowBits(bits + shift));
  let position = 8;
  for (let index = 0; index < typical.length; index++) {
    const zeros = ~bitsAt(bytes, position);
    const ones = Math.min(ESCAPE, 31 - Math.clz32(zeros & -zeros) >>> 0);
    let duration = 0;
    if (ones === ESCAPE) {
      position += ESCAPE;
      for (let part = 0; part < 3; part++, position += 18) {
        duration += (bitsAt(bytes, position) & (2 ** 18 - 1)) * 2 ** (18 * part);
      }
    } else {
      position += ones + 1;
      const step = typical[index]!;
      const low = shifted[step]!;
      const difference = (ones << low) + (bitsAt(bytes, position) & ((1 << low) - 1));
      position += low;
      // The lowest bit is the sign: see folded.
      duration = expected[step]! + ((difference >>> 1) ^ -(difference & 1));
    }
    if (position > bytes.length * 8) throw new RangeError("the bytes end inside a number");
    visit(duration, index);
  }
}
