/** 97.5 % quantile of the normal distribution: both ends of an interval of 95 %. */
const Z = 1.96;

/**
 * The lower end of the 95 % confidence interval of a share (Wilson score interval): 1 of 1 is 0.21, 50 of
 * 100 is 0.40. Sorting by it keeps small samples from coming first. 0 without any.
 */
export function wilsonLowerBound(part: number, whole: number): number {
  if (whole === 0) return 0;
  const share = part / whole;
  const center = share + Z ** 2 / (2 * whole);
  const spread = Z * Math.sqrt((share * (1 - share) + Z ** 2 / (4 * whole)) / whole);
  return Math.max(0, (center - spread) / (1 + Z ** 2 / whole));
}
