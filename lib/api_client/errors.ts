/** A failed call: what is wrong, and what an agent or a person can do about it. */
export class ApiError extends Error {
  override name = "ApiError";

  /** @param problem a sentence; the message adds the advice */
  constructor(readonly problem: string, advice = "") {
    super(`${problem} ${advice}`.trimEnd());
  }
}

/** The service answered 404. */
export class NotFoundError extends ApiError {
  override name = "NotFoundError";
}
