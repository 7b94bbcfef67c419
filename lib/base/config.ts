/** The environment variables. Options win over them; an empty value counts as unset, of both. */

type Row = readonly [standard: string, meaning: string, value?: string];

/** Default, meaning, and the value of the option where there is one (`""`: an option without value). */
const TABLE = {
  DATABASE_URL: ["", "PostgreSQL server (15 or later); unset: the embedded database", "<url>"],
  DATABASE_URL_FILE: ["", "file that DATABASE_URL is read from"],
  DATA_DIR: ["./data", "folder of the embedded database", "<folder>"],
  HOST: ["127.0.0.1", "serve, up, receive, demo, healthcheck: address of the service", "<address>"],
  PORT: ["8000", "serve, up, demo, healthcheck: port of the service; 0: any free one", "<n>"],
  UPLOAD_PORT: ["8001", "up, receive: port for uploads; 0: any free one", "<n>"],
  ORGANIZATION_HEADER: ["", "serve, up: header by which trusted proxies sign readers in", "<name>"],
  TRUSTED_PROXIES: ["", "services: addresses or networks of trusted reverse proxies", "<list>"],
  OPS_HOST: ["127.0.0.1", "services: address for readiness and metrics", "<address>"],
  OPS_PORT: ["", "services: port for readiness and metrics, without a token", "<n>"],
  LOG_LEVEL: ["info", "services: minimum level: info, warn or error", "<level>"],
  LOG_FORMAT: ["auto", "services: human, json, or auto: human on a terminal", "<format>"],
  DATABASE_WAIT_SECONDS: ["60", "services: how long to wait for a database at startup", "<n>"],
  DATABASE_POOL_SIZE: ["4", "serve, up: size of the connection pool of a PostgreSQL server", "<n>"],
  STATEMENT_TIMEOUT_MS: ["10000", "serve, up: the server cancels longer statements", "<n>"],
  REQUEST_TIMEOUT_MS: ["30000", "serve, up: a request that takes longer gets 500", "<n>"],
  MAX_UPLOAD_MB: ["2048", "up, receive: an upload of more MiB gets 413", "<n>"],
  MAX_RUNNING_UPLOADS: ["200", "up, receive: concurrent uploads; more are refused with 503", "<n>"],
  MAX_ORGANIZATION_UPLOADS: [
    "150",
    "up, receive: concurrent uploads of an organization; more are refused with 429",
    "<n>",
  ],
  MAX_ORGANIZATION_UPLOAD_MB: [
    "8192",
    "up, receive: MiB of the concurrent uploads of an organization; more are refused with 429",
    "<n>",
  ],
  MAX_TOKEN_UPLOADS: [
    "100",
    "up, receive: concurrent uploads of a token; more are refused with 429",
    "<n>",
  ],
  MAX_TOKEN_UPLOAD_MB: [
    "4096",
    "up, receive: MiB of the concurrent uploads of a token; more are refused with 429",
    "<n>",
  ],
  UPLOAD_IDLE_SECONDS: ["60", "up, receive: an upload that pauses longer gets 408", "<n>"],
  UPLOAD_TIMEOUT_SECONDS: ["3600", "up, receive: an upload that takes longer gets 408", "<n>"],
  CACHE_SIZE_MB: ["80", "serve, up: approximate memory of caches of responses and tests", "<n>"],
  AWS_ACCESS_KEY_ID: ["", "storage: access key for S3-compatible storage"],
  AWS_SECRET_ACCESS_KEY: ["", "storage: secret key for S3-compatible storage"],
  AWS_SESSION_TOKEN: ["", "storage: session token of temporary credentials"],
  AWS_REGION: ["us-east-1", "storage: region of the bucket"],
  AWS_DEFAULT_REGION: ["", "used if AWS_REGION is unset"],
  AWS_ENDPOINT_URL_S3: ["", "storage: URL of S3-compatible storage; unset: Amazon's"],
  AWS_ENDPOINT_URL: ["", "used if AWS_ENDPOINT_URL_S3 is unset"],
  UPLOAD_TOKEN: ["", "upload: upload token, for an address of `up` or `receive`"],
  UPLOAD_TOKEN_FILE: ["", "upload: file that UPLOAD_TOKEN is read from"],
  PLATFORM_API_TOKEN: ["", "mcp, gate: API token"],
  PLATFORM_API_TOKEN_FILE: ["", "mcp, gate: file that PLATFORM_API_TOKEN is read from"],
  PLATFORM_API_URL: ["http://127.0.0.1:8000", "mcp, gate: base URL of the service"],
  GITHUB_STEP_SUMMARY: ["", "gate: file that the outcome is appended to as Markdown"],
  TEST_ANALYTICS_DEBUG: ["", "if set: show the stack of unexpected errors"],
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
