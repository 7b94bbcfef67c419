/** Validation of settings. Options win over the environment. */
import * as v from "valibot";
import { describeSetting, type Environment, setting } from "../base/config.ts";
import { LOG_FORMATS, LOG_LEVELS } from "../base/log.ts";
import { lineOfText, oneOf, port, wholeNumber, yesOrNo } from "./values.ts";

// One day, which fits a timer of 31 bits.
const MAX_SECONDS = 86_400;
const MAX_MS = 86_400_000;

/** Schema of each setting. */
export const SETTING_SCHEMAS = {
  HOST: lineOfText,
  PORT: port,
  REUSE_PORT: yesOrNo,
  LOG_LEVEL: oneOf(LOG_LEVELS),
  LOG_FORMAT: oneOf(["auto", ...LOG_FORMATS]),
  DATABASE_WAIT_SECONDS: wholeNumber({ min: 0, max: MAX_SECONDS }),
  DATABASE_POOL_SIZE: wholeNumber({ min: 1, max: 1_000 }),
  STATEMENT_TIMEOUT_MS: wholeNumber({ min: 1, max: MAX_MS }),
  REQUEST_TIMEOUT_MS: wholeNumber({ min: 1, max: MAX_MS }),
  MAX_RUNNING_REQUESTS: wholeNumber({ min: 1, max: 1_000_000 }),
  CACHE_SIZE_MB: wholeNumber({ min: 0, max: 1_000_000 }),
};

/** Name of a setting that is validated at startup. */
export type CheckedSetting = keyof typeof SETTING_SCHEMAS;

/** Values by name. */
export type SettingValues<Name extends CheckedSetting = CheckedSetting> = {
  [Each in Name]: v.InferOutput<typeof SETTING_SCHEMAS[Each]>;
};

/**
 * Reads settings.
 *
 * @param flags the given options, by name in camel case
 * @param problems receives a message for each invalid value, whose result is undefined
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
  for (const name of names) {
    const flag = flagOf(name);
    const given = flags[flag.key];
    const result = v.safeParse(SETTING_SCHEMAS[name], given ?? setting(environment, name));
    const source = given === undefined ? name : flag.name;
    for (const issue of result.issues ?? []) problems.push(`${source}: ${issue.message}`);
    values[name] = result.output;
  }
  return values as SettingValues<Name>;
}

/** The option of a setting, such as `--log-level`, and the key of its value. */
function flagOf(name: CheckedSetting): { name: string; key: string } {
  const [flag = ""] = (describeSetting(name).flag ?? "").split(" ");
  return { name: flag, key: flag.slice(2).replaceAll(/-./g, (dash) => dash[1]!.toUpperCase()) };
}
