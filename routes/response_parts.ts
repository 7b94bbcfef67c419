// Tests: tests/routes/durations_test.ts tests/routes/failures_test.ts
/** The parts of responses that routes share, with the names of their schemas. */
import type { ShownConclusion } from "../db/read/conclusions.ts";
import type { TestAttempt } from "../lib/analysis/attempts.ts";
import type { FailureText } from "../lib/analysis/failure_texts.ts";
import {
  disruptivenessThousandths,
  type LatestDisruption,
  type LatestPositive,
  type TrackedTest,
} from "../lib/analysis/tracked_test.ts";
import { encodeOffsetCursor } from "../lib/base/cursor.ts";
import { recordedAtOf, type TestIdentity } from "../lib/base/identity.ts";
import { formatTimestamp } from "../lib/base/time.ts";

/** `metadata` of a list with an offset cursor. */
export function offsetMetadata({ after, limit }: { after: number; limit: number }, count: number) {
  const end = after + limit;
  return { after: end < count ? encodeOffsetCursor(end) : null, limit };
}

/** A page of a list, from up to `limit` + 1 rows: an extra row means there is a next page. */
export function keysetPage<Row>(rows: Row[], limit: number, cursorOf: (row: Row) => string) {
  const shown = rows.slice(0, limit);
  const after = rows.length > limit ? cursorOf(shown.at(-1)!) : null;
  return { shown, metadata: { after, limit } };
}

export function test({ id, name, suite, class: className, file }: TestIdentity & { id: string }) {
  return { id, name, suite, class: className, file };
}

/** The ratio, truncated to 3 decimals. */
export function ratio(test: TrackedTest): number {
  return disruptivenessThousandths(test) / 1000;
}

/** The time of a submission or event. */
export function recordedAt(id: string): string {
  return formatTimestamp(recordedAtOf(id));
}

/** A negative result, for lists of tests. */
export function negativeResult(
  { recordedAt, buildUrl, message }: Omit<LatestDisruption, "commitOid">,
) {
  return { recorded_at: formatTimestamp(recordedAt), build_url: buildUrl, message };
}

/** A positive result; its message is always `null`. */
export function positiveResult({ recordedAt, buildUrl }: LatestPositive) {
  return { recorded_at: formatTimestamp(recordedAt), build_url: buildUrl, message: null };
}

/** The evidence for a failure. */
export function conclusion({ evidence, blame, share, restsOn }: ShownConclusion) {
  return {
    evidence,
    blame,
    share: share && Math.floor(share.notTheChange * 1000 / share.of) / 1000,
    share_of: share && share.of,
    share_from: share && share.from,
    evidence_url: restsOn?.buildUrl ?? "",
  };
}

/** The evidence for a failed attempt; of others nothing. */
export function conclusionOfAttempt(found: ShownConclusion | undefined) {
  if (found) return conclusion(found);
  const none = { evidence: null, blame: null, share: null, share_of: null, share_from: null };
  return { ...none, evidence_url: "" };
}

/** One attempt of a test, with its failure text. */
export function attempt(
  { conclusion, durationMicroseconds, runCount, failure, text }:
    & TestAttempt
    & { text: FailureText | null },
) {
  return {
    conclusion,
    duration_us: durationMicroseconds,
    message: text?.message ?? null,
    body: text?.body ?? null,
    run_count: runCount,
    is_disruption: failure?.isDisruption ?? false,
  };
}
