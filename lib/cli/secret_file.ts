import type { Environment } from "../base/config.ts";

/** Settings that can be read from a file. */
export type SecretName = "DATABASE_URL" | "PLATFORM_API_TOKEN";

/**
 * The value of a secret setting: of the variable, else of the file that the variable with the suffix
 * `_FILE` names, trimmed; `undefined` when neither is set.
 *
 * @throws {TypeError} when both are set, or the file is unreadable or empty; the message never
 *   contains the secret
 */
export function readSecret(environment: Environment, name: SecretName): string | undefined {
  const own = environment[name];
  const path = environment[`${name}_FILE`];
  if (!path) return own || undefined;
  if (own) throw new TypeError(`${name} and ${name}_FILE: expected only one of them`);
  let text: string;
  try {
    text = Deno.readTextFileSync(path).trim();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TypeError(`${name}_FILE: ${JSON.stringify(path)} cannot be read: ${reason}`);
  }
  if (text === "") {
    throw new TypeError(`${name}_FILE: ${JSON.stringify(path)} is empty: expected ${name}'s value`);
  }
  return text;
}
