/** Messages that several failures of one submission have. */
export interface SharedMessages {
  messages: string[];
  /** The position of a message from 1 on; `null` when it is not shared. */
  placeOf(message: string): number | null;
}

/** All of them are read with each failure, so the rest stays with the failures. */
const MAX_CHARACTERS = 8_000;

/** Collects the messages to store once for several failures. */
export function shareMessages(failures: Iterable<{ message: string }>): SharedMessages {
  const seen = new Set<string>();
  const places = new Map<string, number>();
  let characters = 0;
  for (const { message } of failures) {
    if (!seen.has(message)) {
      seen.add(message);
    } else if (!places.has(message) && characters + message.length <= MAX_CHARACTERS) {
      characters += message.length;
      places.set(message, places.size + 1);
    }
  }
  return { messages: [...places.keys()], placeOf: (message) => places.get(message) ?? null };
}
