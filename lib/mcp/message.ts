/** Joins the text to one line, so that a name cannot pose as another line of a response. */
export function onOneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
}

/** Enough for an assertion with its values; 25 tests stay within 2,000 tokens. */
export const MESSAGE_CHARACTERS = 300;

/** Cuts a failure message to {@linkcode MESSAGE_CHARACTERS} and marks the cut. */
export function cutMessage(message: string): string {
  const characters = [...message];
  if (characters.length <= MESSAGE_CHARACTERS) return message;
  const kept = characters.slice(0, MESSAGE_CHARACTERS).join("");
  return `${kept}... [cut: ${MESSAGE_CHARACTERS} of ${characters.length} characters]`;
}
