/** Tables of pages, and of the figures below charts. */
import { type Content, type Markup, markup } from "./markup.ts";

/** A column; the class `number` aligns right, `wide` hides it on a phone. */
export interface Column {
  name: Content;
  className?: string;
  isSorted?: boolean;
}

/** Columns from `name` or `name|class`, such as `Builds|number`. */
export function columns(...names: readonly string[]): Column[] {
  return names.map((text) => {
    const [name, className] = text.split("|");
    return { name, className };
  });
}

/** A table that scrolls horizontally where it does not fit. The first cell of a row is its header. */
export function table(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly Content[])[],
): Markup {
  const classes = columns.map(({ className }) => className && markup` class="${className}"`);
  const head = columns.map(({ name, isSorted }, index) => {
    const sort = isSorted && markup` aria-sort="descending"`;
    return markup`<th scope="col"${classes[index]}${sort}>${name}</th>`;
  });
  const cells = ([first, ...others]: readonly Content[]) => [
    markup`<th scope="row"${classes[0]}>${first}</th>`,
    others.map((cell, index) => markup`<td${classes[index + 1]}>${cell}</td>`),
  ];
  return markup`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<thead><tr>${head}</tr></thead>
<tbody>${rows.map((row) => markup`<tr>${cells(row)}</tr>\n`)}</tbody></table></div>`;
}
