/** Formats numbers and times for pages. Times are UTC. */
import { formatTimestamp, SECONDS_PER_DAY } from "../base/time.ts";
import { type Markup, markup } from "./markup.ts";

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Seconds since 1970 as days since 1970. */
export function dayOf(seconds: number): number {
  return Math.floor(seconds / SECONDS_PER_DAY);
}

/** Formats days since 1970: `2026-11-22`. */
export function isoDay(day: number): string {
  return formatTimestamp(day * SECONDS_PER_DAY).slice(0, 10);
}

/** Formats days since 1970: `22 Nov`. */
export function formatDay(day: number): string {
  const [, month, dayOfMonth] = isoDay(day).split("-");
  return `${Number(dayOfMonth)} ${MONTHS[Number(month) - 1]}`;
}

/** `today 09:14`, `yesterday 16:20`, `8 Nov 11:00` or, long ago, `8 Nov 2025`. */
export function formatTime(seconds: number, today: number): Markup {
  const full = formatTimestamp(seconds);
  const day = dayOf(seconds);
  const name = day === today ? "today" : day === today - 1 ? "yesterday" : formatDay(day);
  const text = Math.abs(today - day) > 300
    ? `${name} ${full.slice(0, 4)}`
    : `${name} ${full.slice(11, 16)}`;
  return markup`<time datetime="${full}" title="${
    full.replace("T", " ").replace("Z", " UTC")
  }">${text}</time>`;
}

/** `212 ms`, `1.3 s`, `4 min`. */
export function formatDuration(microseconds: number): string {
  const ms = microseconds / 1000;
  if (ms < 1) return "under 1 ms";
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  return ms < 100_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

/** The first 10 digits of a commit. */
export function shortOid(oid: string): string {
  return /^[0-9a-f]{12,}$/i.test(oid) ? oid.slice(0, 10) : oid;
}

/** A commit by its first digits. */
export function commit(oid: string): Markup {
  return markup`<span class="oid">${shortOid(oid)}</span>`;
}
