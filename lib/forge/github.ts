// Tests: tests/lib/forge/publish_test.ts tests/lib/forge/target_test.ts
/** Comments on a pull request of GitHub, and of GitHub Enterprise, Gitea and Forgejo, which have its interface. */
import * as v from "valibot";
import { createComments } from "./comments.ts";
import type { PullComments, WaitToRetry } from "./forge.ts";
import { type ForgeAccess, parseResponse, requestPages } from "./http.ts";
import type { OwnershipOptions } from "./ownership.ts";

const COMMENT = v.object({
  id: v.number(),
  // Absent in comments of deleted users.
  user: v.nullish(v.object({ id: v.number() })),
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
  return createComments(access, {
    listPath: `${issues}/${pull}/comments?per_page=100&limit=100`,
    createPath: `${issues}/${pull}/comments`,
    itemPath: `${issues}/comments`,
    updateMethod: "PATCH",
    parse(comment) {
      const { id, user, body } = parseResponse(COMMENT, comment);
      return { id, body: body ?? "", authorId: user?.id ?? null };
    },
  }, { secrets });
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
