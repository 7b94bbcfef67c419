/** How often failures with the same evidence were not the change, and how good that was as a prediction. */
import { EVIDENCE, type Evidence } from "./evidence.ts";
import type { Truth } from "./truth.ts";

/** Whose failures a share counts. */
export const SHARE_SOURCES = ["repository", "organization", "published"] as const;

export type ShareSource = typeof SHARE_SOURCES[number];

/** The share of failures that were not the change. */
export interface Share {
  notTheChange: number;
  /** Failures of which the truth came out. */
  of: number;
  from: ShareSource;
}

/** What became of failures with one evidence, on the base branch or off it. */
export interface TruthCounts {
  evidence: Evidence;
  isOnBase: boolean;
  notTheChange: number;
  theChange: number;
}

/** `not_yours`: probably not due to the change; `yours`: probably due to it. */
export const BLAMES = ["not_yours", "unclear", "yours"] as const;

export type Blame = typeof BLAMES[number];

/** Days whose failures a share counts. */
export const SHARE_DAYS = 90;

/** With fewer failures whose truth came out, a share is not known. */
const MIN_RESOLVED = 10;

/**
 * What became of the first failures of a year on the master of Apache Ozone, June 2021 to June 2022, as
 * `deno task measure ozone` counts them. Evidence of fewer than ten is left out.
 */
export const PUBLISHED: Readonly<Partial<Record<Evidence, Omit<Share, "from">>>> = {
  passed_here: { notTheChange: 288, of: 288 },
  seen_elsewhere: { notTheChange: 107, of: 107 },
  new_cause: { notTheChange: 12, of: 12 },
  first: { notTheChange: 28, of: 29 },
};

/** The share of an evidence: the repository's, else the organization's, else the published one of base branches. */
export function shareOf(
  evidence: Evidence,
  { isOnBase, repository, organization }: {
    isOnBase: boolean;
    repository: readonly TruthCounts[];
    organization: readonly TruthCounts[];
  },
): Share | null {
  for (
    const [from, counts] of [["repository", repository], ["organization", organization]] as const
  ) {
    let notTheChange = 0;
    let of = 0;
    for (const one of counts) {
      if (one.evidence !== evidence || one.isOnBase !== isOnBase) continue;
      notTheChange += one.notTheChange;
      of += one.notTheChange + one.theChange;
    }
    if (of >= MIN_RESOLVED) return { notTheChange, of, from };
  }
  const published = isOnBase ? PUBLISHED[evidence] : undefined;
  return published ? { ...published, from: "published" } : null;
}

/** Evidence by which a failure may be called not yours. */
const CLEARING: readonly Evidence[] = ["passed_here", "fails_on_base", "outage", "seen_elsewhere"];

/** Evidence by which a failure is yours while no share is known. */
const ACCUSING: readonly Evidence[] = ["together", "new_test", "first"];

/**
 * Whose failure it probably is. In doubt it is not called "not yours": that evidence needs a share of at least
 * 0.9 where one is known, and other evidence never clears.
 */
export function blameOf(evidence: Evidence, share: Share | null): Blame {
  if (evidence === "passed_here" || evidence === "outage") return "not_yours";
  if (CLEARING.includes(evidence)) {
    return share && share.notTheChange * 10 < share.of * 9 ? "unclear" : "not_yours";
  }
  if (share) return share.notTheChange * 2 < share.of ? "yours" : "unclear";
  return ACCUSING.includes(evidence) ? "yours" : "unclear";
}

/** Failures whose truth came out, with what was said at their time. */
export interface Prediction {
  evidence: Evidence;
  /** What was known at its moment. */
  share: Share | null;
  truth: Truth;
  /** How many failures; 1 unless given. */
  count?: number;
}

/** The probability of each blame while no share is known. */
const PROBABILITY: Record<Blame, number> = { not_yours: 1, unclear: 0.5, yours: 0 };

/**
 * The mean square error of the probabilities that were said, and of saying always how many failures were not
 * the change; `null` each without a failure. 0 is perfect.
 */
export function brierScores(
  predictions: Iterable<Prediction>,
): { brier: number | null; baseRate: number | null } {
  let all = 0;
  let notTheChange = 0;
  const errors: number[] = [];
  for (const { evidence, share, truth, count = 1 } of predictions) {
    const said = share && evidence !== "passed_here"
      ? share.notTheChange / share.of
      : PROBABILITY[blameOf(evidence, share)];
    const outcome = truth === "not_the_change" ? 1 : 0;
    all += count;
    notTheChange += count * outcome;
    errors.push(count * (said - outcome) ** 2);
  }
  if (all === 0) return { brier: null, baseRate: null };
  const rate = notTheChange / all;
  // In one order: rows come in another from another database, which would change the last digit.
  const sum = Float64Array.from(errors).sort().reduce((total, error) => total + error, 0);
  return { brier: sum / all, baseRate: rate * (1 - rate) };
}

/** Sorts by evidence as it is tried, failures on the base branch first. */
export function compareCounts(
  a: Pick<TruthCounts, "evidence" | "isOnBase">,
  b: Pick<TruthCounts, "evidence" | "isOnBase">,
): number {
  return EVIDENCE.indexOf(a.evidence) - EVIDENCE.indexOf(b.evidence) ||
    Number(b.isOnBase) - Number(a.isOnBase);
}
