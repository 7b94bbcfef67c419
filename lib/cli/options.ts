import * as v from "valibot";
import type { Flag } from "./command.ts";

/** `--org`, required. */
export const ORG: Flag = {
  flags: "--org <name>",
  meaning: "name of the organization",
  required: true,
};

/** `--repo`, required. */
export const REPO: Flag = {
  flags: "--repo <owner/name>",
  meaning: "repository",
  required: true,
};

/** `--yes`, for commands that delete data. */
export const YES: Flag = {
  flags: "--yes",
  meaning: "confirm the deletion, which cannot be undone (required)",
};

/** Checks that `--yes` was given. */
export const confirmation = v.pipe(
  v.optional(v.boolean(), false),
  v.check((given) => given, "missing: the deletion cannot be undone"),
);
