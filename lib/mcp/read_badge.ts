/** Reads the percentage out of a badge, as clients of the earlier service do. */
import * as v from "valibot";
import type { BadgeColor } from "../badge/mod.ts";
import { unexpectedAnswer } from "./api_client.ts";

/** Schema of the name of a colour; `unknown` when there is no percentage. */
export const badgeColor = v.picklist(
  ["green", "light_green", "yellow", "red", "unknown"] satisfies BadgeColor[],
);

/** The content of a badge; `null` means no data. */
export interface BadgeReading {
  /** 0 to 100, in steps of a tenth. */
  percentage: number | null;
  color: BadgeColor;
}

/** The kind of a badge. */
export type BadgeKind = "flakiness" | "coverage";

/**
 * The percentage in an SVG badge, and its colour by the documented thresholds.
 *
 * @param where the base address, for the error
 * @throws {ToolError} when the text is not a badge
 */
export function readBadge(svg: string, kind: BadgeKind, where: string): BadgeReading {
  if (!svg.includes("<svg")) throw unexpectedAnswer(where, `the ${kind} badge is no SVG`);
  const digits = />(\d+(?:\.\d+)?)%</.exec(svg)?.[1];
  if (digits === undefined) return { percentage: null, color: "unknown" };
  const percentage = Number(digits);
  return { percentage, color: COLORS[kind](percentage) };
}

const COLORS: Readonly<Record<BadgeKind, (percentage: number) => BadgeColor>> = {
  flakiness: (percentage) => percentage === 0 ? "green" : percentage <= 20 ? "yellow" : "red",
  coverage: (percentage) =>
    percentage === 100
      ? "green"
      : percentage >= 90
      ? "light_green"
      : percentage >= 70
      ? "yellow"
      : "red",
};
