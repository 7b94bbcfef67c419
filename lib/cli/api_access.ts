import { type ApiSettings, readApiSettings, TOKEN_VARIABLE } from "../api_client/settings.ts";
import type { Environment } from "../base/config.ts";
import { Failure } from "./errors.ts";
import { readSecret } from "./settings.ts";

/**
 * The address of the service and the token of a command that calls it.
 *
 * @throws {Failure} when the token is missing or the address is invalid
 */
export function readApiAccess(environment: Environment): ApiSettings {
  try {
    const token = readSecret(environment, TOKEN_VARIABLE);
    return readApiSettings({ ...environment, [TOKEN_VARIABLE]: token });
  } catch (error) {
    if (error instanceof TypeError) throw new Failure(error.message);
    throw error;
  }
}
