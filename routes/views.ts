/** Creates the parts of responses that routes share. */
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
  const last = shown.at(-1);
  const after = last && rows.length > limit ? cursorOf(last) : null;
  return { shown, metadata: { after, limit } };
}

export function testView(
  { id, name, suite, class: className, file }: TestIdentity & { id: string },
) {
  return { id, name, suite, class: className, file };
}

/** The ratio, truncated to 3 decimals. */
export function ratioView(test: TrackedTest): number {
  return disruptivenessThousandths(test) / 1000;
}

/** A timestamp, `null` when there is none. */
export function timestampView(seconds: number | null): string | null {
  return seconds === null ? null : formatTimestamp(seconds);
}

/** The time of a submission or event. */
export function recordedAtView(id: string): string {
  return formatTimestamp(recordedAtOf(id));
}

/** The latest disruption, `null` when there was none. */
export function negativeResultView(
  latest: Pick<LatestDisruption, "recordedAt" | "buildUrl" | "message"> | null,
) {
  if (latest === null) return null;
  const { recordedAt, buildUrl, message } = latest;
  return { recorded_at: formatTimestamp(recordedAt), build_url: buildUrl, message };
}

/** The latest positive result, `null` when there was none. */
export function positiveResultView(latest: LatestPositive | null) {
  return latest && { ...negativeResultView({ ...latest, message: "" })!, message: null };
}

export function attemptView(attempt: TestAttempt & { text: FailureText | null }) {
  const { conclusion, durationMicroseconds, runCount, failure, text } = attempt;
  return {
    conclusion,
    duration_us: durationMicroseconds,
    message: text?.message ?? null,
    body: text?.body ?? null,
    run_count: runCount,
    is_disruption: failure?.isDisruption ?? false,
  };
}
