/** A failed call, with a message that tells a model what to do next. */
export class ToolError extends Error {
  override name = "ToolError";
}

/** The service answered 404. */
export class NotFoundError extends ToolError {
  override name = "NotFoundError";
}
