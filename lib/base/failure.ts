// Tests: tests/lib/cli/commands/backup_test.ts tests/lib/cli/commands/comment_test.ts
/** Errors whose message is meant for the user; the command line turns them into exit codes. */

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";

  /** @param example a valid command, without the program's name */
  constructor(message: string, public example?: string) {
    super(message);
  }
}

/** The command failed: exit code 1. */
export class Failure extends Error {
  override name = "Failure";
}
