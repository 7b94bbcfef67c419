/** What the compiled program may do: `docs/reference/permissions.md` says why. */
import providers from "../lib/cli/intake/ci/providers.ts" with { type: "text" };
import { SETTINGS } from "../lib/base/config.ts";

/**
 * Environment variables that are read besides the settings: where temporary files and the sockets of
 * long paths go.
 */
const SURROUNDINGS = ["TMPDIR", "TMP", "TEMP", "XDG_RUNTIME_DIR"];

/** Environment variables that the compiled program sees; all others are as if unset. */
export const VARIABLES: readonly string[] = [
  ...new Set([
    ...SETTINGS.map(({ name }) => name),
    ...SURROUNDINGS,
    // What CI jobs are recognized by, and what they tell of themselves.
    ...[...providers.matchAll(/\bget\("(\w+)"\)/g)].map(([, name = ""]) => name),
  ]),
].sort();

/** The permissions, as flags of `deno compile` and `deno run`. */
export const PERMISSIONS: readonly string[] = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-run=git",
  "--allow-sys=statfs",
  `--allow-env=${VARIABLES.join(",")}`,
  // Else a library that looks for a variable of its own would end the program.
  "--ignore-env",
  "--deny-import",
];
