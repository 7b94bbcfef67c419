/** Permissions of the compiled program; `docs/reference/permissions.md` gives the reasons. */
import comment from "../lib/cli/gate_run/pull_comment.ts" with { type: "text" };
import split from "../lib/cli/commands/split.ts" with { type: "text" };
import target from "../lib/forge/target.ts" with { type: "text" };
import providers from "../lib/intake/ci/providers.ts" with { type: "text" };
import { NODE_SERVICES } from "../lib/split/ci_nodes.ts";
import { SETTINGS } from "../lib/base/config.ts";

/** Where temporary files and sockets go. */
const FOLDERS = ["TMPDIR", "TMP", "TEMP", "XDG_RUNTIME_DIR"];

/** The runtime reads the other variables of OpenTelemetry itself, headers with secrets included. */
const TELEMETRY = ["OTEL_DENO", "OTEL_DENO_CONSOLE", "OTEL_EXPORTER_OTLP_TIMEOUT"];

/** The proxy of uploads; the runtime reads it itself for everything else. */
const PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"]
  .flatMap((name) => [name, name.toLowerCase()]);

/** Environment variables that the compiled program can read; all others appear unset. */
export const VARIABLES: readonly string[] = [
  ...new Set([
    ...SETTINGS.map(({ name }) => name),
    ...FOLDERS,
    ...TELEMETRY,
    ...PROXIES,
    ...namesIn(comment),
    ...namesIn(split),
    ...namesIn(target),
    ...NODE_SERVICES.flatMap(({ presence, count, index }) => [presence, count, index]),
    // All names in the table of CI services.
    ...[...providers.matchAll(/["$]([A-Z][A-Z0-9_]*)\b(?! )/g)].map(([, name = ""]) => name),
  ]),
].sort();

/** The permissions, as flags of `deno compile` and `deno run`. */
export const PERMISSIONS: readonly string[] = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-run=git,sh",
  "--allow-sys=hostname,statfs,uid,userInfo",
  `--allow-env=${VARIABLES.join(",")}`,
  // Reading another variable returns nothing instead of failing.
  "--ignore-env",
  "--deny-import",
];

/** Variables that a source reads by name, and those of its lists of names. */
function namesIn(source: string): string[] {
  const names = source.matchAll(/(?:\benvironment\.|")([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b/g);
  return [...names].map(([, name = ""]) => name);
}
