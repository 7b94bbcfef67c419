import { describeSetting, type Environment, setting } from "../base/config.ts";
import { TOKEN_PURPOSES, tokenType } from "../base/token.ts";

export const TOKEN_VARIABLE = "PLATFORM_API_TOKEN";

/** Variable that holds the base address of the service. */
export const URL_VARIABLE = "PLATFORM_API_URL";

/** The default base address, where `serve` listens by default. */
export const DEFAULT_API_URL: string = describeSetting(URL_VARIABLE).default;

/** The base address of links to pages, without a trailing slash. */
export function pagesUrlOf(environment: Environment): string {
  const url = setting(environment, "PUBLIC_URL") || setting(environment, URL_VARIABLE);
  return url.replace(/\/+$/, "");
}

/** Address of the service and token. */
export interface ApiSettings {
  /** Without a trailing slash; may have a path prefix. */
  baseUrl: string;
  token: string;
}

/**
 * Reads the settings of a client from the environment, without surrounding spaces.
 *
 * @throws {TypeError} when the token is missing or the address is invalid; neither is quoted
 */
export function readApiSettings(environment: Environment): ApiSettings {
  const token = environment[TOKEN_VARIABLE]?.trim() ?? "";
  // A header takes no other characters.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    const problem = token === "" ? "is missing" : "has characters that no token has";
    throw new TypeError(
      `${TOKEN_VARIABLE} ${problem}: expected an API token, as \`token create\` prints it`,
    );
  }
  const type = tokenType(token);
  if (type !== null && type !== "api_token" && type !== "legacy") {
    throw new TypeError(
      `${TOKEN_VARIABLE} has ${
        TOKEN_PURPOSES[type]
      }: expected an API token, as \`token create\` prints it`,
    );
  }
  const url = URL.parse(environment[URL_VARIABLE]?.trim() || DEFAULT_API_URL);
  const isPlain = url && [url.username, url.password, url.search, url.hash].join("") === "";
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    // Not quoted: the address may contain a password.
    throw new TypeError(
      `${URL_VARIABLE} is not a base address: expected http(s)://HOST, optionally with a path, ` +
        "without user name and password",
    );
  }
  return { token, baseUrl: url.origin + url.pathname.replace(/\/+$/, "") };
}
