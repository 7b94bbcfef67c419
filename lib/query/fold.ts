/**
 * The form in which texts are compared regardless of case: Unicode's lower case, made here and
 * never by the database's locale.
 *
 * Lower-casing looks at the neighbours of one letter only: a capital sigma becomes `ς` at the end
 * of a word and `σ` elsewhere. The end of what is searched for is not the end of a word in the
 * text, so both sigmas count as the same letter. Otherwise Unicode's lower case is taken as it is:
 * `İ` becomes an `i` with a dot above of its own, and `ß` is not `ss`.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll("ς", "σ");
}
