/** Permissions of the compiled program; `docs/reference/permissions.md` gives the reasons. */
import { CI_NAMES } from "../lib/ci/variables.ts";
import { SETTINGS } from "../lib/base/config.ts";

/** Where temporary files and sockets go. */
const FOLDERS = ["TMPDIR", "TMP", "TEMP", "XDG_RUNTIME_DIR"];

/** The runtime reads the other variables of OpenTelemetry itself, headers with secrets included. */
const TELEMETRY = ["OTEL_DENO", "OTEL_DENO_CONSOLE", "OTEL_EXPORTER_OTLP_TIMEOUT"];

/** The proxy of uploads; the runtime reads it itself for everything else. */
const PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"]
  .flatMap((name) => [name, name.toLowerCase()]);

/** What `comment`, `gate --comment` and `split` know of a CI job beyond the table of CI services. */
const CI_JOB = [
  "BUILD_REPOSITORY_PROVIDER",
  "CI_PROJECT_ID",
  "CI_PIPELINE_ID",
  "CI_JOB_ID",
  "CI_COMMIT_TIMESTAMP",
  "GITHUB_EVENT_PATH",
  "GITHUB_WORKFLOW",
  "RUNNER_NAME",
];

/** Environment variables that the compiled program can read; all others appear unset. */
export const VARIABLES: readonly string[] = [
  ...new Set([
    ...SETTINGS.map(({ name }) => name),
    ...FOLDERS,
    ...TELEMETRY,
    ...PROXIES,
    ...CI_JOB,
    // All names in the table of CI services.
    ...CI_NAMES,
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
