// Tests: tests/lib/forge/publish_test.ts tests/lib/forge/target_test.ts
/** Comments on a pull request of GitHub, and of GitHub Enterprise, Gitea and Forgejo, which have its interface. */
import * as v from "valibot";
import { type MarkedComment, type PullComments, unlessDeleted, type WaitToRetry } from "./forge.ts";
import { type ForgeAccess, parseResponse, requestOk, requestPages, retried } from "./http.ts";
import { createOwnership, isMarked, type OwnershipOptions } from "./ownership.ts";

const USER = v.object({ id: v.number() });

const CREATED = v.object({ id: v.number() });

const COMMENT = v.object({
  id: v.number(),
  // Absent in comments of deleted users.
  user: v.nullish(USER),
  body: v.nullish(v.string(), ""),
});

const PULL = v.object({
  number: v.number(),
  head: v.object({ sha: v.string(), ref: v.string() }),
});

/** Access with a token of GitHub, or of what has its interface. */
export function gitHubAccess(options: Omit<ForgeAccess, "headers">): ForgeAccess {
  return {
    ...options,
    headers: {
      authorization: `Bearer ${options.token}`,
      accept: "application/vnd.github+json",
    },
  };
}

/** The comments on a pull request. @param pull.repository `OWNER/NAME` */
export function gitHubComments(
  access: ForgeAccess,
  { repository, pull, secrets }:
    & { repository: string; pull: number }
    & Pick<OwnershipOptions, "secrets">,
): PullComments {
  const issues = `/repos/${repositoryPath(repository)}/issues`;
  const ownership = createOwnership({
    secrets,
    loadOwnId: async () =>
      parseResponse(USER, (await requestOk({ path: "/user" }, access)).value).id,
  });

  const update = async (id: number, body: string) => {
    const path = `${issues}/comments/${id}`;
    const request = { method: "PATCH", path, body: { body: ownership.signed(id, body) } } as const;
    return null !== await unlessDeleted(requestOk(request, access));
  };

  return {
    async list(wait) {
      const path = `${issues}/${pull}/comments?per_page=100&limit=100`;
      const found: MarkedComment[] = [];
      for (const item of await requestPages(path, access, wait)) {
        const { id, user, body } = parseResponse(COMMENT, item);
        if (!body || !isMarked(body)) continue;
        const authored = { id, body, authorId: user?.id ?? null };
        found.push({ id, body, isOwn: await ownership.isOwn(authored, wait) });
      }
      return found.sort((a, b) => a.id - b.id);
    },
    async read(id) {
      const found = await unlessDeleted(requestOk({ path: `${issues}/comments/${id}` }, access));
      if (found === null) return null;
      const { body } = parseResponse(COMMENT, found.value);
      return { id, body: body ?? "" };
    },
    async create(body) {
      const request = {
        method: "POST",
        path: `${issues}/${pull}/comments`,
        body: { body },
      } as const;
      const { id } = parseResponse(CREATED, (await requestOk(request, access)).value);
      return id;
    },
    async sign({ id, body }, wait) {
      ownership.addOwn(id);
      if (await ownership.needsProof(wait)) await retried(() => update(id, body), wait);
    },
    update,
    async remove(id) {
      const path = `${issues}/comments/${id}`;
      await unlessDeleted(requestOk({ method: "DELETE", path }, access));
    },
  };
}

/**
 * The open pull request of a commit, `null` without one. A run that `workflow_run` or a push started
 * knows the commit, and for forks no number that could be trusted.
 *
 * @param options.head `OWNER:BRANCH`
 */
export async function findPull(
  access: ForgeAccess,
  { repository, head, commit, wait }: {
    repository: string;
    head: string;
    commit: string;
    wait: WaitToRetry;
  },
): Promise<number | null> {
  const query = new URLSearchParams({ state: "open", head, per_page: "100" });
  const path = `/repos/${repositoryPath(repository)}/pulls?${query}`;
  const branch = head.slice(head.indexOf(":") + 1);
  for (const item of await requestPages(path, access, wait)) {
    const pull = parseResponse(PULL, item);
    // Gitea ignores `head`.
    if (pull.head.sha === commit && pull.head.ref === branch) return pull.number;
  }
  return null;
}

function repositoryPath(repository: string): string {
  return repository.split("/").map(encodeURIComponent).join("/");
}
