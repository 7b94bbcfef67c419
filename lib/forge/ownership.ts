// Tests: tests/lib/forge/publish_test.ts tests/lib/forge/target_test.ts
/**
 * Which comments on a pull request are this program's own. Anybody may comment on a public pull request and
 * copy the mark, so the author decides. A token that may not read its own user (GitHub Actions, Forgejo and
 * Gitea with `write:issue` alone) leaves a proof in the comment instead, which others cannot compute, and
 * which is of no use in another comment: a MAC of the comment's id.
 */
import { createHmac } from "node:crypto";
import { COMMENT_MARK } from "../comment/sections.ts";
import type { WaitToRetry } from "./forge.ts";
import { ForgeError } from "./forge.ts";
import { retried } from "./http.ts";

const PROOF = /\n<!-- test-analytics proof ([\w -]+) -->\s*$/;

interface AuthoredComment {
  id: number;
  body: string;
  /** `null` for a deleted user. */
  authorId: number | null;
}

export interface OwnershipOptions {
  /**
   * Secrets of which jobs share at least one: the token of the API, and that of the forge, which lasts on
   * some forges. Each makes a proof.
   */
  secrets: readonly string[];
  /** The id of the token's user. @throws {ForgeError} of the kind `denied` when it may not know it */
  loadOwnId(): Promise<number>;
}

/** Recognizes this program's own comments, and marks them. */
export function createOwnership({ secrets, loadOwnId }: OwnershipOptions) {
  /** `null` when the token may not know it. */
  let ownId: number | null | undefined;
  const createdIds = new Set<number>();

  const proofsOf = (id: number) =>
    secrets.map((secret) =>
      createHmac("sha256", secret).update(`test-analytics comment ${id}`).digest("base64url")
    );

  async function knownId(wait: WaitToRetry): Promise<number | null> {
    if (ownId !== undefined) return ownId;
    try {
      ownId = await retried(loadOwnId, wait);
    } catch (error) {
      if (!(error instanceof ForgeError) || error.kind !== "denied") throw error;
      ownId = null;
    }
    return ownId;
  }

  return {
    /** Whether a comment with the mark was written by this program. */
    async isOwn({ id, body, authorId }: AuthoredComment, wait: WaitToRetry): Promise<boolean> {
      if (createdIds.has(id)) return true;
      const own = await knownId(wait);
      if (own !== null) return authorId === own;
      const [, proofs = ""] = PROOF.exec(body) ?? [];
      const expected = proofsOf(id);
      return proofs.split(" ").some((proof) => expected.includes(proof));
    },
    /** Remembers a comment that this run created. */
    addOwn: (id: number) => void createdIds.add(id),
    /** Whether comments cannot be recognized by their author. */
    needsProof: async (wait: WaitToRetry) => await knownId(wait) === null,
    /** The body with the proof, where one is needed. */
    signed(id: number, body: string): string {
      return ownId === null
        ? `${body}\n\n<!-- test-analytics proof ${proofsOf(id).join(" ")} -->`
        : body;
    },
  };
}

/** Whether a comment begins with the mark of this program. */
export function isMarked(body: string): boolean {
  return body.startsWith(COMMENT_MARK);
}
