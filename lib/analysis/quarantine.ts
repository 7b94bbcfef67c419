import { isDeepStrictEqual } from "node:util";
import type { TestIdentity } from "../base/identity.ts";
import { formatTimestamp } from "../base/time.ts";
import { matchesPatterns, parsePatterns } from "../query/submission_filter.ts";

export interface Quarantine {
  /** Seconds since 1970. */
  quarantinedAt: number;
  quarantinedBy: string | null;
  quarantineType: "manual" | "automatic";
  quarantineReason: string | null;
  quarantineOwner: string | null;
  /** The first second after the quarantine; `null` without an end. */
  quarantineExpiresAt: number | null;
  /** Patterns of the environments that it is limited to, separated by commas; `null` for all. */
  quarantineEnvironment: string | null;
}

/** What is said about an entry on the command line, over HTTP or in a form. */
interface NewEntry {
  by?: string | null | undefined;
  type?: Quarantine["quarantineType"];
  reason?: string | null | undefined;
  owner?: string | null | undefined;
  /** The end in seconds since 1970, for a given `now`. */
  expires?: ((now: number) => number) | undefined;
  environment?: string | null | undefined;
}

/** A new entry, or what is wrong with its end. */
export function newEntry(
  { by = null, type = "manual", reason = null, owner = null, expires, environment = null }:
    NewEntry,
  now: number,
): { entry: Quarantine } | { wrongEnd: string } {
  const end = expires?.(now) ?? null;
  if (end !== null && end <= now) {
    return { wrongEnd: `"${formatTimestamp(end)}" is not after ${formatTimestamp(now)}` };
  }
  return {
    entry: {
      quarantinedAt: now,
      quarantinedBy: by,
      quarantineType: type,
      quarantineReason: reason,
      quarantineOwner: owner,
      quarantineExpiresAt: end,
      quarantineEnvironment: environment,
    },
  };
}

/** Whether an entry covers an environment, `""` when unknown. */
export function coversEnvironment(
  { quarantineEnvironment }: Pick<Quarantine, "quarantineEnvironment">,
  environment: string,
): boolean {
  return quarantineEnvironment === null ||
    matchesPatterns(environment, parsePatterns(quarantineEnvironment, "environment"));
}

/**
 * `in Windows* only`: the environments that an entry is limited to; `""` without a limit. Whatever says that a test is
 * quarantined says this too: elsewhere its failures are not excused.
 *
 * @param environment patterns, separated by commas
 * @param code marks them as text of others, where that has a markup
 */
export function sayLimit(environment: string | null, code = (text: string) => text): string {
  return environment === null ? "" : `in ${code(environment)} only`;
}

/** `quarantined`, `quarantined in Windows* only`: a label of a test, with {@linkcode sayLimit}. */
export function sayQuarantined(environment: string | null): string {
  return environment === null ? "quarantined" : `quarantined ${sayLimit(environment)}`;
}

/** The entry unless it has ended at `now`, in seconds since 1970. SQL: `isActive`. */
export function activeQuarantine(entry: Quarantine | null, now: number): Quarantine | null {
  if (entry === null) return null;
  return entry.quarantineExpiresAt === null || now < entry.quarantineExpiresAt ? entry : null;
}

/** What a new entry makes of the one that a test has. */
export interface AddedQuarantine {
  outcome: "added" | "changed" | "unchanged";
  quarantine: Quarantine;
}

/**
 * The entry of a test that is quarantined. Where it is already, it keeps its date, author and type; reason, owner, end
 * and environment come from `entry` where it has them.
 */
export function addedQuarantine(active: Quarantine | null, entry: Quarantine): AddedQuarantine {
  if (active === null) return { outcome: "added", quarantine: entry };
  const quarantine = {
    ...active,
    quarantineReason: entry.quarantineReason ?? active.quarantineReason,
    quarantineOwner: entry.quarantineOwner ?? active.quarantineOwner,
    quarantineExpiresAt: entry.quarantineExpiresAt ?? active.quarantineExpiresAt,
    quarantineEnvironment: entry.quarantineEnvironment ?? active.quarantineEnvironment,
  };
  return { outcome: isDeepStrictEqual(quarantine, active) ? "unchanged" : "changed", quarantine };
}

/** A change of an entry, or its end. */
export interface QuarantineEvent
  extends TestIdentity, Pick<Quarantine, "quarantineType" | "quarantineExpiresAt"> {
  /** Seconds since 1970. */
  at: number;
  action: "added" | "changed" | "removed" | "ended";
  /** 24 hex digits. */
  testId: string;
  /** OWNER/NAME at that time. */
  repository: string;
  /** Who did it, or who ran the command; `""` for an end. */
  author: string;
  /** Reason of the entry, or of its removal. */
  quarantineReason: string | null;
  quarantineOwner: string | null;
  quarantineEnvironment: string | null;
}

/**
 * Adds the ends of entries to their stored changes. Ends are not stored: they follow from the
 * changes and the current time.
 *
 * @param changes oldest first
 * @param now seconds since 1970
 * @returns oldest first
 */
export function withEnds(changes: readonly QuarantineEvent[], now: number): QuarantineEvent[] {
  const events: QuarantineEvent[] = [];
  const open = new Map<string, QuarantineEvent>();
  const endUntil = (entry: QuarantineEvent | undefined, moment: number) => {
    const at = entry?.quarantineExpiresAt ?? null;
    if (at !== null && at <= moment) events.push({ ...entry!, at, action: "ended", author: "" });
  };
  for (const change of changes) {
    endUntil(open.get(change.testId), change.at);
    events.push(change);
    if (change.action === "removed") open.delete(change.testId);
    else open.set(change.testId, change);
  }
  for (const entry of open.values()) endUntil(entry, now);
  return events.sort((a, b) => a.at - b.at);
}

/** The end that a person gave an entry, 0 before it. The end of an automatic one is not a decision. */
export function endOfManualEntry(entry: Quarantine | undefined, now: number): number {
  if (entry?.quarantineType !== "manual" || activeQuarantine(entry, now) !== null) return 0;
  return entry.quarantineExpiresAt ?? 0;
}
