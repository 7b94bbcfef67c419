/** The record of conclusions: how often what was said of failures turned out to be right. */
import type { Evidence } from "./evidence.ts";
import { type Blame, blameOf, brierScores, compareCounts, type Share } from "./shares.ts";
import type { Truth } from "./truth.ts";

/** Failures of which the same was said, and of which the same became known. */
export interface SaidFailures {
  evidence: Evidence;
  isOnBase: boolean;
  /** What was known when it was said. */
  share: Share | null;
  /** `null` while it is open. */
  truth: Truth | null;
  count: number;
}

/** What became of the failures with one evidence, on the base branch or off it. */
interface RecordRow {
  evidence: Evidence;
  isOnBase: boolean;
  said: number;
  notTheChange: number;
  theChange: number;
  open: number;
}

/** How often one blame was true, of the failures whose truth came out. */
interface Rightness {
  right: number;
  of: number;
}

export interface ConclusionRecord {
  /** In the order in which evidence is tried, the base branch first. */
  rows: RecordRow[];
  notYours: Rightness;
  yours: Rightness;
  /** Failures that were called unclear, whose truth came out. */
  unclearCount: number;
  /** Mean square error of what was said; `null` before any truth came out. */
  brier: number | null;
  /** The same of always saying how many failures were not the change. */
  brierBaseRate: number | null;
}

/** Adds up what became of failures. */
export function conclusionRecord(failures: readonly SaidFailures[]): ConclusionRecord {
  const rows = [
    ...Map.groupBy(failures, ({ evidence, isOnBase }) => `${evidence} ${isOnBase}`).values(),
  ].map((group) => {
    const [{ evidence, isOnBase }] = group as [SaidFailures];
    return {
      evidence,
      isOnBase,
      said: sum(group),
      notTheChange: sum(group, "not_the_change"),
      theChange: sum(group, "the_change"),
      open: sum(group, null),
    };
  });
  const resolved = failures.filter((one): one is SaidFailures & { truth: Truth } =>
    one.truth !== null
  );
  const blamed = (blame: Blame) =>
    resolved.filter(({ evidence, share }) => blameOf(evidence, share) === blame);
  const rightness = (blame: Blame, truth: Truth): Rightness => {
    const own = blamed(blame);
    return { right: sum(own, truth), of: sum(own) };
  };
  const { brier, baseRate } = brierScores(resolved);
  return {
    rows: rows.sort(compareCounts),
    notYours: rightness("not_yours", "not_the_change"),
    yours: rightness("yours", "the_change"),
    unclearCount: sum(blamed("unclear")),
    brier,
    brierBaseRate: baseRate,
  };
}

/** The number of failures: all, or those with this truth. */
function sum(failures: readonly SaidFailures[], truth?: Truth | null): number {
  return failures.reduce(
    (total, one) => total + (truth === undefined || one.truth === truth ? one.count : 0),
    0,
  );
}
