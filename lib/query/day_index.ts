import { SECONDS_PER_DAY } from "../base/time.ts";
import { addBit, type Bits, dropBit, keepCommon, noBits } from "./bits.ts";
import type { DayOperator } from "./parse.ts";

/** Numbers below a size by the day (UTC) of a moment that each has or has not. */
export class DayIndex {
  /** Days since 1970, in order. */
  readonly #days: readonly number[];
  /** Where the numbers of each day begin, and at last where they end. */
  readonly #starts: Uint32Array;
  /** Numbers by day. */
  readonly #numbers: Uint32Array;
  /** Numbers that have a day. */
  readonly #dated: Bits;
  /** Used anew by each search. */
  readonly #union: Bits;

  /** @param momentOf the moment of a number in seconds since 1970, `null` when it has none */
  constructor(size: number, momentOf: (number: number) => number | null) {
    const byDay = new Map<number, number[]>();
    this.#dated = noBits(size);
    this.#union = noBits(size);
    for (let number = 0; number < size; number++) {
      const moment = momentOf(number);
      if (moment === null) continue;
      const day = Math.floor(moment / SECONDS_PER_DAY);
      addBit(this.#dated, number);
      const numbers = byDay.get(day);
      if (numbers) numbers.push(number);
      else byDay.set(day, [number]);
    }
    this.#days = [...byDay.keys()].sort((one, other) => one - other);
    this.#starts = new Uint32Array(this.#days.length + 1);
    for (const [index, day] of this.#days.entries()) {
      this.#starts[index + 1] = this.#starts[index]! + byDay.get(day)!.length;
    }
    this.#numbers = Uint32Array.from(this.#days.flatMap((day) => byDay.get(day)!));
  }

  /** Leaves in a set those whose day, counted from 1970, compares so with another. */
  keep(
    candidates: Bits,
    { operator, day }: { operator: DayOperator; day: number },
  ): void {
    // Whole days: those up to one are those before the next.
    const isFirst = operator === ">=" || operator === "=";
    const isLast = operator === "<=" || operator === "=";
    const first = operator[0] === "<" ? 0 : this.#countBefore(isFirst ? day : day + 1);
    const end = operator[0] === ">"
      ? this.#numbers.length
      : this.#countBefore(isLast ? day + 1 : day);
    if (2 * (end - first) > this.#numbers.length) this.#dropOthers(candidates, first, end);
    else this.#keepOnly(candidates, first, end);
  }

  #dropOthers(candidates: Bits, first: number, end: number): void {
    const numbers = this.#numbers;
    keepCommon(candidates, this.#dated);
    for (let at = 0; at < first; at++) dropBit(candidates, numbers[at]!);
    for (let at = end; at < numbers.length; at++) dropBit(candidates, numbers[at]!);
  }

  #keepOnly(candidates: Bits, first: number, end: number): void {
    const union = this.#union.fill(0);
    for (let at = first; at < end; at++) addBit(union, this.#numbers[at]!);
    keepCommon(candidates, union);
  }

  /** How many numbers have a day before this one. */
  #countBefore(day: number): number {
    let low = 0;
    let high = this.#days.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#days[middle]! < day) low = middle + 1;
      else high = middle;
    }
    return this.#starts[low]!;
  }
}
