// Tests: tests/lib/intake/receive/change_quarantine_test.ts
import * as v from "valibot";
import type { ParameterErrors } from "./errors.ts";
import { shorten } from "../../report/report_error.ts";

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
    known.map((name) => [
      name,
      parameters.getAll(name).map((text) => text.trim()).find((text) => text !== ""),
    ]),
  );
  const { success, output, issues } = v.safeParse(schema, raw);
  if (success && unknown.length === 0) return { values: output };
  const nested = success ? {} : v.flatten(issues).nested as ParameterErrors;
  return { errors: { ...Object.fromEntries(unknown), ...nested } };
}
