/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";

  /** @param example a valid command, without the program's name */
  constructor(message: string, public example?: string) {
    super(message);
  }
}

/** The command ends with an exit code of its own; its output is complete. */
export class ExitWith extends Error {
  override name = "ExitWith";

  constructor(readonly exitCode: number) {
    super(`exit code ${exitCode}`);
  }
}

/** The command failed: exit code 1. */
export class Failure extends Error {
  override name = "Failure";
}
