/** What entity tags stand for: one tag never names two answers, whoever gave them and when. */
import { createHash } from "node:crypto";

/** One tag came with two different answers. */
export class TwoAnswers extends Error {
  override name = "TwoAnswers";
}

interface Entry {
  digest: string;
  /** Where it was seen first. */
  seen: string;
}

/** Remembers the answers of all tags that were seen over one database. */
export class Ledger {
  readonly #entries = new Map<string, Entry>();
  /** The texts of late: memory for all of them would be too much. */
  readonly #texts = new Map<string, string>();

  /**
   * Notes an answer.
   *
   * @param seen where and by whom it was given
   * @throws {TwoAnswers} when the tag stood for another one before
   */
  note(tag: string, text: string, seen: string): void {
    const digest = createHash("sha256").update(text).digest("base64").slice(0, 16);
    const entry = this.#entries.get(tag);
    if (!entry) {
      this.#entries.set(tag, { digest, seen });
      this.#texts.set(tag, text);
      return;
    }
    if (entry.digest === digest) return;
    const first = this.#texts.get(tag) ?? "(an answer of an earlier history)";
    throw new TwoAnswers(
      `${tag} names two answers\n  ${entry.seen}:\n    ${first}\n  ${seen}:\n    ${text}`,
    );
  }

  /** Forgets texts, not tags. */
  nextHistory(): void {
    this.#texts.clear();
  }
}

/** The tag as it is compared: strong and weak ones name the same answer. */
export function opaqueTag(etag: string): string {
  return etag.replace(/^W\//, "");
}
