// Tests: tests/lib/intake/receive/change_quarantine_test.ts
import * as v from "valibot";
import type { ParameterErrors } from "./errors.ts";
import { excerpt, shorten } from "../../report/report_error.ts";

/**
 * Parses the parameters of a request, or returns the errors of all that are unknown or invalid. Empty
 * ones count as absent; of a repeated one the first that is not empty counts.
 */
export function parseValues<Entries extends v.ObjectEntries>(
  schema: v.ObjectSchema<Entries, undefined>,
  parameters: URLSearchParams,
):
  | { values: v.InferOutput<v.ObjectSchema<Entries, undefined>>; errors?: undefined }
  | { errors: ParameterErrors } {
  const known = Object.keys(schema.entries);
  const unknown = [...parameters.keys()].filter((name) => !known.includes(name))
    .map((name) => [shorten(name), [`unknown parameter: expected ${known.join(", ")}`]]);
  const raw = Object.fromEntries(
    known.map((name) => [name, textsOf(parameters, name)[0]]),
  );
  const { success, output, issues } = v.safeParse(schema, raw);
  if (success && unknown.length === 0) return { values: output };
  const nested = success ? {} : v.flatten(issues).nested as ParameterErrors;
  return { errors: { ...Object.fromEntries(unknown), ...nested } };
}

/**
 * The errors of fields of a form that say something else than the address, or than another field; `null` without
 * any. As of all addresses, the first of a repeated parameter counts.
 *
 * @param options.meaning what a value says, however it is spelled
 */
export function contradictions(
  names: readonly string[],
  { address, fields, meaning }: {
    address: URLSearchParams;
    fields: URLSearchParams;
    meaning(name: string, text: string): string;
  },
): ParameterErrors | null {
  const errors: ParameterErrors = {};
  for (const name of names) {
    const [first, ...others] = [
      ...textsOf(address, name).slice(0, 1).map((text) => ({ text, place: "address" })),
      ...textsOf(fields, name).map((text) => ({ text, place: "form" })),
    ];
    const other = first &&
      others.find(({ text }) => meaning(name, text) !== meaning(name, first.text));
    if (!other) continue;
    const [one, two] = [first, other].map(({ text, place }) => `${excerpt(text)} in the ${place}`);
    errors[name] = [`${one}, ${two}: expected one of them`];
  }
  return Object.keys(errors).length > 0 ? errors : null;
}

/** What a parameter says, without what is empty. */
function textsOf(parameters: URLSearchParams, name: string): string[] {
  return parameters.getAll(name).map((text) => text.trim()).filter((text) => text !== "");
}
