// Of 4 bytes each.
const SLOTS = 8192;

/**
 * Which of some thousand texts were seen lately, in a fixed number of bytes: it knows a text by a
 * hash, so that it may take one for another, once in half a million, and forgets a text for another
 * that comes to the same slot.
 */
export class SeenLately {
  readonly #hashes = new Uint32Array(SLOTS);

  /** Whether a text was seen lately; from now on it was. */
  see(text: string): boolean {
    const hash = hashOf(text);
    const slot = hash % SLOTS;
    if (this.#hashes[slot] === hash) return true;
    this.#hashes[slot] = hash;
    return false;
  }
}

/** FNV-1a over the UTF-16 units, its bits mixed once more for their lower ones; never 0. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return ((hash ^ (hash >>> 15)) >>> 0) || 1;
}
