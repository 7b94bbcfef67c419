// Tests: tests/lib/http/request/list_export_test.ts
/** The formats of a whole list, besides pages of JSON: comma-separated values, and JSON by line. */
import type * as v from "valibot";
import { csvLine, type CsvValue } from "../../base/csv.ts";

export const LIST_MEDIA_TYPES = { csv: "text/csv", ndjson: "application/x-ndjson" } as const;

export type ListFormat = keyof typeof LIST_MEDIA_TYPES;

/** A column: its name, and the names that lead to the value in an item. */
export interface ListColumn {
  name: string;
  path: readonly string[];
}

/**
 * The columns of the items of a schema: fields, and the fields of objects in them, joined by `_`.
 *
 * @param isShown which fields of an item there are
 */
export function columnsOf(
  schema: v.GenericSchema,
  isShown: (field: string) => boolean = () => true,
  path: readonly string[] = [],
): ListColumn[] {
  return Object.entries(entriesOf(schema) ?? {}).flatMap(([name, field]) => {
    if (path.length === 0 && !isShown(name)) return [];
    const own = [...path, name];
    return entriesOf(field) ? columnsOf(field, isShown, own) : { name: own.join("_"), path: own };
  });
}

/** The fields of an object, also of one that may be `null` or absent. */
function entriesOf(schema: v.GenericSchema): Record<string, v.GenericSchema> | null {
  const { entries, wrapped } = schema as {
    entries?: Record<string, v.GenericSchema>;
    wrapped?: v.GenericSchema;
  };
  return wrapped ? entriesOf(wrapped) : entries ?? null;
}

/** The text of a list. */
export interface Lines {
  /** Before the items. */
  head: string;
  /** An item, with its line end. */
  line(item: unknown): string;
}

/** The text of a list in a format. Only comma-separated values have the columns. */
export function createLines(format: ListFormat, columns: readonly ListColumn[]): Lines {
  if (format === "ndjson") {
    return { head: "", line: (item) => `${JSON.stringify(item)}\n` };
  }
  return {
    head: csvLine(columns.map(({ name }) => name)),
    line: (item) => csvLine(columns.map(({ path }) => valueAt(item, path))),
  };
}

function valueAt(item: unknown, path: readonly string[]): CsvValue {
  let value = item;
  for (const name of path) value = (value as Record<string, unknown> | null)?.[name] ?? null;
  // Sound: by the schema, a column leads to a value that is not an object.
  return value as CsvValue;
}
