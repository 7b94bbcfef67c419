/** Formats numbers and times for pages. Times are UTC. */
import { formatTimestamp, SECONDS_PER_DAY } from "../base/time.ts";
import { type Markup, markup } from "./markup.ts";

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

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
  const day = Math.floor(seconds / SECONDS_PER_DAY);
  const name = day === today ? "today" : day === today - 1 ? "yesterday" : formatDay(day);
  const detail = Math.abs(today - day) > 300 ? full.slice(0, 4) : full.slice(11, 16);
  const utc = full.replace("T", " ").replace("Z", " UTC");
  return markup`<time datetime="${full}" title="${utc}">${name} ${detail}</time>`;
}

/** The first 10 digits of a commit. */
export function shortOid(oid: string): string {
  return /^[0-9a-f]{12,}$/i.test(oid) ? oid.slice(0, 10) : oid;
}
