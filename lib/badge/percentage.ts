/**
 * A share in tenths of a percent, rounded half up. Only exactly 0 % and 100 % give 0 and 1000.
 * @throws {RangeError} when the part is not a whole number from 0 to the whole, or the whole is 0
 */
export function tenthsOfPercent(part: number, whole: number): number {
  if (
    !Number.isSafeInteger(part) || !Number.isSafeInteger(whole) || part < 0 || part > whole ||
    whole === 0
  ) {
    throw new RangeError(
      `invalid share ${part} of ${whole}: expected whole numbers, the part at most the whole`,
    );
  }
  if (part === 0) return 0;
  if (part === whole) return 1000;
  // BigInt, because 0.05 % has no exact binary fraction and must round up.
  const tenths = (BigInt(part) * 2000n + BigInt(whole)) / (BigInt(whole) * 2n);
  return Math.min(Math.max(Number(tenths), 1), 999);
}

/** Formats tenths of a percent: `12.3%`, or `12%` without a tenth. */
export function formatTenths(tenths: number): string {
  const tenth = tenths % 10;
  return `${(tenths - tenth) / 10}${tenth === 0 ? "" : `.${tenth}`}%`;
}
