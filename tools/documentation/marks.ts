/** Matches a generated part of a page; the group `part` is the text between the marks. */
export function markPattern(name: string): RegExp {
  return new RegExp(`(<!-- begin ${name} -->\\n)(?<part>[^]*?)(<!-- end ${name} -->)`);
}
