/** Messages of one submission's failures, each of which several of them have. */
export interface SharedMessages {
  /** Each once. */
  messages: string[];
  /** The place of a message among them, from 1 on; `null` for one that is not shared. */
  placeOf(message: string): number | null;
}

/**
 * Characters that the shared messages of a submission have together. Who reads one of them reads all:
 * a submission with thousands of different ones keeps the rest with the failures.
 */
const MAX_CHARACTERS = 8_000;

/** The messages that are worth being stored once for several failures. */
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
