/**
 * A share in tenths of a percent, to the nearest one (half up): 0 to 1000. Only exactly nothing is
 * 0 and only exactly everything is 1000, whatever rounding would say.
 *
 * @throws {RangeError} when the part is no whole number from 0 to the whole, or the whole is 0
 */
export function tenthsOfPercent(part: number, whole: number): number {
  if (
    !Number.isSafeInteger(part) || !Number.isSafeInteger(whole) || part < 0 || part > whole ||
    whole === 0
  ) {
    throw new RangeError(
      `${part} of ${whole} is no share: expected whole numbers, the part at most the whole`,
    );
  }
  if (part === 0) return 0;
  if (part === whole) return 1000;
  // In whole numbers, because 0.05 % has no exact binary fraction and must round up all the same.
  const tenths = (BigInt(part) * 2000n + BigInt(whole)) / (BigInt(whole) * 2n);
  return Math.min(Math.max(Number(tenths), 1), 999);
}

/** Writes tenths of a percent as people read them: `12.3%`, and `12%` without a tenth. */
export function formatTenths(tenths: number): string {
  const tenth = tenths % 10;
  return `${(tenths - tenth) / 10}${tenth === 0 ? "" : `.${tenth}`}%`;
}
