/**
 * The settings that the environment gives, in one table. An empty value is as if unset, and a flag
 * of the command line wins over both.
 */

/** One environment variable: its name, what holds without it, and what it means. */
export interface Setting {
  name: string;
  default: string;
  meaning: string;
}

/** Every environment variable that the program reads. `--help` and the README show this table. */
export const SETTINGS = [
  {
    name: "DATABASE_URL",
    default: "",
    meaning: "PostgreSQL server (15 or later), postgres://...; unset: the embedded database",
  },
  { name: "DATA_DIR", default: "./data", meaning: "folder of the embedded database" },
  { name: "HOST", default: "127.0.0.1", meaning: "address that serve and demo listen on" },
  {
    name: "PORT",
    default: "8000",
    meaning: "port that serve and demo listen on; 0: any free port",
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
  const value = environment[name];
  if (value) return value;
  return SETTINGS.find((entry) => entry.name === name)?.default ?? "";
}
