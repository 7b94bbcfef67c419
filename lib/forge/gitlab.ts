/** Notes on a merge request of GitLab. */
import * as v from "valibot";
import { COMMENT_MARK } from "../comment/sections.ts";
import { type PullComments, unlessDeleted } from "./forge.ts";
import { type ForgeAccess, parseResponse, requestOk, requestPages, retried } from "./http.ts";

const USER = v.object({ id: v.number() });

const NOTE = v.object({ id: v.number(), body: v.string(), author: USER });

/** Access with a personal, group or project access token. */
export function gitLabAccess(options: Omit<ForgeAccess, "headers">): ForgeAccess {
  return { ...options, headers: { "private-token": options.token } };
}

/** The notes on a merge request. @param project its number, or `GROUP/NAME` */
export function gitLabNotes(
  access: ForgeAccess,
  { project, pull }: { project: string; pull: number },
): PullComments {
  const notes = `/projects/${encodeURIComponent(project)}/merge_requests/${pull}/notes`;
  let ownId: number | undefined;

  async function loadOwnId(): Promise<number> {
    return parseResponse(USER, (await requestOk({ path: "/user" }, access)).value).id;
  }

  return {
    async list(wait) {
      const path = `${notes}?sort=asc&order_by=created_at&per_page=100`;
      const items = await requestPages(path, access, wait);
      const marked = items.map((item) => parseResponse(NOTE, item))
        .filter(({ body }) => body.startsWith(COMMENT_MARK));
      if (marked.length === 0) return [];
      // Anybody may write a note on a public merge request, and the same mark in it.
      ownId ??= await retried(loadOwnId, wait);
      return marked.filter(({ author }) => author.id === ownId)
        .map(({ id, body }) => ({ id, body })).sort((a, b) => a.id - b.id);
    },
    async read(id) {
      const found = await unlessDeleted(requestOk({ path: `${notes}/${id}` }, access));
      return found && { id, body: parseResponse(NOTE, found.value).body };
    },
    async create(body) {
      await requestOk({ method: "POST", path: notes, body: { body } }, access);
    },
    async update(id, body) {
      const path = `${notes}/${id}`;
      return null !== await unlessDeleted(
        requestOk({ method: "PUT", path, body: { body } }, access),
      );
    },
    async remove(id) {
      await unlessDeleted(requestOk({ method: "DELETE", path: `${notes}/${id}` }, access));
    },
  };
}
