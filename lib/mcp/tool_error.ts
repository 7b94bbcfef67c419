/** A failed call, with a message that tells a model what to do next. */
export class ToolError extends Error {
  override name = "ToolError";
}

/** The service answered 404. */
export class NotFoundError extends ToolError {
  override name = "NotFoundError";
}

/** The service answered 400. */
export class BadRequestError extends ToolError {
  override name = "BadRequestError";

  /** @param errors messages by the name of the HTTP parameter */
  constructor(readonly errors: Readonly<Record<string, string[]>>) {
    super(listErrors(errors, {}));
  }

  /** The same error with the tool's names of the parameters. */
  renamed(names: Readonly<Record<string, string>>): ToolError {
    return new ToolError(listErrors(this.errors, names));
  }
}

/** Replaces field names of the API with those of the tools. */
function withToolNames(message: string): string {
  return message.replaceAll("metadata.after", "next_cursor");
}

function listErrors(
  errors: Readonly<Record<string, string[]>>,
  names: Readonly<Record<string, string>>,
): string {
  const lines = Object.entries(errors).map(([name, messages]) =>
    `${names[name] ?? name}: ${withToolNames(messages.join("; "))}`
  );
  return `The arguments were refused: ${lines.join(" | ")}. Correct them and call again.`;
}
