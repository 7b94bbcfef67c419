/** A call that is wrong in itself, with a message that tells a model what to do next. */
export class ToolError extends Error {
  override name = "ToolError";
}
