import type { Environment } from "../base/config.ts";

/** Where the service answers in production; `serve` listens there unless told otherwise. */
export const DEFAULT_API_URL = "http://127.0.0.1:8000";

/** Variable that holds the API token. */
export const TOKEN_VARIABLE = "PLATFORM_API_TOKEN";

/** Variable that holds the base address of the service. */
export const URL_VARIABLE = "PLATFORM_API_URL";

/** How the service is reached. */
export interface ApiSettings {
  /** Base address without a slash at its end; may have a path prefix. */
  baseUrl: string;
  token: string;
}

/**
 * Reads the settings of the agent tool server from the environment; blanks around a value are
 * dropped, because they come along when values are copied.
 *
 * @throws {TypeError} when the token is missing or the address is none; the token is never quoted
 */
export function readApiSettings(environment: Environment): ApiSettings {
  const token = environment[TOKEN_VARIABLE]?.trim() ?? "";
  if (token === "") {
    throw new TypeError(`${TOKEN_VARIABLE} is missing: expected an API token of the service`);
  }
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new TypeError(
      `${TOKEN_VARIABLE} has blanks or characters inside that no token has: expected an API token`,
    );
  }
  return { token, baseUrl: readBaseUrl(environment[URL_VARIABLE]?.trim() || DEFAULT_API_URL) };
}

function readBaseUrl(text: string): string {
  const url = URL.parse(text);
  // A password in the address would come out wherever the address is named, so it is not quoted.
  if (url && (url.username !== "" || url.password !== "")) {
    throw new TypeError(
      `${URL_VARIABLE} holds a user name or password: expected only an address, such as ` +
        DEFAULT_API_URL,
    );
  }
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") {
    throw new TypeError(
      `${URL_VARIABLE} "${text}" is no base address: expected http(s)://HOST, with a path or without`,
    );
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}
