/** Text width without a font: the server has none, and readers have different ones. */

/**
 * Advance widths in thousandths of the font size, measured in Chromium with DejaVu Sans, whose
 * metrics match Verdana's within a few hundredths. `textLength` corrects the difference.
 */
// deno-fmt-ignore
const WIDTHS: Record<string, number> = {
  " ": 318, "%": 950, ".": 318, ":": 337, "-": 361,
  0: 636, 1: 636, 2: 636, 3: 636, 4: 636, 5: 636, 6: 636, 7: 636, 8: 636, 9: 636,
  a: 613, b: 635, c: 550, d: 635, e: 615, f: 352, g: 635, h: 634, i: 278, j: 278, k: 579, l: 278,
  m: 974, n: 634, o: 612, p: 635, q: 635, r: 411, s: 521, t: 392, u: 634, v: 592, w: 818, x: 592,
  y: 592, z: 525,
};

/** The widest letter: too wide leaves a gap, too narrow squeezes the text. */
const UNKNOWN_WIDTH = 974;

/** The width of a text in pixels at a font size in pixels, to a tenth. */
export function textWidth(text: string, fontSize: number): number {
  let thousandths = 0;
  for (const character of text) thousandths += WIDTHS[character] ?? UNKNOWN_WIDTH;
  return Math.round((thousandths * fontSize) / 100) / 10;
}
