// Tests: tests/lib/api_client/api_settings_test.ts tests/lib/ci/services_test.ts
/** The environment variables. Options take precedence; an empty value counts as unset. */

type Row = readonly [standard: string, meaning: string, value?: string];

/** Default, meaning, and the value of the option where there is one (`""`: an option without value). */
const TABLE = {
  DATABASE_URL: [
    "",
    "PostgreSQL server (15 or later); if unset, the embedded database is used",
    "<url>",
  ],
  DATABASE_URL_FILE: ["", "file that contains DATABASE_URL"],
  DATA_DIR: ["./data", "folder of the embedded database", "<folder>"],
  HOST: [
    "127.0.0.1",
    "serve, up, receive, demo, healthcheck: address the service listens on",
    "<address>",
  ],
  PORT: [
    "8000",
    "serve, up, demo, healthcheck: port the service listens on (0: any free port)",
    "<n>",
  ],
  UPLOAD_PORT: ["8001", "up, receive: port to listen on for uploads (0: any free port)", "<n>"],
  ORGANIZATION_HEADER: [
    "",
    "serve, up: header in which a trusted proxy passes the organization",
    "<name>",
  ],
  USER_HEADER: [
    "",
    "serve, up: header in which a trusted proxy passes the name of the person, for the log",
    "<name>",
  ],
  TRUSTED_PROXIES: ["", "services: addresses or networks of trusted reverse proxies", "<list>"],
  OPS_HOST: ["127.0.0.1", "services: address for readiness and metrics", "<address>"],
  OPS_PORT: ["", "services: port for readiness and metrics (no token required)", "<n>"],
  LOG_LEVEL: ["info", "services: minimum log level: info, warn or error", "<level>"],
  LOG_FORMAT: [
    "auto",
    "services: human, json, or auto (human on a terminal, otherwise json)",
    "<format>",
  ],
  DATABASE_WAIT_SECONDS: ["60", "services: seconds to wait for the database at startup", "<n>"],
  DATABASE_POOL_SIZE: [
    "4",
    "serve, up: size of the connection pool (PostgreSQL server only)",
    "<n>",
  ],
  STATEMENT_TIMEOUT_MS: [
    "10000",
    "serve, up: statement timeout in milliseconds (PostgreSQL server only)",
    "<n>",
  ],
  REQUEST_TIMEOUT_MS: [
    "30000",
    "serve, up: request timeout in milliseconds (embedded database: at most 10000)",
    "<n>",
  ],
  MAX_UPLOAD_MB: ["2048", "up, receive: maximum upload size in MiB", "<n>"],
  MAX_RUNNING_UPLOADS: [
    "200",
    "up, receive: maximum concurrent uploads; more are refused with 503",
    "<n>",
  ],
  MAX_ORGANIZATION_UPLOADS: [
    "150",
    "up, receive: maximum concurrent uploads per organization; more are refused with 429",
    "<n>",
  ],
  MAX_ORGANIZATION_UPLOAD_MB: [
    "8192",
    "up, receive: maximum MiB of concurrent uploads per organization; more are refused with 429",
    "<n>",
  ],
  MAX_TOKEN_UPLOADS: [
    "100",
    "up, receive: maximum concurrent uploads per token; more are refused with 429",
    "<n>",
  ],
  MAX_TOKEN_UPLOAD_MB: [
    "4096",
    "up, receive: maximum MiB of concurrent uploads per token; more are refused with 429",
    "<n>",
  ],
  UPLOAD_IDLE_SECONDS: ["60", "up, receive: idle timeout of an upload in seconds", "<n>"],
  UPLOAD_TIMEOUT_SECONDS: ["3600", "up, receive: timeout of an upload in seconds", "<n>"],
  FAILED_UPLOAD_DAYS: ["7", "up: days to keep failed archives in the inbox", "<n>"],
  FAILED_UPLOAD_MB: [
    "1024",
    "up: maximum total size of failed archives in MiB (the oldest are deleted)",
    "<n>",
  ],
  CACHE_SIZE_MB: ["80", "serve, up: approximate size of the caches in MiB", "<n>"],
  TIME_ZONE: [
    "UTC",
    "serve, up, demo, digest, comment, gate: time zone of pages, digests and comments, such as Europe/Berlin",
    "<name>",
  ],
  AWS_ACCESS_KEY_ID: ["", "storage: access key for S3-compatible storage"],
  AWS_SECRET_ACCESS_KEY: ["", "storage: secret key for S3-compatible storage"],
  AWS_SESSION_TOKEN: ["", "storage: session token of temporary credentials"],
  AWS_REGION: ["us-east-1", "storage: region of the bucket"],
  AWS_DEFAULT_REGION: ["", "used if AWS_REGION is unset"],
  AWS_ENDPOINT_URL_S3: ["", "storage: endpoint of S3-compatible storage; if unset, Amazon S3"],
  AWS_ENDPOINT_URL: ["", "used if AWS_ENDPOINT_URL_S3 is unset"],
  UPLOAD_TOKEN: ["", "upload: upload token for `up` or `receive`"],
  UPLOAD_TOKEN_FILE: ["", "upload: file that contains UPLOAD_TOKEN"],
  PLATFORM_API_TOKEN: ["", "mcp, gate, split, comment: API token"],
  PLATFORM_API_TOKEN_FILE: ["", "mcp, gate, split, comment: file that contains PLATFORM_API_TOKEN"],
  PLATFORM_API_URL: ["http://127.0.0.1:8000", "mcp, gate, split, comment: base URL of the service"],
  PUBLIC_URL: [
    "",
    "serve, up, watch, mcp, gate, comment, digest: base URL of links to pages (default: the URL called; digest: no links)",
  ],
  PUBLIC_UPLOAD_URL: [
    "",
    "serve, up, receive: base URL for uploads, in the commands that pages show, and the audience of identity tokens",
  ],
  UPLOAD_URL: ["", "used if PUBLIC_UPLOAD_URL is unset"],
  OIDC_ISSUER: ["", "serve, up: provider of OpenID Connect with which people sign in to the pages"],
  OIDC_CLIENT_ID: ["", "serve, up: id of this service at OIDC_ISSUER"],
  OIDC_CLIENT_SECRET: [
    "",
    "serve, up, doctor: secret of this service at OIDC_ISSUER, at least 32 random characters",
  ],
  OIDC_CLIENT_SECRET_FILE: ["", "serve, up, doctor: file that contains OIDC_CLIENT_SECRET"],
  OIDC_ORGANIZATION: ["", "serve, up: organization of all who may sign in"],
  OIDC_ORGANIZATION_CLAIM: ["", "serve, up: claim that has the organization of a person instead"],
  OIDC_EDITORS: [
    "",
    "up: groups whose members may quarantine tests and make API tokens on the pages, separated by commas",
  ],
  OIDC_GROUPS_CLAIM: ["groups", "serve, up: claim that has the groups of a person"],
  GITHUB_STEP_SUMMARY: [
    "",
    "gate, comment: file to which the outcome is appended as Markdown",
  ],
  GITHUB_TOKEN: ["", "gate, comment: token that may comment on pull requests"],
  GITHUB_API_URL: [
    "https://api.github.com",
    "gate, comment: base URL of the API of GitHub, Gitea or Forgejo",
  ],
  GITLAB_TOKEN: ["", "gate, comment: token with the scope api"],
  CI_API_V4_URL: [
    "https://gitlab.com/api/v4",
    "gate, comment: base URL of the API of GitLab",
  ],
  TEST_ANALYTICS_DEBUG: ["", "if set, print the stack trace of unexpected errors"],
} as const satisfies Record<string, Row>;

/** Name of an environment variable that the program reads. */
export type SettingName = keyof typeof TABLE;

/** Every environment variable that the program reads. `--help` and the reference show this table. */
export const SETTINGS = Object.entries<Row>(TABLE).map(([name, [standard, meaning, value]]) => ({
  name: name as SettingName,
  default: standard,
  meaning,
  /** The option that overrides the variable, such as `--port <n>`. */
  flag: value === undefined ? undefined : `--${kebabCase(name)} ${value}`.trimEnd(),
}));

export type Setting = typeof SETTINGS[number];

export type Environment = Readonly<Record<string, string | undefined>>;

/** The value of a setting, or its default. */
export function setting(environment: Environment, name: SettingName): string {
  return environment[name] || TABLE[name][0];
}

/** The setting of this name, with its default and meaning. */
export function describeSetting(name: SettingName): Setting {
  return SETTINGS.find((entry) => entry.name === name)!;
}

/** The meaning of a setting without the names of the commands that use it. */
export function meaningWithoutCommands({ meaning }: Setting): string {
  return meaning.replace(/^[a-z, ]+: /, "");
}

/** `LOG_LEVEL` or `logLevel` as `log-level`. */
export function kebabCase(name: string): string {
  return name.replaceAll(/_|(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase();
}
