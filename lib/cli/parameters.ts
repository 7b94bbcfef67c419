/** Arguments and options of commands: their definition and validation. */
import * as v from "valibot";
import { kebabCase } from "../base/config.ts";

/** An argument or option of a command. */
export interface Parameter<Schema extends v.GenericSchema = v.GenericSchema> {
  kind: "argument" | "option";
  /** Placeholder of the value of an option, such as `<n>` or `<file...>`; `""` for a flag. */
  value: string;
  meaning: string;
  /** `v.optional`: an empty value counts as absent. `v.undefinedable`: absent, but not empty. */
  schema: Schema;
}

/** Parameters by name: `buildUrl` is the option `--build-url`, or the argument BUILD-URL. */
export type Parameters = Readonly<Record<string, Parameter>>;

export type Values<Input extends Parameters> = {
  [Name in keyof Input]: v.InferOutput<Input[Name]["schema"]>;
};

/** Defines an argument; an array is one that takes all that follow. */
export function argument<Schema extends v.GenericSchema>(
  meaning: string,
  schema: Schema,
): Parameter<Schema> {
  return { kind: "argument", value: "", meaning, schema };
}

/** Defines an option. */
export function option<Schema extends v.GenericSchema>(
  value: string,
  meaning: string,
  schema: Schema,
): Parameter<Schema> {
  return { kind: "option", value, meaning, schema };
}

/** Defines an option without a value, which is false unless given. */
export function flag(meaning: string) {
  return option("", meaning, v.optional(v.boolean(), false));
}

/** Whether a parameter has to be given. */
export function isRequired({ type }: v.GenericSchema): boolean {
  return type !== "optional" && type !== "undefinedable";
}

/** Validates arguments and options. */
export function readInput<Input extends Parameters>(
  parameters: Input,
  { flags, given, problems }: {
    flags: Readonly<Record<string, unknown>>;
    /** The values of the arguments, in their order. */
    given: readonly unknown[];
    problems: string[];
  },
): Values<Input> {
  const values: Record<string, unknown> = {};
  const rest = [...given];
  for (const [name, { kind, value, schema }] of Object.entries(parameters)) {
    const shown = kind === "argument" ? kebabCase(name).toUpperCase() : `--${kebabCase(name)}`;
    let text = kind === "argument" ? rest.shift() : flags[name];
    if (schema.type === "optional" && [text].flat().every(isBlank)) text = undefined;
    if (kind === "option" && text === undefined && isRequired(schema)) {
      problems.push(`missing required option '${`${shown} ${value}`.trimEnd()}'`);
      continue;
    }
    const result = v.safeParse(schema, text);
    problems.push(...(result.issues ?? []).map(({ message }) => `${shown}: ${message}`));
    values[name] = result.output;
  }
  return values as Values<Input>;
}

/** Whether a value counts as absent where the schema is optional. */
export function isBlank(value: unknown): boolean {
  return value === undefined || typeof value === "string" && value.trim() === "";
}
