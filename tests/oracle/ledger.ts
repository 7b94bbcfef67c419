/** Checks that one entity tag never stands for two different responses, from any server. */
import { createHash } from "node:crypto";

/** One tag came with two different responses. */
class EntityTagConflict extends Error {
  override name = "EntityTagConflict";
}

interface Entry {
  digest: string;
  /** Its first request and server. */
  seen: string;
}

/** The responses by entity tag, over one database. */
export class Ledger {
  readonly #entries = new Map<string, Entry>();
  /** Texts of the current history only, to bound memory. */
  readonly #texts = new Map<string, string>();

  /**
   * Records a response.
   *
   * @param seen its request and server
   * @throws {EntityTagConflict} when the tag stood for another response before
   */
  record(tag: string, text: string, seen: string): void {
    const digest = createHash("sha256").update(text).digest("base64").slice(0, 16);
    const entry = this.#entries.get(tag);
    if (!entry) {
      this.#entries.set(tag, { digest, seen });
      this.#texts.set(tag, text);
      return;
    }
    if (entry.digest === digest) return;
    const first = this.#texts.get(tag) ?? "(a response of an earlier history)";
    throw new EntityTagConflict(
      `${tag} stands for two responses\n  ${entry.seen}:\n    ${first}\n  ${seen}:\n    ${text}`,
    );
  }

  /** Drops the texts, not the tags. */
  nextHistory(): void {
    this.#texts.clear();
  }
}

/** The tag as it is compared: strong and weak ones name the same response. */
export function opaqueTag(etag: string): string {
  return etag.replace(/^W\//, "");
}
