// Tests: tests/lib/cli/commands/evidence_test.ts tests/lib/evidence/shares_test.ts
/** Evidence in words. */
import { formatCount, plural } from "../base/text.ts";
import { formatDay } from "../base/time.ts";
import { localDay, type TimeZone } from "../base/time_zone.ts";
import { NO_BRANCH } from "./base_branch.ts";
import type { Evidence } from "./evidence.ts";
import type { Blame, Share } from "./shares.ts";

/** Evidence for a failure, as it is stored and sent. */
export interface Conclusion {
  evidence: Evidence;
  blame: Blame;
  share: Share | null;
  baseRunCount: number;
  baseFailedCount: number;
}

const BLAME_WORDS: Readonly<Record<Blame, string>> = {
  not_yours: "not yours",
  unclear: "unclear",
  yours: "probably yours",
};

/**
 * A conclusion as a sentence: `not yours: failed the same way in 3 of 210 runs on main, last on 12 Nov; 96 % of
 * failures like this were not the change (160 of 167)`.
 *
 * @param options.base the base branch, escaped where the sentence needs it; `""` where no upload names its branch
 * @param options.lastOn the day of the submission that it rests on, `""` without one
 */
export function sayConclusion(
  { blame, share, ...facts }: Conclusion,
  options: { base: string; lastOn: string },
): string {
  const record = share ? `; ${sayShare(share)}` : "";
  return `${BLAME_WORDS[blame]}: ${sayEvidence(facts, options)}${record}`;
}

function sayEvidence(
  { evidence, baseRunCount: runs, baseFailedCount: failed }: Omit<Conclusion, "blame" | "share">,
  { base, lastOn }: { base: string; lastOn: string },
): string {
  const last = lastOn === "" ? "" : `, last on ${lastOn}`;
  const ofBase = `${plural(runs, "run")} on ${base || "the base branch"}`;
  switch (evidence) {
    case "passed_here":
      return "it also passed on the same code";
    case "outage":
      return "an outage: other branches failed with the same causes in the last two hours";
    case "together":
      return "many tests failed at once, with this change alone";
    case "fails_on_base":
      return `failed the same way in ${failed} of ${ofBase}${last}`;
    case "seen_elsewhere":
      if (failed > 0) return `failed the same way in ${failed} of ${ofBase}${last}`;
      return `failed the same way elsewhere${last}`;
    case "new_cause":
      return `failed before, but never like this${last}`;
    case "new_test":
      return base === ""
        ? `${NO_BRANCH}, so there is no run to compare it with`
        : `${base} has no run of it`;
    case "first":
      return `never failed in ${ofBase}`;
    case "few":
      return `failed in ${failed} of ${ofBase}, too little to tell`;
  }
}

/**
 * What is added about a flaky test whose conclusion is that it never failed in the runs that were compared: the
 * two would seem to contradict each other. Other jobs of the base branch may have failed. `""` for other evidence.
 */
export function sayFlakyElsewhere(
  { evidence, baseRunCount }: Pick<Conclusion, "evidence" | "baseRunCount">,
  { base }: { base: string },
): string {
  return evidence === "first"
    ? `but in none of the ${plural(baseRunCount, "run")} on ${
      base || "the base branch"
    } that this one is compared with`
    : "";
}

/** `96 % of failures like this were not the change (160 of 167)`. */
function sayShare({ notTheChange, of, from }: Share): string {
  const where = from === "published"
    ? " in a year of Apache Ozone"
    : from === "organization"
    ? " in this organization"
    : "";
  return `${sayPercent(notTheChange, of)} % of failures like this were not the change${where} ` +
    `(${notTheChange} of ${of})`;
}

/** A share in percent: rounded, but 0 and 100 only if exact. */
export function sayPercent(part: number, of: number): number {
  if (part === 0) return 0;
  if (part === of) return 100;
  return Math.min(99, Math.max(1, Math.round(part * 100 / of)));
}

interface BlameOptions {
  /** Failed tests without a conclusion. */
  unknown?: number;
  /** How many tests ran, where that is known: `4 of 27 tests failed`. */
  ran?: number | null;
}

/** `4 tests failed: 1 is probably yours, 1 is unclear, 2 are not.` */
export function sayBlames(blames: readonly Blame[], options: BlameOptions = {}): string {
  const count = (blame: Blame) => blames.filter((one) => one === blame).length;
  const counts = {
    yours: count("yours"),
    unclear: count("unclear"),
    not_yours: count("not_yours"),
  };
  return sayBlameCounts(counts, options);
}

/** {@linkcode sayBlames} of numbers of failed tests. */
export function sayBlameCounts(
  { yours, unclear, not_yours: not }: Readonly<Record<Blame, number>>,
  { unknown = 0, ran = null }: BlameOptions = {},
): string {
  const total = yours + unclear + not + unknown;
  if (total === 0) return "No test failed.";
  const failed = ran === null
    ? `${plural(total, "test")} failed`
    : `${formatCount(total)} of ${plural(ran, "test")} failed`;
  if (total === unknown) {
    return `${failed}: it is unknown whether ${total === 1 ? "it is" : "they are"} yours.`;
  }
  if (total === 1) {
    if (yours === 1) return `${failed}: it is probably yours.`;
    return unclear === 1 ? `${failed}: it is unclear whose it is.` : `${failed}: it is not yours.`;
  }
  const are = (number: number) => `${number} ${number === 1 ? "is" : "are"}`;
  const parts = [
    ...yours > 0 ? [`${are(yours)} probably yours`] : [],
    ...unclear > 0 ? [`${are(unclear)} unclear`] : [],
    ...not > 0 ? [`${are(not)} not${yours > 0 ? "" : " yours"}`] : [],
    ...unknown > 0 ? [`${are(unknown)} unknown`] : [],
  ];
  return `${failed}: ${parts.join(", ")}.`;
}

/** The day of a moment in seconds since 1970: `12 Nov`. */
export function sayDay(seconds: number, zone: TimeZone): string {
  return formatDay(localDay(seconds, zone));
}
