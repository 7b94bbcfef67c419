/**
 * The beta distribution: how probable each failure rate of a test is after some of its runs.
 *
 * Before any run the rate is Beta(0.3, 0.5): most tests fail nearly never or nearly always.
 */

export const PRIOR = { failures: 0.3, passes: 0.5 };

// Below this the series of Stirling is not exact to 15 digits.
const STIRLING_FROM = 12;

/** ln Γ(x) for x > 0, to about 14 digits. */
export function logGamma(x: number): number {
  let shift = 0;
  for (; x < STIRLING_FROM; x++) shift += Math.log(x);
  const inverse = 1 / (x * x);
  const series =
    ((((-691 / 360360 * inverse + 1 / 1188) * inverse - 1 / 1680) * inverse + 1 / 1260) * inverse -
        1 / 360) * inverse + 1 / 12;
  return (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + series / x - shift;
}

/** ln B(a, b). */
export function logBeta(a: number, b: number): number {
  return logGamma(a) + logGamma(b) - logGamma(a + b);
}

/** P(X <= x) of Beta(a, b): the regularized incomplete beta function. */
export function betaCdf(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // The continued fraction converges fast below the mean.
  if (x > (a + 1) / (a + b + 2)) return 1 - betaCdf(1 - x, b, a);
  const factor = Math.exp(a * Math.log(x) + b * Math.log1p(-x) - logBeta(a, b)) / a;
  return Math.min(1, factor * continuedFraction(x, a, b));
}

/** The quantile `p` of Beta(a, b), by bisection. */
export function betaQuantile(p: number, a: number, b: number): number {
  let [low, high] = [0, 1];
  // 60 halvings: all digits of a double.
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (betaCdf(middle, a, b) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The 95 % interval with equal tails of a failure rate, after `failures` in `runs`. */
export function rateInterval(
  { runs, failures }: { runs: number; failures: number },
): { low: number; high: number } {
  const a = PRIOR.failures + failures;
  const b = PRIOR.passes + runs - failures;
  return { low: betaQuantile(0.025, a, b), high: betaQuantile(0.975, a, b) };
}

const MAX_TERMS = 500;

/** Continued fraction of the incomplete beta function, by the method of Lentz. */
function continuedFraction(x: number, a: number, b: number): number {
  const away = (value: number) => Math.abs(value) < 1e-300 ? 1e-300 : value;
  let c = 1;
  let d = 1 / away(1 - (a + b) * x / (a + 1));
  let result = d;
  for (let m = 1; m <= MAX_TERMS; m++) {
    const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    result *= d * c;
    const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    const change = d * c;
    result *= change;
    if (Math.abs(change - 1) < 1e-15) break;
  }
  return result;
}
