export interface Quarantine {
  /** Seconds since 1970. */
  quarantinedAt: number;
  quarantinedBy: string | null;
  quarantineType: "manual" | "automatic";
  quarantineReason: string | null;
  quarantineOwner: string | null;
  /** The first second after the quarantine; `null` without an end. */
  quarantineExpiresAt: number | null;
}

/** The entry unless it has ended at `now`, in seconds since 1970. SQL: `isActive`. */
export function activeQuarantine(entry: Quarantine | null, now: number): Quarantine | null {
  if (entry === null) return null;
  return entry.quarantineExpiresAt === null || now < entry.quarantineExpiresAt ? entry : null;
}
