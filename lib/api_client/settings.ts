import { describeSetting, type Environment } from "../base/config.ts";

export const TOKEN_VARIABLE = "PLATFORM_API_TOKEN";

/** Variable that holds the base address of the service. */
export const URL_VARIABLE = "PLATFORM_API_URL";

/** The default base address, where `serve` listens by default. */
export const DEFAULT_API_URL: string = describeSetting(URL_VARIABLE).default;

/** Address of the service and token. */
export interface ApiSettings {
  /** Without a trailing slash; may have a path prefix. */
  baseUrl: string;
  token: string;
}

/**
 * Reads the settings of a client from the environment, without surrounding spaces.
 *
 * @throws {TypeError} when the token is missing or the address is invalid; the token is never quoted
 */
export function readApiSettings(environment: Environment): ApiSettings {
  const token = environment[TOKEN_VARIABLE]?.trim() ?? "";
  if (token === "") {
    throw new TypeError(
      `${TOKEN_VARIABLE} is missing: expected an API token, as \`token create\` prints it`,
    );
  }
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new TypeError(
      `${TOKEN_VARIABLE} has characters that no token has: expected an API token of the service`,
    );
  }
  return { token, baseUrl: readBaseUrl(environment[URL_VARIABLE]?.trim() || DEFAULT_API_URL) };
}

function readBaseUrl(text: string): string {
  const url = URL.parse(text);
  // Not quoted: the address may contain a password.
  if (url && (url.username !== "" || url.password !== "")) {
    throw new TypeError(
      `${URL_VARIABLE} holds a user name or password: expected only an address, such as ` +
        DEFAULT_API_URL,
    );
  }
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") {
    throw new TypeError(
      `${URL_VARIABLE} "${text}" is not a base address: expected http(s)://HOST, optionally with a path`,
    );
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}
