import * as v from "valibot";
import type { Flag } from "./command.ts";

/** The organization that a command is about. */
export const ORG: Flag = {
  flags: "--org <name>",
  meaning: "name of the organization",
  required: true,
};

/** The repository that a command is about. */
export const REPO: Flag = {
  flags: "--repo <owner/name>",
  meaning: "repository of the organization",
  required: true,
};

/** What a command that deletes for good asks for. */
export const YES: Flag = {
  flags: "--yes",
  meaning: "confirms that it is meant: nothing brings it back",
};

/** Checks that `--yes` was given. */
export const confirmation = v.pipe(
  v.optional(v.boolean(), false),
  v.check((given) => given, "missing: what is deleted cannot be brought back"),
);
