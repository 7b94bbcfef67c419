import type { Environment } from "../base/config.ts";

/** Settings that may stand in a file of their own, away from process lists and crash reports. */
export type SecretName = "DATABASE_URL" | "PLATFORM_API_TOKEN";

/**
 * The value of a secret setting: the variable's own, else what stands in the file that the variable
 * with `_FILE` at its end names; `undefined` when there is neither. White space around it is no part
 * of it: editors and `echo` end a file with a line end.
 *
 * @throws {TypeError} when both are given, or when the file cannot be read or is empty; the message
 *   shows the file's name and nothing of what stands in it
 */
export function readSecret(environment: Environment, name: SecretName): string | undefined {
  const own = environment[name];
  const path = environment[`${name}_FILE`];
  if (!path) return own || undefined;
  if (own) throw new TypeError(`${name} and ${name}_FILE: expected one of them`);
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
