/** Fakes of GitHub, Forgejo and GitLab: the comments on one pull request, with faults. */

export type Kind = "github" | "forgejo" | "gitlab";

interface StoredComment {
  id: number;
  userId: number;
  body: string;
}

/**
 * What a request meets instead of an answer, or `null`. `late`: it is applied, then cut off. `isApplied`: it
 * is applied, then answered with this status.
 */
export type Fault =
  | {
    status: number;
    headers?: Record<string, string>;
    message?: string;
    isApplied?: boolean;
  }
  | "hang"
  | "cut off"
  | "late"
  | null;

export interface FakeForge {
  /** Base address of the API. */
  url: string;
  comments: StoredComment[];
  /** Method and path of every request. */
  received: string[];
  close(): Promise<void>;
}

/** The user of {@linkcode FORGE_TOKEN}. */
const OWN_ID = 41_898_282;
export const FORGE_TOKEN = "ghs_notARealToken0123456789";

const PAGE_SIZE = 2;

/** Starts a forge with one pull request, number 12 of acme/shop (project 7 of GitLab). */
export function startFakeForge(
  kind: Kind,
  {
    faultOf = () => null,
    delayMs = () => 0,
    pause: given,
    isReadOnly = false,
    mayReadUser = kind !== "github",
    mayEdit = true,
    innerAddress,
  }: {
    faultOf?: (request: Request, index: number) => Fault;
    delayMs?: () => number;
    /** Waits for a delay; tests with a clock of their own pass theirs. */
    pause?: (milliseconds: number) => Promise<void>;
    isReadOnly?: boolean;
    /** A token of GitHub Actions has no user; one of Forgejo may lack the right. */
    mayReadUser?: boolean;
    mayEdit?: boolean;
    /** The address that the forge knows itself by, behind a proxy. */
    innerAddress?: string;
  } = {},
): FakeForge {
  const comments: StoredComment[] = [];
  const received: string[] = [];
  const controller = new AbortController();
  const timers = new Set<ReturnType<typeof setTimeout>>();
  const pause = given ?? ((milliseconds: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        resolve();
      }, milliseconds);
      timers.add(timer);
    }));
  let lastId = 100;

  const shown = ({ id, userId, body }: StoredComment) =>
    kind === "gitlab" ? { id, body, system: false, author: { id: userId } } : {
      id,
      body,
      user: {
        id: userId,
        login: userId === OWN_ID ? "github-actions[bot]" : "mallory",
        ...kind === "github" && { type: userId === OWN_ID ? "Bot" : "User" },
      },
      ...kind === "github" && { author_association: userId === OWN_ID ? "NONE" : "CONTRIBUTOR" },
    };

  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const { pathname, searchParams } = url;
    const token = request.headers.get("private-token") ??
      request.headers.get("authorization")?.replace("Bearer ", "");
    const status = (code: number, message: string) => Response.json({ message }, { status: code });
    if (token !== FORGE_TOKEN) return status(401, "Bad credentials");
    if (pathname.endsWith("/user")) {
      if (!mayReadUser) return status(403, "Resource not accessible by integration");
      return Response.json({ id: OWN_ID, login: "bot" });
    }
    if (pathname.endsWith("/pulls")) {
      return Response.json([
        { number: 11, head: { sha: "0".repeat(40), ref: "fix" } },
        { number: 12, head: { sha: "a".repeat(40), ref: "fix" } },
      ]);
    }
    const list = kind === "gitlab"
      ? "/api/v4/projects/7/merge_requests/12/notes"
      : "/repos/acme/shop/issues/12/comments";
    const one = kind === "gitlab" ? `${list}/` : "/repos/acme/shop/issues/comments/";
    const isWrite = request.method !== "GET";
    if (request.method === "PATCH" || request.method === "PUT") {
      if (!mayEdit) return status(403, "Resource not accessible by integration");
    }
    if (isWrite && isReadOnly) return status(403, "Resource not accessible by integration");
    if (pathname === list && !isWrite) {
      // Forgejo lists all comments at once.
      if (kind === "forgejo") return Response.json(comments.map(shown));
      const page = Number(searchParams.get("page") ?? 1);
      const items = comments.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
      searchParams.set("page", String(page + 1));
      const hasNext = comments.length > page * PAGE_SIZE;
      const address = innerAddress ? innerAddress + url.pathname + url.search : url;
      const headers = hasNext
        ? { link: `<${address}>; rel="next", <${address}>; rel="last"` }
        : undefined;
      return Response.json(items.map(shown), { headers });
    }
    if (pathname === list) {
      const { body } = await request.json();
      if (body.length > 65_536) return status(422, "body is too long");
      comments.push({ id: ++lastId, userId: OWN_ID, body });
      return Response.json(shown(comments.at(-1)!), { status: 201 });
    }
    const index = comments.findIndex(({ id }) => pathname === one + id);
    if (index === -1) return status(404, "Not Found");
    if (request.method === "DELETE") {
      comments.splice(index, 1);
      return new Response(null, { status: 204 });
    }
    if (isWrite) {
      const { body } = await request.json();
      const at = comments[index];
      if (at) at.body = body;
    }
    return Response.json(shown(comments[index]!));
  }

  const cutOff = () =>
    new Response(
      new ReadableStream({
        start(stream) {
          stream.enqueue(new TextEncoder().encode('[{"id":'));
          stream.error(new Error("cut off"));
        },
      }),
    );

  const server = Deno.serve(
    {
      hostname: "127.0.0.1",
      port: 0,
      signal: controller.signal,
      onListen: () => {},
      onError: () => new Response(),
    },
    async (request) => {
      received.push(`${request.method} ${new URL(request.url).pathname}`);
      const fault = faultOf(request, received.length - 1);
      await pause(delayMs());
      if (fault === "hang") {
        await new Promise<void>((resolve) => {
          controller.signal.addEventListener("abort", () => resolve());
        });
        return new Response();
      }
      if (fault === "cut off") return cutOff();
      if (fault === "late") {
        await answer(request);
        return cutOff();
      }
      if (fault !== null) {
        if (fault.isApplied) await answer(request);
        return Response.json({ message: fault.message ?? `try later, ${FORGE_TOKEN}` }, {
          status: fault.status,
          ...fault.headers && { headers: fault.headers },
        });
      }
      const response = await answer(request);
      await pause(delayMs());
      return response;
    },
  );
  const base = `http://127.0.0.1:${server.addr.port}`;
  return {
    url: kind === "gitlab" ? `${base}/api/v4` : base,
    comments,
    received,
    async close() {
      for (const timer of timers) clearTimeout(timer);
      controller.abort();
      await server.finished;
    },
  };
}
