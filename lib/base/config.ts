/**
 * The settings that the environment gives, in one table. An empty value is as if unset, and a flag
 * of the command line wins over both.
 */

/** One environment variable: its name, what holds without it, and what it means. */
export interface Setting {
  name: string;
  default: string;
  meaning: string;
  /** The option that wins over the variable, where its command takes one. */
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
    meaning: "serve: whether it shares its port with others that do so too; Linux only",
    flag: "--reuse-port",
  },
  {
    name: "LOG_LEVEL",
    default: "info",
    meaning: "serve: least urgent events that are logged: debug, info, warn or error",
    flag: "--log-level <level>",
  },
  {
    name: "LOG_FORMAT",
    default: "auto",
    meaning: "serve: human, json, or auto: human on a terminal, else json",
    flag: "--log-format <format>",
  },
  {
    name: "DATABASE_WAIT_SECONDS",
    default: "60",
    meaning: "serve, watch: how long a server that is away at the start is waited for",
    flag: "--database-wait-seconds <n>",
  },
  {
    name: "DATABASE_POOL_SIZE",
    default: "4",
    meaning: "serve: connections to a PostgreSQL server",
    flag: "--database-pool-size <n>",
  },
  {
    name: "STATEMENT_TIMEOUT_MS",
    default: "10000",
    meaning: "serve: a PostgreSQL server ends statements that take longer",
    flag: "--statement-timeout-ms <n>",
  },
  {
    name: "REQUEST_TIMEOUT_MS",
    default: "30000",
    meaning: "serve: a request that takes longer is answered with 500",
    flag: "--request-timeout-ms <n>",
  },
  {
    name: "MAX_RUNNING_REQUESTS",
    default: "1000",
    meaning: "serve: requests answered at the same time; one more is a 500 at once",
    flag: "--max-running-requests <n>",
  },
  {
    name: "CACHE_SIZE_MB",
    default: "80",
    meaning: "serve: about how much memory is used to keep answers and lists",
    flag: "--cache-size-mb <n>",
  },
  {
    name: "AWS_ACCESS_KEY_ID",
    default: "",
    meaning: "upload, watch: who asks S3-compatible storage",
  },
  {
    name: "AWS_SECRET_ACCESS_KEY",
    default: "",
    meaning: "upload, watch: what requests are signed with",
  },
  {
    name: "AWS_SESSION_TOKEN",
    default: "",
    meaning: "upload, watch: belongs to temporary credentials",
  },
  { name: "AWS_REGION", default: "us-east-1", meaning: "upload, watch: region of the bucket" },
  { name: "AWS_DEFAULT_REGION", default: "", meaning: "as AWS_REGION, which wins" },
  {
    name: "AWS_ENDPOINT_URL_S3",
    default: "",
    meaning: "upload, watch: address of S3-compatible storage; unset: Amazon's",
  },
  { name: "AWS_ENDPOINT_URL", default: "", meaning: "as AWS_ENDPOINT_URL_S3, which wins" },
  { name: "PLATFORM_API_TOKEN", default: "", meaning: "mcp: the token to ask with" },
  {
    name: "PLATFORM_API_TOKEN_FILE",
    default: "",
    meaning: "mcp: file that PLATFORM_API_TOKEN is read from",
  },
  {
    name: "PLATFORM_API_URL",
    default: "http://127.0.0.1:8000",
    meaning: "mcp: the service to ask",
  },
  {
    name: "TEST_ANALYTICS_DEBUG",
    default: "",
    meaning: "set to anything: show the stack of an unexpected error",
  },
] as const satisfies Setting[];

/** Name of an environment variable that the program reads. */
export type SettingName = typeof SETTINGS[number]["name"];

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The value of a setting: the environment's, else its default. */
export function setting(environment: Environment, name: SettingName): string {
  return environment[name] || describeSetting(name).default;
}

/** The row of a setting. */
export function describeSetting(name: SettingName): Setting {
  return SETTINGS.find((entry) => entry.name === name)!;
}

/** What a setting means to a command that has it, without the names of those that do. */
export function meaningHere({ meaning }: Setting): string {
  return meaning.replace(/^[a-z, ]+: /, "");
}
