// Tests: tests/lib/cli/settings_test.ts
import type { Environment } from "../base/config.ts";
import { errorMessage } from "../base/error.ts";

/**
 * A secret setting: the variable, otherwise the contents of the file that the variable with the suffix
 * `_FILE` names; `undefined` when neither is set. @throws {TypeError} that never contains the
 * secret
 */
export function readSecret(
  environment: Environment,
  name: "DATABASE_URL" | "PLATFORM_API_TOKEN" | "UPLOAD_TOKEN" | "OIDC_CLIENT_SECRET",
): string | undefined {
  const own = environment[name];
  const path = environment[`${name}_FILE`];
  if (!path) return own || undefined;
  if (own) throw new TypeError(`${name} and ${name}_FILE: expected only one of them`);
  let text: string;
  try {
    text = Deno.readTextFileSync(path).trim();
  } catch (error) {
    const reason = errorMessage(error);
    throw new TypeError(`${name}_FILE: ${JSON.stringify(path)} cannot be read: ${reason}`);
  }
  if (text === "") {
    throw new TypeError(`${name}_FILE: ${JSON.stringify(path)} is empty: expected ${name}'s value`);
  }
  return text;
}
