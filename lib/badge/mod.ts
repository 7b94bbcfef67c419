/** SVG badges for flakiness and coverage. */
export {
  type Badge,
  BADGE_FILLS,
  type BadgeColor,
  coverageBadge,
  coverageColor,
  flakinessBadge,
  flakinessColor,
} from "./badge.ts";
