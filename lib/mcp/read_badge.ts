/** Reads the percentage out of a badge, as clients of the earlier service do. */
import * as v from "valibot";
import { type BadgeColor, coverageColor, flakinessColor } from "../badge/mod.ts";
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

const COLORS = { flakiness: flakinessColor, coverage: coverageColor };

/** The kind of a badge. */
export type BadgeKind = keyof typeof COLORS;

/**
 * The percentage in an SVG badge, and its colour.
 *
 * @param baseUrl of the service, for the error
 * @throws {ToolError} when the text is not a badge
 */
export function readBadge(svg: string, kind: BadgeKind, baseUrl: string): BadgeReading {
  if (!svg.includes("<svg")) throw unexpectedAnswer(baseUrl, `the ${kind} badge is not SVG`);
  const digits = />(\d+(?:\.\d+)?)%</.exec(svg)?.[1];
  if (digits === undefined) return { percentage: null, color: "unknown" };
  const percentage = Number(digits);
  return { percentage, color: COLORS[kind](Math.round(percentage * 10)) };
}
