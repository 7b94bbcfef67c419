/**
 * Folds case for comparison: Unicode's lower case, independent of the database's locale.
 *
 * A capital sigma becomes `ς` at the end of a word and `σ` elsewhere. A searched text may end within
 * a word, so both count as the same letter. `İ` becomes `i` and a combining dot; `ß` is not `ss`.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll("ς", "σ");
}
