/** SVG badges for flakiness and coverage. */
export {
  type Badge,
  BADGE_FILLS,
  type BadgeColor,
  coverageBadge,
  flakinessBadge,
} from "./badge.ts";
