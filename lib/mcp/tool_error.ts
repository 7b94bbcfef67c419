/** A call that failed, in words that tell a model what to do next. */
export class ToolError extends Error {
  override name = "ToolError";
}

/** The service knows nothing by that name (404); a tool says which name. */
export class NotFoundError extends ToolError {
  override name = "NotFoundError";
}

/** The service refused parameters (400). */
export class BadRequestError extends ToolError {
  override name = "BadRequestError";

  /** @param errors messages by the name of the HTTP parameter */
  constructor(readonly errors: Readonly<Record<string, string[]>>) {
    super(listErrors(errors, {}));
  }

  /** The same, with the parameters called as the tool calls them. */
  renamed(names: Readonly<Record<string, string>>): ToolError {
    return new ToolError(listErrors(this.errors, names));
  }
}

// The API speaks of its own fields.
function inWordsOfTools(message: string): string {
  return message.replaceAll("metadata.after", "next_cursor");
}

function listErrors(
  errors: Readonly<Record<string, string[]>>,
  names: Readonly<Record<string, string>>,
): string {
  const lines = Object.entries(errors).map(([name, messages]) =>
    `${names[name] ?? name}: ${inWordsOfTools(messages.join("; "))}`
  );
  return `The arguments were refused: ${lines.join(" | ")}. Correct them and call again.`;
}
