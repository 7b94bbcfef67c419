/** Comments on a pull request of GitHub, and of GitHub Enterprise, Gitea and Forgejo, which have its interface. */
import * as v from "valibot";
import { COMMENT_MARK } from "../comment/sections.ts";
import {
  type Comment,
  ForgeError,
  type PullComments,
  unlessDeleted,
  type WaitToRetry,
} from "./forge.ts";
import { type ForgeAccess, parseResponse, requestOk, requestPages, retried } from "./http.ts";

const USER = v.object({ id: v.number(), login: v.string(), type: v.optional(v.string()) });

const COMMENT = v.object({
  id: v.number(),
  // Absent in comments of deleted users.
  user: v.nullish(USER),
  body: v.nullish(v.string(), ""),
  author_association: v.optional(v.string()),
});

const PULL = v.object({
  number: v.number(),
  head: v.object({ sha: v.string(), ref: v.string() }),
});

/** Authors of comments who may write to the repository. */
const MEMBERS = ["OWNER", "MEMBER", "COLLABORATOR"];

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

/** The comments on a pull request. @param repository `OWNER/NAME` */
export function gitHubComments(
  access: ForgeAccess,
  { repository, pull }: { repository: string; pull: number },
): PullComments {
  const issues = `/repos/${repositoryPath(repository)}/issues`;
  let ownId: number | null | undefined;

  /** The user of the token; `null` for a token of GitHub Actions or of an app, which has none. */
  async function loadOwnId(): Promise<number | null> {
    try {
      return parseResponse(USER, (await requestOk({ path: "/user" }, access)).value).id;
    } catch (error) {
      if (error instanceof ForgeError && error.kind === "denied") return null;
      throw error;
    }
  }

  // Anybody may comment on a public pull request, and write the same mark.
  async function isOwn(
    { body, user, author_association }: v.InferOutput<typeof COMMENT>,
    wait: WaitToRetry,
  ) {
    if (!body?.startsWith(COMMENT_MARK) || !user) return false;
    if (ownId === undefined) ownId = await retried(loadOwnId, wait);
    if (ownId !== null) return user.id === ownId;
    return user.type === "Bot" || MEMBERS.includes(author_association ?? "");
  }

  return {
    async list(wait) {
      const path = `${issues}/${pull}/comments?per_page=100&limit=100`;
      const items = await requestPages(path, access, wait);
      const found: Comment[] = [];
      for (const item of items) {
        const comment = parseResponse(COMMENT, item);
        if (await isOwn(comment, wait)) found.push({ id: comment.id, body: comment.body ?? "" });
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
      await requestOk(
        { method: "POST", path: `${issues}/${pull}/comments`, body: { body } },
        access,
      );
    },
    async update(id, body) {
      const path = `${issues}/comments/${id}`;
      return null !== await unlessDeleted(
        requestOk({ method: "PATCH", path, body: { body } }, access),
      );
    },
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
  { repository, head, commit }: { repository: string; head: string; commit: string },
): Promise<number | null> {
  const query = new URLSearchParams({ state: "open", head, per_page: "100" });
  const path = `/repos/${repositoryPath(repository)}/pulls?${query}`;
  const branch = head.slice(head.indexOf(":") + 1);
  for (const item of await requestPages(path, access)) {
    const pull = parseResponse(PULL, item);
    // Gitea ignores `head`.
    if (pull.head.sha === commit && pull.head.ref === branch) return pull.number;
  }
  return null;
}

function repositoryPath(repository: string): string {
  return repository.split("/").map(encodeURIComponent).join("/");
}
