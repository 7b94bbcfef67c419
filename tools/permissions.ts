/** Flags of the program that is released: permissions, whose reasons are in `docs/reference/permissions.md`, and memory. */
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
  "CI",
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

/**
 * The runtime of a release keeps new objects in at most 4 MB instead of 16: on a virtual machine memory that is touched for
 * the first time costs more than to collect garbage more often. docs/decisions/machinery.md has the figures.
 */
export const V8_FLAGS = "--v8-flags=--max-semi-space-size=4";
