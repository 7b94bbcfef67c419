/** Validation of settings. Options take precedence over the environment. */
import * as v from "valibot";
import { type ApiSettings, readApiSettings, TOKEN_VARIABLE } from "../api_client/api_settings.ts";
import { type Environment, kebabCase, setting, type SettingName } from "../base/config.ts";
import { errorMessage } from "../base/error.ts";
import { UsageError } from "../base/failure.ts";
import { readSecret } from "../system/secret.ts";
import { LOG_FORMATS, LOG_LEVELS } from "../base/log.ts";
import { readWith } from "../base/read_with.ts";
import { parseTimeZone } from "../base/time_zone.ts";
import { parseTrustedProxies } from "../http/request/client_address.ts";
import type { SignInSettings } from "../http/sign_in/settings.ts";
import {
  organizationHeaderProblem,
  userHeaderProblem,
} from "../http/request/organization_header.ts";
import { location, oneOf, option, port, readInput, wholeNumber } from "./parameters.ts";
import { lineOfText } from "../base/value_schemas.ts";

// One day, which fits a timer of 31 bits.
const MAX_SECONDS = 86_400;
const MAX_MS = 86_400_000;

export const SETTING_SCHEMAS = {
  HOST: lineOfText,
  PORT: port,
  UPLOAD_PORT: port,
  TRUSTED_PROXIES: readWith(parseTrustedProxies),
  ORGANIZATION_HEADER: v.pipe(v.string(), v.regex(/^[\w-]*$/, "expected the name of a header")),
  USER_HEADER: v.pipe(v.string(), v.regex(/^[\w-]*$/, "expected the name of a header")),
  OPS_HOST: lineOfText,
  OPS_PORT: v.pipe(v.string(), v.transform((text) => text || undefined), v.optional(port)),
  LOG_LEVEL: oneOf(LOG_LEVELS),
  LOG_FORMAT: oneOf(["auto", ...LOG_FORMATS]),
  DATABASE_WAIT_SECONDS: wholeNumber({ min: 0, max: MAX_SECONDS }),
  DATABASE_POOL_SIZE: wholeNumber({ min: 1, max: 1_000 }),
  STATEMENT_TIMEOUT_MS: wholeNumber({ min: 1, max: MAX_MS }),
  REQUEST_TIMEOUT_MS: wholeNumber({ min: 1, max: MAX_MS }),
  MAX_UPLOAD_MB: wholeNumber({ min: 1, max: 1_000_000 }),
  MAX_RUNNING_UPLOADS: wholeNumber({ min: 1, max: 10_000 }),
  MAX_ORGANIZATION_UPLOADS: wholeNumber({ min: 1, max: 10_000 }),
  MAX_ORGANIZATION_UPLOAD_MB: wholeNumber({ min: 1, max: 1_000_000 }),
  MAX_TOKEN_UPLOADS: wholeNumber({ min: 1, max: 10_000 }),
  MAX_TOKEN_UPLOAD_MB: wholeNumber({ min: 1, max: 1_000_000 }),
  UPLOAD_IDLE_SECONDS: wholeNumber({ min: 1, max: MAX_SECONDS }),
  UPLOAD_TIMEOUT_SECONDS: wholeNumber({ min: 1, max: MAX_SECONDS }),
  FAILED_UPLOAD_DAYS: wholeNumber({ min: 0, max: 36_500 }),
  FAILED_UPLOAD_MB: wholeNumber({ min: 0, max: 100_000_000 }),
  CACHE_SIZE_MB: wholeNumber({ min: 0, max: 1_000_000 }),
  TIME_ZONE: readWith(parseTimeZone),
};

export type CheckedSetting = keyof typeof SETTING_SCHEMAS;

export type SettingValues<Name extends CheckedSetting = CheckedSetting> = {
  [Each in Name]: v.InferOutput<typeof SETTING_SCHEMAS[Each]>;
};

/**
 * Reads settings from the options, by name in camel case, and the environment. Adds a message to
 * `problems` for each invalid value, whose result is undefined.
 */
export function readSettings<Name extends CheckedSetting>(
  names: readonly Name[],
  { environment, flags, problems }: {
    environment: Environment;
    flags: Readonly<Record<string, unknown>>;
    problems: string[];
  },
): SettingValues<Name> {
  const values: Record<string, unknown> = {};
  const texts: Partial<Record<CheckedSetting, string>> = {};
  const count = problems.length;
  for (const name of names) {
    const option = kebabCase(name);
    const given = flags[option.replaceAll(/-./g, (dash) => dash.slice(1).toUpperCase())] ||
      undefined;
    const text = given ?? setting(environment, name);
    const result = v.safeParse(SETTING_SCHEMAS[name], text);
    const source = given === undefined ? name : `--${option}`;
    for (const issue of result.issues ?? []) problems.push(`${source}: ${issue.message}`);
    values[name] = result.output;
    texts[name] = String(text);
  }
  const { ORGANIZATION_HEADER: header = "", USER_HEADER: user = "", TRUSTED_PROXIES = "" } = texts;
  if (problems.length === count) {
    const problem = organizationHeaderProblem(header, TRUSTED_PROXIES) ??
      userHeaderProblem(user, header, TRUSTED_PROXIES);
    if (problem !== null) problems.push(problem);
  }
  return values as SettingValues<Name>;
}

/**
 * The address of the service and the token of a command that calls it.
 *
 * @throws {TypeError} when the token is missing or the address is invalid
 */
export function readApiAccess(environment: Environment): ApiSettings {
  const token = readSecret(environment, TOKEN_VARIABLE);
  return readApiSettings({ ...environment, [TOKEN_VARIABLE]: token });
}

/**
 * The address of the service, or that for uploads, as its users see it, without a trailing slash; `""`
 * when it is not set.
 *
 * @throws {UsageError} when it is not an address; it is not quoted
 */
export function readPublicUrl(
  environment: Environment,
  name: "PUBLIC_URL" | "PUBLIC_UPLOAD_URL" | "UPLOAD_URL" = "PUBLIC_URL",
): string {
  const text = setting(environment, name).trim();
  if (text === "") return "";
  const url = URL.parse(text);
  const isPlain = url && [url.username, url.password, url.search, url.hash].join("") === "";
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(
      `${name} is not an address: expected http(s)://HOST, optionally with a path`,
    );
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** The address for uploads as its users see it; see {@linkcode readPublicUrl}. @throws {UsageError} */
export function readPublicUploadUrl(environment: Environment): string {
  return readPublicUrl(environment, "PUBLIC_UPLOAD_URL") ||
    readPublicUrl(environment, "UPLOAD_URL");
}

/** The environment variables of {@linkcode readSignIn}. */
export const SIGN_IN_VARIABLES = [
  "OIDC_ISSUER",
  "OIDC_CLIENT_ID",
  "OIDC_CLIENT_SECRET",
  "OIDC_CLIENT_SECRET_FILE",
  "OIDC_ORGANIZATION",
  "OIDC_ORGANIZATION_CLAIM",
  "OIDC_EDITORS",
  "OIDC_GROUPS_CLAIM",
] as const satisfies readonly SettingName[];

/** How people sign in; `null` unless it is set up. @throws {UsageError} when a setting is missing */
export function readSignIn(environment: Environment): SignInSettings | null {
  const issuer = setting(environment, "OIDC_ISSUER").trim();
  if (issuer === "") {
    const given = SIGN_IN_VARIABLES.filter((name) => (environment[name] ?? "").trim() !== "");
    if (given.length === 0) return null;
    throw new UsageError(`${given.join(", ")}: expected OIDC_ISSUER as well`);
  }
  checkAddress("OIDC_ISSUER", issuer);
  const publicUrl = readPublicUrl(environment);
  if (publicUrl === "") throw new UsageError("OIDC_ISSUER: expected PUBLIC_URL as well");
  checkAddress("PUBLIC_URL", publicUrl);
  const clientId = setting(environment, "OIDC_CLIENT_ID").trim();
  const clientSecret = readClientSecret(environment);
  if (clientId === "" || clientSecret === "") {
    throw new UsageError("OIDC_ISSUER: expected OIDC_CLIENT_ID and OIDC_CLIENT_SECRET as well");
  }
  const name = setting(environment, "OIDC_ORGANIZATION").trim();
  const claim = setting(environment, "OIDC_ORGANIZATION_CLAIM").trim();
  if ((name === "") === (claim === "")) {
    throw new UsageError(
      "OIDC_ISSUER: expected either OIDC_ORGANIZATION or OIDC_ORGANIZATION_CLAIM as well",
    );
  }
  const groups = setting(environment, "OIDC_EDITORS").split(",").map((group) => group.trim())
    .filter((group) => group !== "");
  return {
    issuer,
    clientId,
    clientSecret,
    organization: name ? { name } : { claim },
    editors: { groups, claim: setting(environment, "OIDC_GROUPS_CLAIM").trim() },
    publicUrl,
  };
}

function readClientSecret(environment: Environment): string {
  try {
    return readSecret(environment, "OIDC_CLIENT_SECRET") ?? "";
  } catch (error) {
    throw new UsageError(errorMessage(error));
  }
}

/** A random text of this length cannot be guessed, even if it has nothing but digits. */
const MIN_SECRET_CHARACTERS = 16;

/**
 * What is wrong with the client secret, from which the session key is derived, and what to do; `null` if nothing.
 *
 * @throws {UsageError} when its file cannot be read
 */
export function clientSecretProblem(
  environment: Environment,
): { finding: string; hint: string } | null {
  const secret = readClientSecret(environment);
  if (secret === "" || secret.length >= MIN_SECRET_CHARACTERS) return null;
  return {
    finding: `OIDC_CLIENT_SECRET has fewer than ${MIN_SECRET_CHARACTERS} characters: anyone who ` +
      "guesses it can forge sessions",
    hint: "use a random one of at least 32 characters",
  };
}

/** Whether the host of an address is this machine. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(host);
}

/** Checks that what is sent to an address cannot be read on the way. @throws {UsageError} */
function checkAddress(name: SettingName, text: string): void {
  const url = URL.parse(text);
  if (url?.protocol === "https:" || url?.protocol === "http:" && isLoopback(url.hostname)) return;
  throw new UsageError(`${name}: for sign-in expected https://, or an address of this machine`);
}

/** A PostgreSQL server when there is a URL, otherwise the embedded database in the folder. */
export interface DatabaseLocation {
  databaseUrl: string | undefined;
  dataDir: string;
}

export const DATABASE_SETTINGS = ["DATABASE_URL", "DATABASE_URL_FILE", "DATA_DIR"] as const;

export const DATABASE_OPTIONS = {
  databaseUrl: option(
    "<url>",
    "PostgreSQL server (passwords are safer in DATABASE_URL)",
    v.optional(location),
  ),
  dataDir: option("<folder>", "folder of the embedded database", v.optional(location)),
};

export async function readDatabaseLocation(
  environment: Environment,
  flags: Readonly<Record<string, unknown>>,
  problems: string[],
): Promise<DatabaseLocation> {
  const options = readInput(DATABASE_OPTIONS, { flags, given: [], problems });
  const dataDir = options.dataDir ?? setting(environment, "DATA_DIR");
  if (options.databaseUrl !== undefined && options.dataDir !== undefined) {
    problems.push("--database-url and --data-dir: expected only one of them");
  }
  try {
    // --data-dir takes precedence over DATABASE_URL of the environment.
    const databaseUrl = options.databaseUrl ??
      (options.dataDir === undefined ? readSecret(environment, "DATABASE_URL") : undefined);
    // Loaded by what uses it, as everything of the database.
    if (databaseUrl) {
      (await import("../../db/connection/database_url.ts")).readDatabaseUrl(databaseUrl);
    }
    return { databaseUrl, dataDir };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    problems.push(error.message);
    return { databaseUrl: undefined, dataDir };
  }
}
