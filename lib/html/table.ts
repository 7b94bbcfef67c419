/** Tables of pages, and of the figures below charts. */
import { type Content, type Markup, markup } from "./markup.ts";

/** A column; the class `number` aligns right, `wide` hides it on a phone. */
interface Column {
  name: Content;
  className?: string;
  isSorted?: boolean;
}

/**
 * A table that scrolls horizontally where it does not fit. The first cell of a row is its header. A text
 * is a column as `name` or `name|class`, such as `Builds|number`.
 */
export function table(
  caption: string,
  head: readonly (string | Column)[],
  rows: readonly (readonly Content[])[],
): Markup {
  const columns: Column[] = head.map((column) => {
    if (typeof column !== "string") return column;
    const [name, className] = column.split("|");
    return { name, className };
  });
  const classes = columns.map(({ className }) => className && markup` class="${className}"`);
  const names = columns.map(({ name, isSorted }, index) => {
    const sort = isSorted && markup` aria-sort="descending"`;
    return markup`<th scope="col"${classes[index]}${sort}>${name}</th>`;
  });
  const cells = ([first, ...others]: readonly Content[]) => [
    markup`<th scope="row"${classes[0]}>${first}</th>`,
    others.map((cell, index) => markup`<td${classes[index + 1]}>${cell}</td>`),
  ];
  return markup`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<thead><tr>${names}</tr></thead>
<tbody>${rows.map((row) => markup`<tr>${cells(row)}</tr>\n`)}</tbody></table></div>`;
}
