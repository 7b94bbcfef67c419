/** The text on one line, so that a name cannot look like another line of an answer. */
export function onOneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
}

/** Room for the assertion and its values, at 25 tests a page within 2,000 tokens. */
export const MESSAGE_CHARACTERS = 300;

/** A message of a failed test, cut to {@linkcode MESSAGE_CHARACTERS} and marked when it is. */
export function cutMessage(message: string): string {
  const characters = [...message];
  if (characters.length <= MESSAGE_CHARACTERS) return message;
  const kept = characters.slice(0, MESSAGE_CHARACTERS).join("");
  return `${kept}... [cut: ${MESSAGE_CHARACTERS} of ${characters.length} characters]`;
}
