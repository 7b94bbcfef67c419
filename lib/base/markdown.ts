/** Escapes untrusted text for Markdown. */

/** A text as inline code. In a table, `|` has to be escaped as well. */
export function markdownCode(text: string): string {
  const line = text.replaceAll(/\s+|\p{Cc}/gu, " ");
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return longest === 0 ? `${fence}${line}${fence}` : `${fence} ${line} ${fence}`;
}

/** A link, or the label alone unless the address is http or https. */
export function markdownLink(label: string, address: string): string {
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol)) return label;
  const target = url.href.replaceAll(
    /[|()<>\\`*_]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `[${label}](${target})`;
}
