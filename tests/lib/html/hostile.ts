/** Texts that would do harm if they reached a page as they are, and how they are shown. */
export const HOSTILE: readonly (readonly [text: string, shown: string])[] = [
  [`<script>alert(1)</script>`, "&lt;script&gt;alert(1)&lt;/script&gt;"],
  [`" onmouseover="alert(1)`, "&quot; onmouseover=&quot;alert(1)"],
  ["a & b &lt; c", "a &amp; b &amp;lt; c"],
  ["invoice\u202efdp.exe", "invoice[U+202E]fdp.exe"],
  ["\u2066isolated\u2069\u200f", "[U+2066]isolated[U+2069][U+200F]"],
  ["\x1b[31mred\x1b[0m", "red"],
  ["\x1b]0;title\x07", "[U+001B]]0;title[U+0007]"],
  ["nul\0 bell\x07 \x9b31m", "nul[U+0000] bell[U+0007] [U+009B]31m"],
  ["not\uffff a \u{1fffe} character", "not[U+FFFF] a [U+1FFFE] character"],
  ["two\tcolumns\ntwo lines", "two\tcolumns\ntwo lines"],
];
