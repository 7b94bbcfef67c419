/** Comma-separated values as RFC 4180 has them. Spreadsheets must not run what a text says. */

/** A value of a cell; an array is written as JSON. */
export type CsvValue = string | number | boolean | null | readonly unknown[];

/**
 * Where a spreadsheet would take the rest for a formula: at the beginning, but where `;` separates cells
 * also after one, and after a line break; there quotes at the beginning of a cell are removed. Blanks and invisible
 * characters before it count for nothing. The characters have full-width forms.
 */
const FORMULAS =
  /(^|[;\t\r\n])("*)(?=[ \u00a0\u2000-\u200d\u2060\u3000\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/**
 * A line with its end. `null` is an empty cell, an empty text is `""`.
 *
 * What a spreadsheet would take for a formula gets a `'` in front of it.
 */
export function csvLine(values: readonly CsvValue[]): string {
  return `${values.map(cell).join(",")}\r\n`;
}

function cell(value: CsvValue): string {
  if (value === null) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = (typeof value === "string" ? value : JSON.stringify(value))
    .replaceAll(FORMULAS, "$1$2'");
  return /^$|^\s|\s$|[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
