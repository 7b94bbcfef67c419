// Tests: tests/lib/forge/publish_test.ts tests/lib/forge/target_test.ts
import * as v from "valibot";
import { type MarkedComment, type PullComments, unlessDeleted } from "./forge.ts";
import { type ForgeAccess, parseResponse, requestOk, requestPages, retried } from "./http.ts";
import { createOwnership, isMarked, type OwnershipOptions } from "./ownership.ts";

/** What forges call the comments on a pull request. */
interface CommentInterface {
  /** Of all comments, with its query. */
  listPath: string;
  createPath: string;
  /** Of a comment, before its id. */
  itemPath: string;
  updateMethod: "PATCH" | "PUT";
  /** `authorId`: `null` for a deleted user. */
  parse(comment: unknown): { id: number; body: string; authorId: number | null };
}

const WITH_ID = v.object({ id: v.number() });

/** The comments on a pull request, over the interface of its forge. */
export function createComments(
  access: ForgeAccess,
  { listPath, createPath, itemPath, updateMethod, parse }: CommentInterface,
  { secrets }: Pick<OwnershipOptions, "secrets">,
): PullComments {
  const ownership = createOwnership({
    secrets,
    loadOwnId: async () =>
      parseResponse(WITH_ID, (await requestOk({ path: "/user" }, access)).value).id,
  });

  const update = async (id: number, body: string) => {
    const path = `${itemPath}/${id}`;
    const request = { method: updateMethod, path, body: { body: ownership.signed(id, body) } };
    return null !== await unlessDeleted(requestOk(request, access));
  };

  return {
    async list(wait) {
      const found: MarkedComment[] = [];
      for (const item of await requestPages(listPath, access, wait)) {
        const comment = parse(item);
        const { id, body } = comment;
        if (!isMarked(body)) continue;
        found.push({ id, body, isOwn: await ownership.isOwn(comment, wait) });
      }
      return found.sort((a, b) => a.id - b.id);
    },
    async read(id) {
      const found = await unlessDeleted(requestOk({ path: `${itemPath}/${id}` }, access));
      return found && { id, body: parse(found.value).body };
    },
    async create(body) {
      const request = { method: "POST", path: createPath, body: { body } } as const;
      return parseResponse(WITH_ID, (await requestOk(request, access)).value).id;
    },
    async sign({ id, body }, wait) {
      ownership.addOwn(id);
      if (await ownership.needsProof(wait)) await retried(() => update(id, body), wait);
    },
    update,
    async remove(id) {
      await unlessDeleted(requestOk({ method: "DELETE", path: `${itemPath}/${id}` }, access));
    },
  };
}
