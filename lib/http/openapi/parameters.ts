/** What the route table says about parameters, for whoever describes them. */
import * as v from "valibot";
import type { ParameterMetadata } from "../request/parameters.ts";
import type { Route } from "../request/route.ts";

/** A parameter as documents show it. */
export interface DescribedParameter {
  name: string;
  place: "path" | "query";
  required: boolean;
  description: string;
  /** JSON Schema of the value as a client thinks of it; an array is written with commas. */
  jsonSchema: Record<string, unknown>;
  /** As a client writes it, before percent-encoding. */
  example?: string;
}

/**
 * The parameters of a route, those of the path first.
 *
 * @throws {Error} when one of them is not described
 */
export function describedParameters({ path, parameters }: Route): DescribedParameter[] {
  return (["path", "query"] as const).flatMap((place) =>
    Object.entries(parameters[place].entries).map(([name, entry]) => {
      const description = v.getDescription(entry);
      const { jsonSchema, example, required = false } = v.getMetadata(entry) as Partial<
        ParameterMetadata
      >;
      if (!description || !jsonSchema) {
        throw new Error(`parameter ${name} of ${path} is not described`);
      }
      return { name, place, required, description, jsonSchema, ...(example && { example }) };
    })
  );
}
