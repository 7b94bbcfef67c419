/** The command was used wrongly: exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";

  /** @param example a command that works, without the program's name */
  constructor(message: string, public example?: string) {
    super(message);
  }
}

/** The command was understood and could not be done: exit code 1. */
export class Failure extends Error {
  override name = "Failure";
}
