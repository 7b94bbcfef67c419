/** The formats of a whole list, besides pages of JSON: comma-separated values, and JSON by line. */
import type * as v from "valibot";
import { csvLine, type CsvValue } from "../../base/csv.ts";

export const LIST_MEDIA_TYPES = { csv: "text/csv", ndjson: "application/x-ndjson" } as const;

export type ListFormat = keyof typeof LIST_MEDIA_TYPES;

/** Media types by which a client asks for a format; `null` is the usual one. */
const ACCEPTED: Readonly<Record<string, ListFormat | null>> = {
  "text/csv": "csv",
  "application/x-ndjson": "ndjson",
  "application/ndjson": "ndjson",
  "application/jsonl": "ndjson",
  "application/json": null,
  "application/*": null,
  "*/*": null,
};

/** The format that an `Accept` header prefers; of equal ones the first. */
export function acceptedFormat(accept: string | null): ListFormat | null {
  let best: { format: ListFormat | null; quality: number } = { format: null, quality: 0 };
  for (const range of (accept ?? "").split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    if (!Object.hasOwn(ACCEPTED, type)) continue;
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    const quality = weight === undefined ? 1 : Number(weight.slice(2));
    if (quality > best.quality) best = { format: ACCEPTED[type]!, quality };
  }
  return best.format;
}

/** Splits `.csv` or `.ndjson` from the end of a path; one slash may follow. */
export function formatOfPath(path: string): { path: string; format: ListFormat } | null {
  const [, list, format] = /^(.*[^/])\.(csv|ndjson)\/?$/.exec(path) ?? [];
  return list === undefined ? null : { path: list, format: format as ListFormat };
}

/** A column: its name, and the names that lead to the value in an item. */
export interface ListColumn {
  name: string;
  path: readonly string[];
}

/**
 * The columns of the items of a schema: fields, and those of objects in them, joined by `_`.
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

/** The text of a list in a format. The columns are those of comma-separated values. */
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
  // Sound: what is no object has a column, by the schema.
  return value as CsvValue;
}
