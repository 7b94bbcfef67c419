/** The environment variables. Options win over them; an empty variable counts as unset. */

/** An environment variable, its default, and its meaning. */
export interface Setting {
  name: string;
  default: string;
  meaning: string;
  /** The option that overrides the variable. */
  flag?: string;
}

/** Every environment variable that the program reads. `--help` and the reference show this table. */
export const SETTINGS = [
  {
    name: "DATABASE_URL",
    default: "",
    meaning: "PostgreSQL server (15 or later), postgres://...; unset: the embedded database",
    flag: "--database-url <url>",
  },
  { name: "DATABASE_URL_FILE", default: "", meaning: "file that DATABASE_URL is read from" },
  {
    name: "DATA_DIR",
    default: "./data",
    meaning: "folder of the embedded database",
    flag: "--data-dir <folder>",
  },
  {
    name: "HOST",
    default: "127.0.0.1",
    meaning: "serve, demo, healthcheck: address of the service",
    flag: "--host <address>",
  },
  {
    name: "PORT",
    default: "8000",
    meaning: "serve, demo, healthcheck: port of the service; 0: any free one",
    flag: "--port <n>",
  },
  {
    name: "REUSE_PORT",
    default: "false",
    meaning: "serve: share the port with other processes that set this too; Linux only",
    flag: "--reuse-port",
  },
  {
    name: "TRUSTED_PROXIES",
    default: "",
    meaning: "serve: addresses or networks of proxies whose X-Forwarded-For is believed",
    flag: "--trusted-proxies <list>",
  },
  {
    name: "OPS_HOST",
    default: "127.0.0.1",
    meaning: "serve, watch: address for readiness and metrics",
    flag: "--ops-host <address>",
  },
  {
    name: "OPS_PORT",
    default: "",
    meaning: "serve, watch: port for readiness and metrics, without a token; unset: none",
    flag: "--ops-port <n>",
  },
  {
    name: "LOG_LEVEL",
    default: "info",
    meaning: "serve, watch: minimum level of log lines: debug, info, warn or error",
    flag: "--log-level <level>",
  },
  {
    name: "LOG_FORMAT",
    default: "auto",
    meaning: "serve, watch: human, json, or auto: human on a terminal, else json",
    flag: "--log-format <format>",
  },
  {
    name: "DATABASE_WAIT_SECONDS",
    default: "60",
    meaning: "serve, watch: how long to wait for an unavailable database at startup",
    flag: "--database-wait-seconds <n>",
  },
  {
    name: "DATABASE_POOL_SIZE",
    default: "4",
    meaning: "serve: size of the connection pool of a PostgreSQL server",
    flag: "--database-pool-size <n>",
  },
  {
    name: "STATEMENT_TIMEOUT_MS",
    default: "10000",
    meaning: "serve: a PostgreSQL server cancels statements that take longer",
    flag: "--statement-timeout-ms <n>",
  },
  {
    name: "REQUEST_TIMEOUT_MS",
    default: "30000",
    meaning: "serve: a request that takes longer gets 500",
    flag: "--request-timeout-ms <n>",
  },
  {
    name: "MAX_RUNNING_REQUESTS",
    default: "1000",
    meaning: "serve: limit of concurrent requests; further ones get 500 at once",
    flag: "--max-running-requests <n>",
  },
  {
    name: "CACHE_SIZE_MB",
    default: "80",
    meaning: "serve: approximate memory of the caches of responses and tests",
    flag: "--cache-size-mb <n>",
  },
  {
    name: "AWS_ACCESS_KEY_ID",
    default: "",
    meaning: "upload, watch: access key for S3-compatible storage",
  },
  {
    name: "AWS_SECRET_ACCESS_KEY",
    default: "",
    meaning: "upload, watch: secret key for S3-compatible storage",
  },
  {
    name: "AWS_SESSION_TOKEN",
    default: "",
    meaning: "upload, watch: session token of temporary credentials",
  },
  { name: "AWS_REGION", default: "us-east-1", meaning: "upload, watch: region of the bucket" },
  { name: "AWS_DEFAULT_REGION", default: "", meaning: "used if AWS_REGION is unset" },
  {
    name: "AWS_ENDPOINT_URL_S3",
    default: "",
    meaning: "upload, watch: URL of S3-compatible storage; unset: Amazon's",
  },
  { name: "AWS_ENDPOINT_URL", default: "", meaning: "used if AWS_ENDPOINT_URL_S3 is unset" },
  { name: "PLATFORM_API_TOKEN", default: "", meaning: "mcp: API token" },
  {
    name: "PLATFORM_API_TOKEN_FILE",
    default: "",
    meaning: "mcp: file that PLATFORM_API_TOKEN is read from",
  },
  {
    name: "PLATFORM_API_URL",
    default: "http://127.0.0.1:8000",
    meaning: "mcp: base URL of the service",
  },
  {
    name: "TEST_ANALYTICS_DEBUG",
    default: "",
    meaning: "if set: show the stack of unexpected errors",
  },
] as const satisfies Setting[];

/** Name of an environment variable that the program reads. */
export type SettingName = typeof SETTINGS[number]["name"];

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The value of a setting, or its default. */
export function setting(environment: Environment, name: SettingName): string {
  return environment[name] || describeSetting(name).default;
}

/** The row of a setting. */
export function describeSetting(name: SettingName): Setting {
  return SETTINGS.find((entry) => entry.name === name)!;
}

/** The meaning of a setting without the names of the commands that use it. */
export function meaningHere({ meaning }: Setting): string {
  return meaning.replace(/^[a-z, ]+: /, "");
}
