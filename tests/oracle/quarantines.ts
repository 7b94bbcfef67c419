/** Quarantine entries and their log as plain lists. */
import type { TestIdentity } from "../../lib/base/identity.ts";
import { type KnownTest, repositoryAt, type State } from "./model.ts";

/** An entry, ended or not. */
export interface PlainQuarantine {
  repository: number;
  testId: string;
  at: number;
  by: string | null;
  type: "manual" | "automatic";
  reason: string | null;
  owner: string | null;
  /** The first second at which the test is not quarantined any more; `null` for none. */
  expiresAt: number | null;
}

/** What the log says of one change or end. */
export interface LoggedEvent extends TestIdentity {
  at: number;
  action: "added" | "changed" | "removed" | "ended";
  testId: string;
  /** Owner and name at that time. */
  repository: string;
  /** `null` without `--by`. */
  by: string | null;
  type: "manual" | "automatic";
  reason: string | null;
  owner: string | null;
  expiresAt: number | null;
}

/** Whether an entry has not ended. */
export function isActive({ expiresAt }: PlainQuarantine, now: number): boolean {
  return expiresAt === null || now < expiresAt;
}

/** Adds an entry, or changes what is given of one that has not ended. */
export function addQuarantine(
  state: State,
  entry: PlainQuarantine,
): "added" | "changed" | "unchanged" {
  const present = state.quarantines.find(({ testId }) => testId === entry.testId);
  if (!present || !isActive(present, entry.at)) {
    state.quarantines = state.quarantines.filter((other) => other !== present);
    // A copy: it is changed in place.
    state.quarantines.push({ ...entry });
    record(state, { ...entry, action: "added" });
    return "added";
  }
  const { reason, owner, expiresAt } = present;
  present.reason = entry.reason ?? reason;
  present.owner = entry.owner ?? owner;
  present.expiresAt = entry.expiresAt ?? expiresAt;
  const isChanged = present.reason !== reason || present.owner !== owner ||
    present.expiresAt !== expiresAt;
  if (!isChanged) return "unchanged";
  record(state, { ...present, at: entry.at, by: entry.by, action: "changed" });
  return "changed";
}

/** Removes an entry; false when there is none that has not ended. */
export function removeQuarantine(
  state: State,
  testId: string,
  at: number,
  { by = null, reason = null }: { by?: string | null; reason?: string | null } = {},
): boolean {
  const present = state.quarantines.find((entry) => entry.testId === testId);
  if (!present || !isActive(present, at)) return false;
  state.quarantines = state.quarantines.filter((other) => other !== present);
  record(state, { ...present, at, by, reason, action: "removed" });
  return true;
}

/** Removes the entries of a repository before its deletion. */
export function releaseRepository(state: State, repository: number, at: number): void {
  for (const entry of state.quarantines) {
    if (entry.repository === repository) removeQuarantine(state, entry.testId, at);
  }
}

function record(
  state: State,
  { repository, testId, ...change }: PlainQuarantine & { action: LoggedEvent["action"] },
): void {
  const test = state.tests.find(({ id }) => id === testId);
  const { suite, class: className, name, file } = test as KnownTest;
  const { owner, name: repositoryName } = repositoryAt(state, repository);
  const identity = { suite, class: className, name, file };
  const repositoryOfThen = `${owner}/${repositoryName}`;
  state.quarantineLog.push({ ...change, ...identity, testId, repository: repositoryOfThen });
}

/** The changes, and the ends that no later change of the same test came before. */
export function logWithEnds(changes: readonly LoggedEvent[], now: number): LoggedEvent[] {
  const ends = changes.flatMap((change, index): LoggedEvent[] => {
    const { testId, expiresAt } = change;
    if (change.action === "removed" || expiresAt === null) return [];
    const next = changes.slice(index + 1).find((other) => other.testId === testId);
    const until = next ? next.at : now;
    return expiresAt <= until ? [{ ...change, at: expiresAt, action: "ended", by: "" }] : [];
  });
  return [...changes, ...ends];
}
