// Tests: tests/lib/forge/publish_test.ts tests/lib/forge/target_test.ts
/** Notes on a merge request of GitLab. */
import * as v from "valibot";
import { createComments } from "./comments.ts";
import type { PullComments } from "./forge.ts";
import { type ForgeAccess, parseResponse } from "./http.ts";
import type { OwnershipOptions } from "./ownership.ts";

const NOTE = v.object({
  id: v.number(),
  body: v.string(),
  author: v.object({ id: v.number() }),
});

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
  return createComments(access, {
    listPath: `${notes}?sort=asc&order_by=created_at&per_page=100`,
    createPath: notes,
    itemPath: notes,
    updateMethod: "PUT",
    parse(note) {
      const { id, body, author } = parseResponse(NOTE, note);
      return { id, body, authorId: author.id };
    },
  }, { secrets });
}
