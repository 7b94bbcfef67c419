/** Text from outside as Markdown: nothing in it is markup. */

/** A text as code, on one line. Inside of a table `|` has to be escaped, too. */
export function markdownCode(text: string): string {
  const line = text.replaceAll(/\s+|\p{Cc}/gu, " ");
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return longest === 0 ? `${fence}${line}${fence}` : `${fence} ${line} ${fence}`;
}

/** A link, or the label alone when the address is not one of the web. */
export function markdownLink(label: string, address: string): string {
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol)) return label;
  const target = url.href.replaceAll(
    /[|()<>\\`*_]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `[${label}](${target})`;
}
