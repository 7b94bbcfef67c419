// Tests: tests/lib/forge/publish_test.ts tests/lib/forge/target_test.ts
/** Notes on a merge request of GitLab. */
import * as v from "valibot";
import { type MarkedComment, type PullComments, unlessDeleted } from "./forge.ts";
import { type ForgeAccess, parseResponse, requestOk, requestPages, retried } from "./http.ts";
import { createOwnership, isMarked, type OwnershipOptions } from "./ownership.ts";

const USER = v.object({ id: v.number() });

const CREATED = v.object({ id: v.number() });

const NOTE = v.object({ id: v.number(), body: v.string(), author: USER });

/** Access with a personal, group or project access token. */
export function gitLabAccess(options: Omit<ForgeAccess, "headers">): ForgeAccess {
  return { ...options, headers: { "private-token": options.token } };
}

/** The notes on a merge request. @param merge.project its number, or `GROUP/NAME` */
export function gitLabNotes(
  access: ForgeAccess,
  { project, pull, secrets }:
    & { project: string; pull: number }
    & Pick<OwnershipOptions, "secrets">,
): PullComments {
  const notes = `/projects/${encodeURIComponent(project)}/merge_requests/${pull}/notes`;
  const ownership = createOwnership({
    secrets,
    loadOwnId: async () =>
      parseResponse(USER, (await requestOk({ path: "/user" }, access)).value).id,
  });

  const update = async (id: number, body: string) => {
    const path = `${notes}/${id}`;
    const request = { method: "PUT", path, body: { body: ownership.signed(id, body) } } as const;
    return null !== await unlessDeleted(requestOk(request, access));
  };

  return {
    async list(wait) {
      const path = `${notes}?sort=asc&order_by=created_at&per_page=100`;
      const found: MarkedComment[] = [];
      for (const item of await requestPages(path, access, wait)) {
        const { id, body, author } = parseResponse(NOTE, item);
        if (!isMarked(body)) continue;
        const authored = { id, body, authorId: author.id };
        found.push({ id, body, isOwn: await ownership.isOwn(authored, wait) });
      }
      return found.sort((a, b) => a.id - b.id);
    },
    async read(id) {
      const found = await unlessDeleted(requestOk({ path: `${notes}/${id}` }, access));
      return found && { id, body: parseResponse(NOTE, found.value).body };
    },
    async create(body) {
      const request = { method: "POST", path: notes, body: { body } } as const;
      const { id } = parseResponse(CREATED, (await requestOk(request, access)).value);
      return id;
    },
    async sign({ id, body }, wait) {
      ownership.addOwn(id);
      if (await ownership.needsProof(wait)) await retried(() => update(id, body), wait);
    },
    update,
    async remove(id) {
      await unlessDeleted(requestOk({ method: "DELETE", path: `${notes}/${id}` }, access));
    },
  };
}
