// Tests: tests/lib/forge/publish_test.ts tests/lib/forge/target_test.ts
/** What a forge such as GitHub has to offer: the comments that this program wrote on a pull request. */

export interface Comment {
  id: number;
  body: string;
}

/** A comment with the mark of this program. */
export interface MarkedComment extends Comment {
  /** Whether this program wrote it: anybody may comment, and copy the mark. */
  isOwn: boolean;
}

/** Waits before a request is repeated that failed for now. @throws the error, to give up */
export type WaitToRetry = (error: ForgeError) => Promise<void>;

/**
 * The comments with the mark of this program on one pull or merge request. All methods throw a
 * {@linkcode ForgeError}.
 */
export interface PullComments {
  /** All of them, the oldest first. */
  list(wait: WaitToRetry): Promise<MarkedComment[]>;
  /** `null` when it was deleted. */
  read(id: number): Promise<Comment | null>;
  /** Returns its id. */
  create(body: string): Promise<number>;
  /** Takes a comment for one that this run created, and makes sure that later runs do so too. */
  sign(comment: Comment, wait: WaitToRetry): Promise<void>;
  /** False when it does not exist. */
  update(id: number, body: string): Promise<boolean>;
  /** Does nothing when it was deleted. */
  remove(id: number): Promise<void>;
}

/**
 * A request that failed. `transient`: worth a retry; `denied`: the token may not do this, as in pull
 * requests from forks; `failed`: anything else.
 */
export class ForgeError extends Error {
  override name = "ForgeError";

  constructor(
    readonly kind: "transient" | "denied" | "failed",
    message: string,
    /**
     * `status` of the response, 0 without one; how long the forge asks to wait before a retry; how long the
     * request took.
     */
    readonly details: { status?: number; retryAfterMs?: number; tookMs?: number } = {},
  ) {
    super(message);
  }
}

/** The value of a request, or `null` when its comment does not exist. */
export async function unlessDeleted<Value>(request: Promise<Value>): Promise<Value | null> {
  try {
    return await request;
  } catch (error) {
    const status = error instanceof ForgeError ? error.details.status : 0;
    if (status === 404 || status === 410) return null;
    throw error;
  }
}
